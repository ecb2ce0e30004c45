//! Operations of the caller. The library passes a datatype in its own width, which a function in
//! the standard's terms must not read.

use std::ffi::{c_int, c_void};

use super::through;
use super::trampolines::{Pool, trampolines};
use crate::abi::Abi;
use crate::abi::handle;
use crate::abi::kinds::OutOp;
use crate::generated::functions::op as slots;
use crate::generated::types::{MPI_User_function, MPI_User_function_c};
use crate::types::{MPI_Count, MPI_Datatype, MPI_Op};

/// Calls an operation of the caller: once for all places, of which there are many.
///
/// # Safety
/// `address` is that of such an operation, and the library has passed the others.
#[inline(never)]
unsafe extern "C" fn combined<A: Abi, N>(
    address: *mut (),
    left: *mut c_void,
    right: *mut c_void,
    length: *mut N,
    datatype: *mut A::Handle<MPI_Datatype>,
) {
    type Function<N> = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut N, *mut MPI_Datatype);
    // SAFETY: by this function's contract.
    let function: Function<N> = unsafe { std::mem::transmute(address) };
    // SAFETY: the library passes a datatype.
    let native = unsafe { datatype.read() };
    // SAFETY: the tables are filled before any operation is created.
    let mut standard = unsafe { handle::to_standard::<A, MPI_Datatype>(native) };
    // SAFETY: the library's arguments, as it has to give them to the caller's function.
    unsafe { function(left, right, length, &raw mut standard) };
}

/// The code of both kinds of operation: they differ in the type of the length.
macro_rules! operation {
    ($create:ident, $pool:ident, $trampoline:ident, $length:ty, $function:ty) => {
        static $pool: Pool = Pool::new();

        unsafe extern "C" fn $trampoline<A: Abi, const PLACE: usize>(
            left: *mut c_void,
            right: *mut c_void,
            length: *mut $length,
            datatype: *mut A::Handle<MPI_Datatype>,
        ) {
            // SAFETY: the pool holds functions of this type only, and this place is filled before
            // the library learns of the trampoline; the arguments are the library's.
            unsafe { combined::<A, $length>($pool.function(PLACE), left, right, length, datatype) };
        }

        pub(crate) unsafe extern "C" fn $create<A: Abi>(
            function: Option<$function>,
            commutes: c_int,
            op: *mut MPI_Op,
        ) -> c_int {
            type Native<A> = unsafe extern "C" fn(
                *mut c_void,
                *mut c_void,
                *mut $length,
                *mut <A as Abi>::Handle<MPI_Datatype>,
            );
            type Create<A> = unsafe extern "C" fn(
                Option<Native<A>>,
                c_int,
                *mut <A as Abi>::Handle<MPI_Op>,
            ) -> c_int;
            // SAFETY: the type of this function in the family's header.
            let call = unsafe { slots::$create::LIBRARY.function::<Create<A>>() };
            let native = match function.map(|function| $pool.place::<A>(function as *mut ())) {
                None => None,
                Some(Ok(place)) => Some(trampolines!($trampoline::<A>, Native<A>)[place]),
                Some(Err(code)) => return code,
            };
            // SAFETY: the arguments are in the family's own form.
            let call = |op| unsafe { call(native, commutes, op) };
            // SAFETY: the caller of MPI gives a place for the operation.
            unsafe { through::<A, OutOp>(op, call) }
        }
    };
}

operation!(
    MPI_Op_create,
    OPERATIONS,
    operation,
    c_int,
    MPI_User_function
);
#[cfg(feature = "whole")]
operation!(
    MPI_Op_create_c,
    LARGE_OPERATIONS,
    large_operation,
    MPI_Count,
    MPI_User_function_c
);
