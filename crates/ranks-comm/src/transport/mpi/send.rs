//! Blocking sends, in any mode.

use std::ffi::c_int;

use ranks_launch::Count;
use ranks_mpi_sys as sys;

use super::buffer::{is_small, to_read};
use super::communicator::Comm;
use super::error::failed;
use super::peer::STANDARD;
use super::send_mode::SendMode;
use crate::call::record::Over;
use crate::data::element::Pod;
use crate::data::source::Destination;
use crate::result::{Error, Result};

impl Comm {
    /// # Safety
    /// In [`SendMode::Ready`] a receive that matches is posted.
    pub(crate) unsafe fn send<T: Pod>(
        &self,
        mode: SendMode,
        data: &[T],
        dest: Destination,
        tag: i32,
    ) -> Result<()> {
        let mode = self.mode_here(mode);
        if is_small(data) {
            // SAFETY: by this function's contract.
            return unsafe { Self::send_small(self, mode, data, dest, tag) };
        }
        let to = STANDARD.destination(dest);
        let (count, datatype) = self.to_send_to(data, dest);
        let call = mode.functions().blocking_c;
        // SAFETY: `count` items are what `data` holds; rank and tag are checked; a receive is
        // posted, if that was promised.
        let code = unsafe { call(to_read(data), count, datatype, to, tag, self.canonical) };
        sent(code, mode, data.len(), dest)
    }

    /// Sends as many items as an `int` can count, in a mode that this library does.
    ///
    /// # Safety
    /// As [`send`](Self::send).
    #[inline(always)]
    pub(crate) unsafe fn send_small<T: Pod>(
        comm: impl Over<Target = Comm>,
        mode: SendMode,
        data: &[T],
        dest: Destination,
        tag: i32,
    ) -> Result<()> {
        let to = comm.sentinels.destination(dest);
        let (count, datatype) = comm.to_send_small(data, to);
        let call = mode.functions().blocking;
        // SAFETY: `count` items are what `data` holds; rank and tag are checked; a receive is
        // posted, if that was promised.
        let code = unsafe { call(to_read(data), count, datatype, to, tag, comm.native) };
        comm.over();
        sent(code, mode, data.len(), dest)
    }
}

/// The outcome of a send.
#[inline(always)]
fn sent(code: c_int, mode: SendMode, elements: usize, dest: Destination) -> Result<()> {
    match code {
        sys::MPI_SUCCESS => Ok(()),
        _ => Err(not_sent(code, mode.name(), elements, dest)),
    }
}

#[cold]
#[inline(never)]
fn not_sent(code: c_int, operation: &'static str, elements: usize, dest: Destination) -> Error {
    failed(code, operation, &attempt(elements, dest))
}

/// The attempt, for an error.
#[cold]
pub(crate) fn attempt(elements: usize, dest: Destination) -> String {
    let elements = Count(elements, "element");
    match dest {
        Destination::Rank(dest) => format!("sending {elements} to rank {dest}"),
        Destination::Null => format!("sending {elements} to nobody"),
    }
}
