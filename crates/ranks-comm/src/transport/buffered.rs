//! The room of an attached buffer.

use ranks_launch::Count;

use crate::result::{Error, ErrorKind, Result};

/// The largest number of bytes of an attached buffer that a message takes besides its own, on any
/// library.
///
/// MPI 5.0 §3.6 (`MPI_BSEND_OVERHEAD`).
#[doc(alias = "MPI_BSEND_OVERHEAD")]
pub const BSEND_OVERHEAD: usize = ranks_mpi_sys::MPI_BSEND_OVERHEAD as usize;

/// The bytes that a message of `bytes` takes of an attached buffer of `room`.
///
/// # Errors
/// [`ErrorKind::Argument`] if it can never fit.
pub(crate) fn taken(operation: &'static str, bytes: usize, room: Option<usize>) -> Result<usize> {
    let taken = bytes.saturating_add(BSEND_OVERHEAD);
    match room {
        Some(room) if taken <= room => Ok(taken),
        Some(room) => Err(Error::new(
            ErrorKind::Argument,
            operation,
            format_args!(
                "a message of {} takes {taken} of the attached buffer (BSEND_OVERHEAD is {BSEND_OVERHEAD}), which has {room}; \
                 attach a larger one",
                Count(bytes, "byte")
            ),
        )),
        None => Err(Error::new(
            ErrorKind::Argument,
            operation,
            "no buffer is attached; see Communicator::buffer_attach",
        )),
    }
}
