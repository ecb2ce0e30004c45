//! The attributes that the library gives every communicator.

use std::ffi::{c_int, c_void};
use std::ptr;

use ranks_mpi_sys as sys;

use super::communicator::Comm;
use super::error::check;
use crate::data::source::Source;
use crate::result::Result;

impl Comm {
    pub(crate) fn universe_size(&self) -> Result<Option<usize>> {
        Ok(attribute(sys::MPI_UNIVERSE_SIZE)?.and_then(|size| usize::try_from(size).ok()))
    }

    pub(crate) fn appnum(&self) -> Result<Option<usize>> {
        Ok(attribute(sys::MPI_APPNUM)?.and_then(|number| usize::try_from(number).ok()))
    }

    pub(crate) fn wtime_is_global(&self) -> Result<bool> {
        Ok(attribute(sys::MPI_WTIME_IS_GLOBAL)? == Some(1))
    }

    pub(crate) fn io(&self) -> Result<Source> {
        Ok(match attribute(sys::MPI_IO)? {
            Some(sys::MPI_ANY_SOURCE) => Source::Any,
            Some(rank) => usize::try_from(rank).map_or(Source::Null, Source::Rank),
            None => Source::Null,
        })
    }
}

/// An attribute of the world that is an int; `None` if the library does not set it.
///
/// Only for the keys of MPI 5.0 §9.1.2 and §11.10, which the world has and whose values are ints.
pub(crate) fn attribute(key: c_int) -> Result<Option<c_int>> {
    let mut value: *mut c_int = ptr::null_mut();
    let mut found: c_int = 0;
    let place: *mut c_void = (&raw mut value).cast();
    // SAFETY: for these keys the library gives the address of an int; pointer and flag are ours.
    let code = unsafe { sys::MPI_Comm_get_attr(sys::MPI_COMM_WORLD, key, place, &raw mut found) };
    check(code, "MPI_Comm_get_attr")?;
    if found == 0 || value.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and the address of an int that lives as long as MPI does.
    Ok(Some(unsafe { value.read() }))
}
