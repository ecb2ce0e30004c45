//! Statuses: the library's own, decoded on demand, and the standard's, decoded at once.

use ranks_mpi_sys::{MPI_BYTE, MPI_Count, MPI_Get_elements_x, MPI_SUCCESS, MPI_Status, native};

use super::session::GATE;
use crate::status::Status as Decoded;

/// A status as the library wrote it.
#[derive(Clone, Copy)]
pub(crate) struct Status(native::Status);

impl Status {
    #[inline(always)]
    pub(super) fn new(status: native::Status) -> Self {
        Self(status)
    }

    pub(crate) fn source(&self) -> Option<usize> {
        usize::try_from(self.0.source()).ok()
    }

    pub(crate) fn tag(&self) -> Option<i32> {
        Some(self.0.tag()).filter(|&tag| tag >= 0)
    }

    /// `None` if the library does not know, or must not be asked any more.
    pub(crate) fn bytes(&self) -> Option<usize> {
        if GATE.is_closed() {
            return None;
        }
        // SAFETY: a status comes from a completed call, so MPI was initialised; the runtime is not closed.
        unsafe { self.0.bytes() }
    }
}

/// A status in the standard's terms, decoded. MPI must be alive.
pub(super) fn decode(status: &MPI_Status) -> Decoded {
    let Ok(source) = usize::try_from(status.MPI_SOURCE) else {
        return Decoded::null();
    };
    let mut count: MPI_Count = 0;
    // SAFETY: the status was written by a call that completed, and the count is ours.
    let code = unsafe { MPI_Get_elements_x(status, MPI_BYTE, &raw mut count) };
    let bytes = if code == MPI_SUCCESS {
        usize::try_from(count).unwrap_or(0)
    } else {
        0
    };
    Decoded::local(source, status.MPI_TAG, bytes)
}
