//! Nonblocking duplicates of communicators: the library writes the handle when the request is
//! complete.
//!
//! It writes to the place of the caller, which is there until then. A handle that a call has made
//! is the same word in the standard's form, of which one that is narrower is the low part.

use std::ffi::c_int;
use std::ptr;

use super::through;
use crate::abi::Abi;
use crate::abi::handle;
use crate::abi::kinds::OutRequest;
use crate::generated::functions::comm as slots;
use crate::types::{MPI_Comm, MPI_Info, MPI_Request};

macro_rules! idup {
    ($name:ident $(, $info:ident: $info_type:ty)?) => {
        pub(crate) unsafe extern "C" fn $name<A: Abi>(
            comm: MPI_Comm,
            $($info: $info_type,)?
            new: *mut MPI_Comm,
            request: *mut MPI_Request,
        ) -> c_int {
            type Call<A> = unsafe extern "C" fn(
                <A as Abi>::Handle<MPI_Comm>,
                $(<A as Abi>::Handle<$info_type>,)?
                *mut <A as Abi>::Handle<MPI_Comm>,
                *mut <A as Abi>::Handle<MPI_Request>,
            ) -> c_int;
            const { assert!(cfg!(target_endian = "little")) };
            // SAFETY: the type of this function in the family's header.
            let call = unsafe { slots::$name::LIBRARY.function::<Call<A>>() };
            // SAFETY: the tables are filled: the caller has seen `load` return.
            let comm = unsafe { handle::to_native::<A, _>(comm) };
            // SAFETY: as above.
            $(let $info = unsafe { handle::to_native::<A, _>($info) };)?
            // SAFETY: the caller of MPI gives a place for the communicator, until the request is
            // complete.
            unsafe { new.write(MPI_Comm(ptr::null_mut())) };
            // SAFETY: the arguments are in the family's own form.
            let call = |request| unsafe { call(comm, $($info,)? new.cast(), request) };
            // SAFETY: the caller of MPI gives a place for the request.
            let code = unsafe { through::<A, OutRequest>(request, call) };
            if code != crate::MPI_SUCCESS {
                // SAFETY: as above; nothing is in flight.
                unsafe { new.write(crate::MPI_COMM_NULL) };
            }
            code
        }
    };
}

idup!(MPI_Comm_idup);
#[cfg(feature = "whole")]
idup!(MPI_Comm_idup_with_info, info: MPI_Info);
