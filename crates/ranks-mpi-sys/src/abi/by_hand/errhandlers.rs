//! Error handlers of the caller.
//!
//! The C type is variadic, which stable Rust cannot define. The handlers that are registered take
//! the two fixed arguments, which every ABI that this crate supports passes alike with and without
//! `...`.

use std::ffi::c_int;

use super::through;
use super::trampolines::{Pool, trampolines};
use crate::abi::Abi;
use crate::abi::handle::{self, HandleKind};
use crate::abi::kinds::{Conversion, OutErrhandler};
use crate::abi::numbers::Codes;
use crate::generated::functions::errors as slots;
use crate::generated::types::{
    MPI_Comm_errhandler_function, MPI_File_errhandler_function, MPI_Session_errhandler_function,
    MPI_Win_errhandler_function,
};
use crate::types::{MPI_Comm, MPI_Errhandler, MPI_File, MPI_Session, MPI_Win};

/// Calls a handler of the caller: once for all places, of which there are many.
///
/// # Safety
/// `address` is that of such a handler, and the library has passed the others.
#[inline(never)]
unsafe extern "C" fn handled<A: Abi, H: HandleKind>(
    address: *mut (),
    object: *mut A::Handle<H>,
    code: *mut c_int,
) {
    // SAFETY: by this function's contract.
    let function: unsafe extern "C" fn(*mut H, *mut c_int, ...) =
        unsafe { std::mem::transmute(address) };
    // SAFETY: the library passes a handle.
    let native = unsafe { object.read() };
    // SAFETY: the tables are filled before any handler is created.
    let mut standard = unsafe { handle::to_standard::<A, H>(native) };
    // SAFETY: the library passes a code.
    let given = Codes::to_standard::<A>(unsafe { code.read() });
    let mut after = given;
    // SAFETY: the library's arguments, as it has to give them to the caller's function.
    unsafe { function(&raw mut standard, &raw mut after) };
    if after != given {
        // SAFETY: as above; it may be replaced (MPI 5.0 §9.3.1).
        unsafe { code.write(Codes::to_native::<A>(after)) };
    }
}

macro_rules! errhandler {
    ($create:ident, $pool:ident, $trampoline:ident, $object:ty, $function:ty) => {
        static $pool: Pool = Pool::new();

        unsafe extern "C" fn $trampoline<A: Abi, const PLACE: usize>(
            object: *mut A::Handle<$object>,
            code: *mut c_int,
        ) {
            // SAFETY: the pool holds functions of this type only, and this place is filled before
            // the library learns of the trampoline; the arguments are the library's.
            unsafe { handled::<A, $object>($pool.function(PLACE), object, code) };
        }

        pub(crate) unsafe extern "C" fn $create<A: Abi>(
            function: Option<$function>,
            errhandler: *mut MPI_Errhandler,
        ) -> c_int {
            type Native<A> = unsafe extern "C" fn(*mut <A as Abi>::Handle<$object>, *mut c_int);
            type Create<A> = unsafe extern "C" fn(
                Option<Native<A>>,
                *mut <A as Abi>::Handle<MPI_Errhandler>,
            ) -> c_int;
            // SAFETY: the type of this function in the family's header but for the dots of the
            // handler, see the module.
            let call = unsafe { slots::$create::LIBRARY.function::<Create<A>>() };
            let native = match function.map(|function| $pool.place::<A>(function as *mut ())) {
                None => None,
                Some(Ok(place)) => Some(trampolines!($trampoline::<A>, Native<A>)[place]),
                Some(Err(code)) => return code,
            };
            // SAFETY: the arguments are in the family's own form.
            let call = |errhandler| unsafe { call(native, errhandler) };
            // SAFETY: the caller of MPI gives a place for the handler.
            unsafe { through::<A, OutErrhandler>(errhandler, call) }
        }
    };
}

errhandler!(
    MPI_Comm_create_errhandler,
    COMMS,
    comm,
    MPI_Comm,
    MPI_Comm_errhandler_function
);
errhandler!(
    MPI_Win_create_errhandler,
    WINS,
    win,
    MPI_Win,
    MPI_Win_errhandler_function
);
errhandler!(
    MPI_File_create_errhandler,
    FILES,
    file,
    MPI_File,
    MPI_File_errhandler_function
);
errhandler!(
    MPI_Session_create_errhandler,
    SESSIONS,
    session,
    MPI_Session,
    MPI_Session_errhandler_function
);
