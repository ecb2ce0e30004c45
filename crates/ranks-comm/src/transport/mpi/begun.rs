//! Operations of this crate's own, which need no handle of their communicator.

use std::ffi::c_int;
use std::time::Duration;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Request, MPI_Status};

use super::error::check;
use crate::call::limit::Pause;
use crate::data::in_flight::{InFlight, Over};
use crate::data::raw_slice::OpInfo;
use crate::result::Result;

/// An operation that the library has begun, and the memory that it works on. Dropped before it is
/// complete, it leaks that.
#[must_use = "it goes on until it was waited for"]
pub(crate) struct Begun<M> {
    pub(super) request: MPI_Request,
    pub(super) memory: InFlight<M>,
    pub(super) role: &'static OpInfo,
}

impl<M> Begun<M> {
    /// Begins it by `call`, which gets the memory and the place of the request.
    pub(super) fn new(
        role: &'static OpInfo,
        memory: M,
        call: impl FnOnce(&mut M, *mut MPI_Request) -> c_int,
    ) -> Result<Self> {
        let (memory, request) = InFlight::begun(memory, |memory| {
            let mut request = sys::MPI_REQUEST_NULL;
            check(call(memory, &raw mut request), role.operation).map(|()| request)
        })?;
        Ok(Self {
            request,
            memory,
            role,
        })
    }

    /// Waits for it until the limit, or until `is_enough`, which is polled, says that it will not
    /// complete.
    pub(super) fn wait(
        mut self,
        limit: Duration,
        mut is_enough: impl FnMut() -> bool,
    ) -> Result<Option<M>> {
        let mut is_over = false;
        Pause::until(limit, &mut || {
            is_over = test(&mut self.request)?;
            Ok(is_over || is_enough())
        })?;
        // SAFETY: the library has said that it is over.
        Ok(is_over.then(|| self.memory.give_back(unsafe { Over::new() })))
    }
}

/// Tests a request for completion.
pub(super) fn test(request: &mut MPI_Request) -> Result<bool> {
    let mut flag: c_int = 0;
    let mut status = MPI_Status::EMPTY;
    // SAFETY: the request was begun and is not over, or is null; flag and status are ours.
    let code = unsafe { sys::MPI_Test(request, &raw mut flag, &raw mut status) };
    check(code, "MPI_Test")?;
    Ok(flag != 0)
}
