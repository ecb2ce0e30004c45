//! Data representations of files: the callbacks get a datatype in the library's own form.

use std::ffi::{c_char, c_int, c_void};

use crate::abi::Abi;
use crate::abi::handle;
use crate::generated::functions::io as slots;
use crate::generated::types::{
    MPI_Datarep_conversion_function, MPI_Datarep_conversion_function_c, MPI_Datarep_extent_function,
};
use crate::types::{MPI_Aint, MPI_Count, MPI_Datatype, MPI_Offset};

/// The caller's functions and state. A representation lives as long as MPI, and so do these.
struct Callbacks<F> {
    read: Option<F>,
    write: Option<F>,
    extent: Option<MPI_Datarep_extent_function>,
    state: *mut c_void,
}

type Datatype<A> = <A as Abi>::Handle<MPI_Datatype>;

unsafe extern "C" fn extent<A: Abi, F>(
    datatype: Datatype<A>,
    extent: *mut MPI_Aint,
    state: *mut c_void,
) -> c_int {
    // SAFETY: the library passes back the callbacks that it was given, which live for ever.
    let callbacks = unsafe { &*state.cast::<Callbacks<F>>() };
    // SAFETY: the tables are filled before anything can be registered.
    let datatype = unsafe { handle::to_standard::<A, MPI_Datatype>(datatype) };
    let code = match callbacks.extent {
        // SAFETY: the caller of MPI gave this function for this state.
        Some(function) => unsafe { function(datatype, extent, callbacks.state) },
        None => crate::MPI_ERR_CONVERSION,
    };
    super::code::<A>(code)
}

macro_rules! datarep {
    ($register:ident, $read:ident, $write:ident, $count:ty, $function:ty) => {
        datarep!(@conversion $read, read, $count, $function);
        datarep!(@conversion $write, write, $count, $function);

        pub(crate) unsafe extern "C" fn $register<A: Abi>(
            name: *const c_char,
            read: Option<$function>,
            write: Option<$function>,
            extent_function: Option<MPI_Datarep_extent_function>,
            state: *mut c_void,
        ) -> c_int {
            type Conversion<A> = unsafe extern "C" fn(
                *mut c_void, Datatype<A>, $count, *mut c_void, MPI_Offset, *mut c_void,
            ) -> c_int;
            type Extent<A> = unsafe extern "C" fn(Datatype<A>, *mut MPI_Aint, *mut c_void) -> c_int;
            type Register<A> = unsafe extern "C" fn(
                *const c_char, Option<Conversion<A>>, Option<Conversion<A>>, Extent<A>, *mut c_void,
            ) -> c_int;
            // SAFETY: the type of this function in the family's header.
            let call = unsafe { slots::$register::LIBRARY.function::<Register<A>>() };
            // A missing conversion means that none is needed, which the library must see.
            let native_read: Option<Conversion<A>> = read.map(|_| $read::<A> as Conversion<A>);
            let native_write: Option<Conversion<A>> = write.map(|_| $write::<A> as Conversion<A>);
            let callbacks = Callbacks { read, write, extent: extent_function, state };
            let callbacks = Box::into_raw(Box::new(callbacks)).cast();
            // SAFETY: the arguments are in the family's own form.
            unsafe { call(name, native_read, native_write, extent::<A, $function>, callbacks) }
        }
    };
    (@conversion $name:ident, $direction:ident, $count:ty, $function:ty) => {
        unsafe extern "C" fn $name<A: Abi>(
            user: *mut c_void,
            datatype: Datatype<A>,
            count: $count,
            file: *mut c_void,
            position: MPI_Offset,
            state: *mut c_void,
        ) -> c_int {
            // SAFETY: the library passes back the callbacks that it was given, which live for ever.
            let callbacks = unsafe { &*state.cast::<Callbacks<$function>>() };
            // SAFETY: the tables are filled before anything can be registered.
            let datatype = unsafe { handle::to_standard::<A, MPI_Datatype>(datatype) };
            let code = match callbacks.$direction {
                // SAFETY: the caller of MPI gave this function for this state.
                Some(function) => unsafe {
                    function(user, datatype, count, file, position, callbacks.state)
                },
                None => crate::MPI_ERR_CONVERSION,
            };
            super::code::<A>(code)
        }
    };
}

datarep!(
    MPI_Register_datarep,
    read,
    write,
    c_int,
    MPI_Datarep_conversion_function
);
datarep!(
    MPI_Register_datarep_c,
    read_large,
    write_large,
    MPI_Count,
    MPI_Datarep_conversion_function_c
);
