//! Receiving a message into a slice, or into new memory of its length.

use crate::buffer::Buffer;
use crate::communicator::Communicator;
use crate::element::Pod;
use crate::error::Result;
use crate::limit;
use crate::owned::{Plain, SendBuffer as _};
use crate::record::{self, Call};
use crate::source::Source;
use crate::status::{Kind, ROOM, Status, Words};
use crate::tag::Tag;

/// A receive of whatever length.
fn unknown<T: Pod>(source: Source, tag: Tag) -> Call {
    Call::of(const { &record::Kind::message::<T>("MPI_Mrecv") }).from(source, tag)
}

impl Communicator {
    /// Receives a message into the beginning of `buf`, and waits for it.
    ///
    /// The message may be shorter than `buf`; [`Status::count`] tells. From [`Source::Null`] it returns at once.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) if the message is longer than `buf`: the message is
    /// gone then, and nothing outside of `buf` is written whatever the library does.
    /// [`ErrorKind::Type`](crate::ErrorKind::Type) if the message is not a whole number of elements.
    /// [`ErrorKind::Rank`](crate::ErrorKind::Rank), [`ErrorKind::Tag`](crate::ErrorKind::Tag), or what the library
    /// reports; in process [`ErrorKind::PeerFailed`](crate::ErrorKind::PeerFailed) if nobody is left to send.
    ///
    /// MPI 5.0 §3.2.4 (`MPI_Recv`).
    #[doc(alias = "MPI_Recv")]
    #[doc(alias = "MPI_Recv_c")]
    #[inline]
    pub fn recv<T: Pod>(
        &self,
        buf: &mut [T],
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        const OPERATION: &str = "MPI_Recv";
        let source = self.source(OPERATION, source)?;
        let tag = self.tag(OPERATION, tag)?;
        let mut words = ROOM;
        let call = Call::of(const { &record::Kind::message::<T>(OPERATION) })
            .few(buf.len())
            .from(source, tag);
        let kind = match self.express_receive(1, size_of_val(buf)) {
            Some(comm) => comm
                .recorded(self, call)
                .recv_small(buf, source, tag, &mut words)?,
            None => self.recv_in_full(buf, source, tag, &mut words)?,
        };
        Ok(Status::new(kind, words))
    }

    #[cold]
    #[inline(never)]
    fn recv_in_full<T: Pod>(
        &self,
        buf: &mut [T],
        source: Source,
        tag: Tag,
        words: &mut Words,
    ) -> Result<Kind> {
        const OPERATION: &str = "MPI_Recv";
        let call = Call::of(const { &record::Kind::message::<T>(OPERATION) })
            .items(buf.len())
            .from(source, tag);
        let status = self.dispatch_with(
            call,
            buf,
            |comm, buf| match limit::may_end() {
                Some(_) => self.recv_in_time(buf, source, tag),
                None => comm.recv(buf, source, tag),
            },
            |comm, buf| comm.recv(OPERATION, buf, source, tag),
        )?;
        Ok(status.into_parts(words))
    }

    /// Receives into memory of its own, which is left to the library if that does not let go of it at the time limit.
    fn recv_in_time<T: Pod>(&self, buf: &mut [T], source: Source, tag: Tag) -> Result<Status> {
        let receiving = self.irecv(Plain::copy(buf), source, tag)?;
        let (received, status) = receiving.wait_or_cancel()?;
        buf.copy_from_slice(received.as_slice());
        Ok(status)
    }

    /// Receives a message of whatever length into a new `Vec`, and waits for it.
    ///
    /// # Errors
    /// [`ErrorKind::Type`](crate::ErrorKind::Type) if the message is not a whole number of elements; otherwise as
    /// [`recv`](Self::recv).
    ///
    /// MPI 5.0 §3.8.2 (`MPI_Mprobe` and `MPI_Mrecv`).
    pub fn recv_vec<T: Pod>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(Vec<T>, Status)> {
        const OPERATION: &str = "MPI_Mrecv";
        let source = self.source(OPERATION, source)?;
        let tag = self.tag(OPERATION, tag)?;
        self.dispatch(
            unknown::<T>(source, tag),
            move |comm| {
                let (message, status) = self.mprobe_in_time(comm, source, tag)?;
                message.recv_vec(OPERATION, &status)
            },
            move |comm| comm.recv_vec(OPERATION, source, tag),
        )
    }

    /// Receives a message of whatever length into a new [`Buffer`], and waits for it.
    ///
    /// The memory of a large one is faster to receive into than a `Vec`'s.
    ///
    /// # Errors
    /// As [`recv_vec`](Self::recv_vec); [`ErrorKind::Length`](crate::ErrorKind::Length) if there is no memory for it.
    ///
    /// MPI 5.0 §3.8.2 (`MPI_Mprobe` and `MPI_Mrecv`).
    pub fn recv_buffer<T: Pod>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(Buffer<T>, Status)> {
        const OPERATION: &str = "MPI_Mrecv";
        let source = self.source(OPERATION, source)?;
        let tag = self.tag(OPERATION, tag)?;
        self.dispatch(
            unknown::<T>(source, tag),
            move |comm| {
                let (message, status) = self.mprobe_in_time(comm, source, tag)?;
                message.recv_buffer(OPERATION, &status)
            },
            move |comm| comm.recv_buffer(OPERATION, source, tag),
        )
    }
}
