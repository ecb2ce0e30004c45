//! Buffered sends and the attached buffer.

use std::fmt;

use ranks_launch::Count;

use crate::communicator::Communicator;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::Backend;
use crate::transport::buffered::BSEND_OVERHEAD;
use crate::transport::mpi;

/// The attached buffer of this process's buffered sends; from [`Communicator::buffer_attach`].
///
/// It says how much memory messages may take at a time: each is a copy of its own, which is freed
/// when it is sent. What another part of the program attaches (`MPI_Buffer_attach` from C) is not
/// this one.
///
/// [`detach`](Self::detach) gives it back. If this is dropped instead, the messages are sent all
/// the same; dropping does not wait. The end of the runtime waits for them.
#[must_use = "the buffer stays attached for as long as this lives"]
pub struct AttachedBuffer {
    comm: Communicator,
    /// `None` once it was given back.
    buffer: Option<Vec<u8>>,
}

impl Communicator {
    /// Attaches `buffer` for the buffered sends of this process (in process: of this rank), on any
    /// communicator. Local.
    ///
    /// Each message needs as many bytes as [`pack_size`](Self::pack_size) says, plus
    /// [`BSEND_OVERHEAD`], until it is received. If the guard of an earlier buffer was dropped,
    /// this first waits until that buffer's messages are sent.
    ///
    /// ```
    /// # fn main() -> ranks::Result<()> {
    /// # ranks::run(|world| {
    /// use ranks::p2p::BSEND_OVERHEAD;
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
    /// [`ErrorKind::Argument`] if a buffer is attached; [`ErrorKind::Length`] if this one is too
    /// small for any message; what the library reports. The buffer is lost then.
    ///
    /// MPI 5.0 §3.6 (`MPI_Buffer_attach`).
    #[doc(alias = "MPI_Buffer_attach")]
    #[doc(alias = "MPI_Buffer_attach_c")]
    pub fn buffer_attach(&self, buffer: Vec<u8>) -> Result<AttachedBuffer> {
        const OPERATION: &str = "MPI_Buffer_attach";
        let bytes = buffer.len();
        if bytes < BSEND_OVERHEAD {
            let length = Count(bytes, "byte");
            let why = format_args!(
                "a buffer of {length} holds no message: each needs its own bytes and up to {BSEND_OVERHEAD} more"
            );
            return Err(Error::new(ErrorKind::Length, OPERATION, why));
        }
        self.dispatch(
            OPERATION,
            |comm| comm.attach(bytes),
            |comm| comm.attach(bytes),
        )?;
        Ok(AttachedBuffer {
            comm: self.clone(),
            buffer: Some(buffer),
        })
    }
}

impl AttachedBuffer {
    /// Waits until all messages in the buffer are sent, and gives it back. Local, but it returns
    /// only when receivers have received the messages that cannot be sent without them.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`], or [`ErrorKind::TimedOut`] at a [time
    /// limit](Communicator::within); its messages are sent then, as if this had been dropped.
    ///
    /// MPI 5.0 §3.6 (`MPI_Buffer_detach`).
    #[doc(alias = "MPI_Buffer_detach")]
    #[doc(alias = "MPI_Buffer_detach_c")]
    pub fn detach(mut self) -> Result<Vec<u8>> {
        const OPERATION: &str = "MPI_Buffer_detach";
        self.comm.dispatch(OPERATION, mpi::Comm::detach, |comm| {
            comm.detach();
            Ok(())
        })?;
        Ok(self.buffer.take().unwrap_or_default())
    }
}

impl Drop for AttachedBuffer {
    fn drop(&mut self) {
        if self.buffer.is_some() {
            match self.comm.backend() {
                Backend::Mpi(comm) => comm.leave_attached(),
                Backend::InProcess(comm) => comm.detach(),
            }
        }
    }
}

impl fmt::Debug for AttachedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttachedBuffer").finish_non_exhaustive()
    }
}
