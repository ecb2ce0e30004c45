//! Memory that the library knows of, and how it is told to forget it.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use ranks_comm::Result;
use ranks_cuda::DeviceSlice;

use crate::error::{elsewhere, of_driver};
use crate::state::Shared;

/// The handle of the library for memory that it knows of, as a number: nothing is done behind it
/// here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryHandle {
    /// A buffer that is registered.
    Buffer(usize),
    /// A window.
    Window(usize),
}

impl Shared {
    /// # Errors
    /// [`ErrorKind::Argument`](ranks_comm::ErrorKind::Argument) for memory of another device or
    /// driver.
    #[inline]
    pub(crate) fn own_memory(
        &self,
        operation: &'static str,
        memory: &impl DeviceSlice,
    ) -> Result<()> {
        let (ordinal, device) = (memory.ordinal(), self.device());
        let driver = memory.cuda().map_err(|error| of_driver(operation, error))?;
        if ordinal == device && driver == self.context.cuda() {
            return Ok(());
        }
        Err(elsewhere(operation, ordinal, device))
    }

    /// Lets the library forget it. Nobody works on the memory any more.
    pub(crate) fn forget(self: &Arc<Self>, known: MemoryHandle) -> Result<()> {
        match known {
            MemoryHandle::Buffer(handle) => self.call("ncclCommDeregister", |table, comm| {
                let deregister = table.ncclCommDeregister?;
                let handle: *mut c_void = ptr::with_exposed_provenance_mut(handle);
                // SAFETY: the communicator is alive, and has given the handle, which is used here
                // for the last time.
                Some(unsafe { deregister(comm, handle) })
            }),
            MemoryHandle::Window(handle) => self.call("ncclCommWindowDeregister", |table, comm| {
                let deregister = table.ncclCommWindowDeregister?;
                // SAFETY: as above.
                Some(unsafe { deregister(comm, ptr::with_exposed_provenance_mut(handle)) })
            }),
        }
    }
}
