//! The tool interface: handles of objects behind `void *`, and callbacks of events.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use super::length;
use crate::abi::Abi;
use crate::abi::column;
use crate::abi::handle::{self, HandleKind, NativeHandle};
use crate::abi::kinds::Arg;
use crate::abi::numbers::{OutToolInfo, OutToolVerbosity, ToolSafeties};
use crate::generated::functions::tool as slots;
use crate::generated::types::*;
use crate::types::*;

/// The library's own form of the handle that `object` points at, which is of the kind that the
/// variable or event is bound to.
///
/// # Safety
/// `object` points at a handle of that kind, or anything if it is none.
unsafe fn bound_object<A: Abi>(bind: c_int, object: *mut c_void) -> Option<*mut c_void> {
    /// # Safety
    /// `object` points at a handle of kind `H`.
    unsafe fn word<A: Abi, H: HandleKind>(object: *mut c_void) -> *mut c_void {
        // SAFETY: by this function's contract.
        let standard = unsafe { object.cast::<H>().read() };
        // SAFETY: the tables are filled: the caller has seen `load` return.
        unsafe { handle::to_native::<A, H>(standard) }.to_word()
    }
    // SAFETY: by this function's contract.
    let word = unsafe {
        match bind {
            crate::MPI_T_BIND_MPI_COMM => word::<A, MPI_Comm>(object),
            crate::MPI_T_BIND_MPI_DATATYPE => word::<A, MPI_Datatype>(object),
            crate::MPI_T_BIND_MPI_ERRHANDLER => word::<A, MPI_Errhandler>(object),
            crate::MPI_T_BIND_MPI_FILE => word::<A, MPI_File>(object),
            crate::MPI_T_BIND_MPI_GROUP => word::<A, MPI_Group>(object),
            crate::MPI_T_BIND_MPI_OP => word::<A, MPI_Op>(object),
            crate::MPI_T_BIND_MPI_REQUEST => word::<A, MPI_Request>(object),
            crate::MPI_T_BIND_MPI_WIN => word::<A, MPI_Win>(object),
            crate::MPI_T_BIND_MPI_MESSAGE => word::<A, MPI_Message>(object),
            crate::MPI_T_BIND_MPI_INFO => word::<A, MPI_Info>(object),
            crate::MPI_T_BIND_MPI_SESSION => word::<A, MPI_Session>(object),
            _ => return None,
        }
    };
    Some(word)
}

/// Calls with the address of the bound object in the library's own form. On a little-endian machine
/// a word starts with the narrower handle, and elsewhere the handle is a word.
///
/// # Safety
/// As [`bound_object`].
unsafe fn with_object<A: Abi, R>(
    bind: c_int,
    object: *mut c_void,
    call: impl FnOnce(*mut c_void) -> R,
) -> R {
    const { assert!(cfg!(target_endian = "little")) };
    // SAFETY: by this function's contract.
    match unsafe { bound_object::<A>(bind, object) } {
        Some(mut word) => call((&raw mut word).cast()),
        None => call(object),
    }
}

pub(crate) unsafe extern "C" fn MPI_T_cvar_handle_alloc<A: Abi>(
    index: c_int,
    object: *mut c_void,
    new: *mut MPI_T_cvar_handle,
    count: *mut c_int,
) -> c_int {
    type Call =
        unsafe extern "C" fn(c_int, *mut c_void, *mut MPI_T_cvar_handle, *mut c_int) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_T_cvar_handle_alloc::LIBRARY.function::<Call>() };
    let (mut bind, mut name, mut about) = (0, 0, 0);
    // SAFETY: texts of length zero and null for all that is not wanted (MPI 5.0 §15.3.6).
    let code = unsafe {
        crate::MPI_T_cvar_get_info(
            index,
            ptr::null_mut(),
            &raw mut name,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut about,
            &raw mut bind,
            ptr::null_mut(),
        )
    };
    if code != crate::MPI_SUCCESS {
        return super::code::<A>(code);
    }
    // SAFETY: the caller of MPI gives an object of the kind that the variable is bound to, and the
    // places that the library asks for.
    unsafe { with_object::<A, _>(bind, object, |object| call(index, object, new, count)) }
}

pub(crate) unsafe extern "C" fn MPI_T_pvar_handle_alloc<A: Abi>(
    session: MPI_T_pvar_session,
    index: c_int,
    object: *mut c_void,
    new: *mut MPI_T_pvar_handle,
    count: *mut c_int,
) -> c_int {
    type Call = unsafe extern "C" fn(
        MPI_T_pvar_session,
        c_int,
        *mut c_void,
        *mut MPI_T_pvar_handle,
        *mut c_int,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_T_pvar_handle_alloc::LIBRARY.function::<Call>() };
    let (mut bind, mut name, mut about) = (0, 0, 0);
    // SAFETY: texts of length zero and null for all that is not wanted (MPI 5.0 §15.3.7).
    let code = unsafe {
        crate::MPI_T_pvar_get_info(
            index,
            ptr::null_mut(),
            &raw mut name,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut about,
            &raw mut bind,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    if code != crate::MPI_SUCCESS {
        return super::code::<A>(code);
    }
    // SAFETY: the caller of MPI gives an object of the kind that the variable is bound to, and the
    // places that the library asks for.
    unsafe {
        with_object::<A, _>(bind, object, |object| {
            call(session, index, object, new, count)
        })
    }
}

pub(crate) unsafe extern "C" fn MPI_T_event_handle_alloc<A: Abi>(
    index: c_int,
    object: *mut c_void,
    info: MPI_Info,
    new: *mut MPI_T_event_registration,
) -> c_int {
    type Call<A> = unsafe extern "C" fn(
        c_int,
        *mut c_void,
        <A as Abi>::Handle<MPI_Info>,
        *mut MPI_T_event_registration,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_T_event_handle_alloc::LIBRARY.function::<Call<A>>() };
    let (mut bind, mut name, mut about, mut elements) = (0, 0, 0, 0);
    // SAFETY: texts and arrays of length zero and null for all that is not wanted (MPI 5.0
    // §15.3.8).
    let code = unsafe {
        crate::MPI_T_event_get_info(
            index,
            ptr::null_mut(),
            &raw mut name,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut elements,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut about,
            &raw mut bind,
        )
    };
    if code != crate::MPI_SUCCESS {
        return super::code::<A>(code);
    }
    // SAFETY: the tables are filled: the caller has seen `load` return.
    let info = unsafe { handle::to_native::<A, _>(info) };
    // SAFETY: the caller of MPI gives an object of the kind that the event is bound to.
    unsafe { with_object::<A, _>(bind, object, |object| call(index, object, info, new)) }
}

pub(crate) unsafe extern "C" fn MPI_T_event_get_info<A: Abi>(
    index: c_int,
    name: *mut c_char,
    name_length: *mut c_int,
    verbosity: *mut c_int,
    datatypes: *mut MPI_Datatype,
    places: *mut MPI_Aint,
    elements: *mut c_int,
    enumeration: *mut MPI_T_enum,
    info: *mut MPI_Info,
    about: *mut c_char,
    about_length: *mut c_int,
    bind: *mut c_int,
) -> c_int {
    type Call<A> = unsafe extern "C" fn(
        c_int,
        *mut c_char,
        *mut c_int,
        *mut c_int,
        *mut <A as Abi>::Handle<MPI_Datatype>,
        *mut MPI_Aint,
        *mut c_int,
        *mut MPI_T_enum,
        *mut <A as Abi>::Handle<MPI_Info>,
        *mut c_char,
        *mut c_int,
        *mut c_int,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_T_event_get_info::LIBRARY.function::<Call<A>>() };
    let room = if elements.is_null() {
        0
    } else {
        // SAFETY: the caller of MPI gives the length of the arrays.
        length(unsafe { elements.read() })
    };
    // SAFETY: the caller of MPI gives places or null for each of these.
    let mut held_verbosity = unsafe { <OutToolVerbosity as Arg<A>>::enter(verbosity) };
    // SAFETY: as above.
    let mut held_info = unsafe { <OutToolInfo as Arg<A>>::enter(info) };
    // SAFETY: the arguments are in the family's own form; native datatypes are no larger.
    let code = unsafe {
        call(
            index,
            name,
            name_length,
            <OutToolVerbosity as Arg<A>>::pass(&mut held_verbosity),
            datatypes.cast(),
            places,
            elements,
            enumeration,
            <OutToolInfo as Arg<A>>::pass(&mut held_info),
            about,
            about_length,
            bind,
        )
    };
    // SAFETY: the call has returned.
    unsafe { <OutToolVerbosity as Arg<A>>::leave(held_verbosity) };
    // SAFETY: as above.
    unsafe { <OutToolInfo as Arg<A>>::leave(held_info) };
    if code == crate::MPI_SUCCESS {
        if !datatypes.is_null() && room > 0 {
            // SAFETY: the library has said how many it wrote.
            let written = room.min(length(unsafe { elements.read() }));
            // SAFETY: it has written this many.
            unsafe { super::requests::unpack::<A, _>(datatypes, written) };
        }
        if !bind.is_null() {
            // SAFETY: the library has written it.
            let native = unsafe { bind.read() };
            // SAFETY: as above.
            unsafe {
                bind.write(column::to_standard::<A, crate::abi::numbers::ToolBinds>(
                    native,
                ))
            };
        }
    }
    code
}

/// A callback of the caller and its state. Events come until a registration is freed, of which
/// nothing tells when the last one has come, so these live for ever.
struct Callback<F> {
    function: F,
    state: *mut c_void,
}

fn forever<F: 'static>(function: F, state: *mut c_void) -> *mut c_void {
    ptr::from_mut(Box::leak(Box::new(Callback { function, state }))).cast()
}

fn safety<A: Abi>(native: c_int) -> c_int {
    column::to_standard::<A, ToolSafeties>(native)
}

unsafe extern "C" fn event<A: Abi>(
    instance: MPI_T_event_instance,
    registration: MPI_T_event_registration,
    level: MPI_T_cb_safety,
    state: *mut c_void,
) {
    // SAFETY: the library passes back what it was given, which lives for ever.
    let callback = unsafe { &*state.cast::<Callback<MPI_T_event_cb_function>>() };
    // SAFETY: the library's arguments, as it has to give them to the caller's function.
    unsafe { (callback.function)(instance, registration, safety::<A>(level), callback.state) }
}

pub(crate) unsafe extern "C" fn MPI_T_event_register_callback<A: Abi>(
    registration: MPI_T_event_registration,
    level: MPI_T_cb_safety,
    info: MPI_Info,
    state: *mut c_void,
    function: Option<MPI_T_event_cb_function>,
) -> c_int {
    type Call<A> = unsafe extern "C" fn(
        MPI_T_event_registration,
        c_int,
        <A as Abi>::Handle<MPI_Info>,
        *mut c_void,
        Option<MPI_T_event_cb_function>,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_T_event_register_callback::LIBRARY.function::<Call<A>>() };
    // SAFETY: the tables are filled: the caller has seen `load` return.
    let info = unsafe { handle::to_native::<A, _>(info) };
    let level = column::to_native::<A, ToolSafeties>(level);
    let native: Option<MPI_T_event_cb_function> = function.map(|_| event::<A> as _);
    let state = function.map_or(state, |function| forever(function, state));
    // SAFETY: the arguments are in the family's own form.
    unsafe { call(registration, level, info, state, native) }
}

unsafe extern "C" fn freed<A: Abi>(
    registration: MPI_T_event_registration,
    level: MPI_T_cb_safety,
    state: *mut c_void,
) {
    // SAFETY: the library passes back what it was given, which lives for ever.
    let callback = unsafe { &*state.cast::<Callback<MPI_T_event_free_cb_function>>() };
    // SAFETY: the library's arguments, as it has to give them to the caller's function.
    unsafe { (callback.function)(registration, safety::<A>(level), callback.state) }
}

pub(crate) unsafe extern "C" fn MPI_T_event_handle_free<A: Abi>(
    registration: MPI_T_event_registration,
    state: *mut c_void,
    function: Option<MPI_T_event_free_cb_function>,
) -> c_int {
    type Call = unsafe extern "C" fn(
        MPI_T_event_registration,
        *mut c_void,
        Option<MPI_T_event_free_cb_function>,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_T_event_handle_free::LIBRARY.function::<Call>() };
    let native: Option<MPI_T_event_free_cb_function> = function.map(|_| freed::<A> as _);
    let state = function.map_or(state, |function| forever(function, state));
    // SAFETY: the arguments are in the family's own form.
    unsafe { call(registration, state, native) }
}

/// Dropped events come with the state of the registration's other callback (MPI 5.0 §15.3.8), which
/// is ours; the caller's function is found by its trampoline.
static DROPPED: super::trampolines::Pool = super::trampolines::Pool::new();

unsafe extern "C" fn dropped<A: Abi, const PLACE: usize>(
    count: MPI_Count,
    registration: MPI_T_event_registration,
    source: c_int,
    level: MPI_T_cb_safety,
    state: *mut c_void,
) {
    let address = DROPPED.function(PLACE);
    // SAFETY: the pool holds functions of this type only, and this place is filled before the
    // library learns of the trampoline.
    let function: MPI_T_event_dropped_cb_function = unsafe { std::mem::transmute(address) };
    // SAFETY: the library's arguments, as it has to give them to the caller's function.
    unsafe { function(count, registration, source, safety::<A>(level), state) }
}

pub(crate) unsafe extern "C" fn MPI_T_event_set_dropped_handler<A: Abi>(
    registration: MPI_T_event_registration,
    function: Option<MPI_T_event_dropped_cb_function>,
) -> c_int {
    type Call = unsafe extern "C" fn(
        MPI_T_event_registration,
        Option<MPI_T_event_dropped_cb_function>,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_T_event_set_dropped_handler::LIBRARY.function::<Call>() };
    let native = match function.map(|function| DROPPED.place::<A>(function as *mut ())) {
        None => None,
        Some(Ok(place)) => {
            let all =
                super::trampolines::trampolines!(dropped::<A>, MPI_T_event_dropped_cb_function);
            Some(all[place])
        }
        Some(Err(code)) => return code,
    };
    // SAFETY: the arguments are in the family's own form.
    unsafe { call(registration, native) }
}
