//! Buffered sends and the attached buffer.

use std::fmt;

use crate::communicator::Communicator;
use crate::data::in_flight::InFlight;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::Backend;

/// The largest number of bytes of an attached buffer that a message takes besides its own, on any library.
///
/// MPI 5.0 §3.6 (`MPI_BSEND_OVERHEAD`).
#[doc(alias = "MPI_BSEND_OVERHEAD")]
pub const BSEND_OVERHEAD: usize = ranks_mpi_sys::MPI_BSEND_OVERHEAD as usize;

/// The attached buffer of this process's buffered sends; from [`Communicator::buffer_attach`].
///
/// [`detach`](Self::detach) gives it back. If this is dropped instead, the messages in it are sent all the same: the
/// runtime keeps the memory until the next buffer is attached or the runtime ends, and detaches it then. Dropping neither
/// waits nor frees memory in use, and `mem::forget` only leaks it.
#[must_use = "the buffer stays attached for as long as this lives"]
pub struct AttachedBuffer {
    comm: Communicator,
    /// `None` once it was given back.
    buffer: Option<InFlight<Vec<u8>>>,
}

impl Communicator {
    /// Attaches `buffer` for the buffered sends of this process (in process: of this rank), on any communicator. Local.
    ///
    /// Each message needs as many bytes as [`pack_size`](Self::pack_size) says, plus [`BSEND_OVERHEAD`], until it is
    /// received. If the guard of an earlier buffer was dropped, this first waits until that buffer's messages are sent.
    ///
    /// ```
    /// # fn main() -> ranks_comm::Result<()> {
    /// # ranks_comm::run(|world| {
    /// use ranks_comm::BSEND_OVERHEAD;
    ///
    /// let data = [1.0, 2.0, 3.0];
    /// let room = vec![0; size_of_val(&data) + BSEND_OVERHEAD];
    /// let attached = world.buffer_attach(room)?;
    /// world.bsend(&data, world.rank(), 7)?; // to itself, with no receive yet
    /// assert_eq!(world.recv_vec::<f64>(world.rank(), 7)?.0, data);
    /// attached.detach()?;
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if a buffer is attached; [`ErrorKind::Length`] if this one is too small for any message;
    /// what the library reports. The buffer is lost then.
    ///
    /// MPI 5.0 §3.6 (`MPI_Buffer_attach`).
    #[doc(alias = "MPI_Buffer_attach")]
    #[doc(alias = "MPI_Buffer_attach_c")]
    pub fn buffer_attach(&self, buffer: Vec<u8>) -> Result<AttachedBuffer> {
        const OPERATION: &str = "MPI_Buffer_attach";
        if buffer.len() < BSEND_OVERHEAD {
            return Err(Error::new(
                ErrorKind::Length,
                OPERATION,
                format_args!(
                    "{} bytes hold no message: each needs its own bytes and up to {BSEND_OVERHEAD} more",
                    buffer.len()
                ),
            ));
        }
        let buffer = self.dispatch_with(
            OPERATION,
            buffer,
            |comm, buffer| comm.attach(buffer),
            |comm, buffer| comm.attach(buffer),
        )?;
        Ok(AttachedBuffer {
            comm: self.clone(),
            buffer: Some(buffer),
        })
    }

    /// Returns an error if a message of that many bytes can never fit into the attached buffer. The caller has entered the library.
    pub(crate) fn fits_attached(&self, operation: &'static str, bytes: usize) -> Result<()> {
        let attached = match self.backend() {
            Backend::Mpi(comm) => comm.attached_bytes(),
            Backend::InProcess(comm) => comm.attached_bytes(),
        };
        fits(operation, bytes, attached)
    }
}

/// Returns an error if a message of that many bytes can never fit, on any library: some send a small one all the same.
fn fits(operation: &'static str, bytes: usize, room: Option<usize>) -> Result<()> {
    match room {
        Some(room) if bytes.saturating_add(BSEND_OVERHEAD) <= room => Ok(()),
        Some(room) => Err(Error::new(
            ErrorKind::Argument,
            operation,
            format_args!(
                "a message of {bytes} bytes needs {BSEND_OVERHEAD} more in the attached buffer, which has {room}"
            ),
        )),
        None => Err(Error::new(
            ErrorKind::Argument,
            operation,
            "no buffer is attached; see Communicator::buffer_attach",
        )),
    }
}

impl AttachedBuffer {
    /// Waits until all messages in the buffer are sent, and gives it back. Local, but it returns only when
    /// receivers have received the messages that cannot be sent without them.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`], or what the library reports; the runtime keeps the buffer then,
    /// as if this had been dropped.
    ///
    /// MPI 5.0 §3.6 (`MPI_Buffer_detach`).
    #[doc(alias = "MPI_Buffer_detach")]
    #[doc(alias = "MPI_Buffer_detach_c")]
    pub fn detach(mut self) -> Result<Vec<u8>> {
        const OPERATION: &str = "MPI_Buffer_detach";
        let over = self.comm.dispatch(
            OPERATION,
            |comm| comm.detach().map(Some),
            |comm| Ok(comm.detach()),
        )?;
        let buffer = self.buffer.take().zip(over);
        Ok(buffer.map_or_else(Vec::new, |(buffer, over)| buffer.give_back(over)))
    }
}

impl Drop for AttachedBuffer {
    fn drop(&mut self) {
        let Some(buffer) = self.buffer.take() else {
            return;
        };
        match self.comm.backend() {
            Backend::Mpi(comm) => comm.leave_attached(buffer),
            Backend::InProcess(comm) => drop(comm.detach().map(|over| buffer.give_back(over))),
        }
    }
}

impl fmt::Debug for AttachedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttachedBuffer").finish_non_exhaustive()
    }
}
