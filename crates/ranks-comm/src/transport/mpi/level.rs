//! Thread levels as MPI numbers them.

use std::ffi::c_int;

use ranks_mpi_sys as sys;

use crate::call::thread_level::ThreadLevel;

pub(crate) fn to_mpi(level: ThreadLevel) -> c_int {
    match level {
        ThreadLevel::Single => sys::MPI_THREAD_SINGLE,
        ThreadLevel::Funneled => sys::MPI_THREAD_FUNNELED,
        ThreadLevel::Serialized => sys::MPI_THREAD_SERIALIZED,
        ThreadLevel::Multiple => sys::MPI_THREAD_MULTIPLE,
    }
}

pub(crate) fn from_mpi(level: c_int) -> ThreadLevel {
    match level {
        sys::MPI_THREAD_MULTIPLE => ThreadLevel::Multiple,
        sys::MPI_THREAD_SERIALIZED => ThreadLevel::Serialized,
        sys::MPI_THREAD_FUNNELED => ThreadLevel::Funneled,
        _ => ThreadLevel::Single,
    }
}
