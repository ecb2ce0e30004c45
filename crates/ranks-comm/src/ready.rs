//! Sends to a receiver that is known to wait.
#![allow(unsafe_code)]

use crate::communicator::Communicator;
use crate::element::Pod;
use crate::error::Result;
use crate::in_process::Sent;
use crate::source::Destination;

impl Communicator {
    /// As [`send`](Self::send), but the receive must have been posted before.
    ///
    /// It may be faster than a send, if the library makes something of it; few do. Over libraries whose receives this
    /// crate does not post in advance it is a send.
    ///
    /// # Safety
    /// When this is called, `dest` has begun a receive into a buffer that the message matches, and no receive of unknown
    /// length waits there. Otherwise the standard lets the library do anything; no check can know.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    ///
    /// MPI 5.0 §3.4 (`MPI_Rsend`).
    #[doc(alias = "MPI_Rsend")]
    #[doc(alias = "MPI_Rsend_c")]
    pub unsafe fn rsend<T: Pod>(
        &self,
        data: &[T],
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        const OPERATION: &str = "MPI_Rsend";
        let dest = self.destination(OPERATION, dest)?;
        self.check_tag(OPERATION, tag)?;
        self.dispatch(
            OPERATION,
            |comm| {
                // SAFETY: by this function's contract.
                unsafe { comm.rsend(data, dest, tag) }
            },
            |comm| comm.send(Sent::of(data), dest, tag),
        )
    }
}
