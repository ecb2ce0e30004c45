//! Blocking receives, into a slice or into new memory of the message's length.

use crate::call::limit;
use crate::call::record::{self, Call};
use crate::communicator::Communicator;
use crate::data::buffer::Buffer;
use crate::data::element::Pod;
use crate::data::owned::{Plain, SendBuffer as _};
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::p2p::message::Claimed;
use crate::result::status::{EMPTY_STATUS, Kind, Status, Words};
use crate::result::{Error, ErrorKind, Result};

impl Communicator {
    /// Receives a message into the beginning of `buf`. Returns when it has arrived.
    ///
    /// The message may be shorter than `buf`; see [`Status::count`]. A receive from
    /// [`Source::Null`] completes immediately.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if the message is longer than `buf`: the message is lost then, and
    /// nothing outside of `buf` is written, on any library. [`ErrorKind::Type`] if the message is
    /// not a whole number of elements. [`ErrorKind::Rank`], [`ErrorKind::Tag`], or what the library
    /// reports; in process [`ErrorKind::PeerFailed`] if nobody is left to send.
    ///
    /// MPI 5.0 §3.2.4 (`MPI_Recv`).
    #[doc(alias = "MPI_Recv")]
    #[doc(alias = "MPI_Recv_c")]
    #[inline(always)]
    pub fn recv<T: Pod>(
        &self,
        buf: &mut [T],
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        const OPERATION: &str = "MPI_Recv";
        let source = self.source(OPERATION, source)?;
        let tag = self.tag(OPERATION, tag)?;
        let mut words = EMPTY_STATUS;
        let call = Call::of(const { &record::Kind::message::<T>(OPERATION) })
            .count_u32(buf.len())
            .from(source, tag);
        let kind = match self.fast_path_receive(1, size_of_val(buf)) {
            Some(comm) => comm
                .recorded(self, call)
                .recv_small(buf, source, tag, &mut words)?,
            None => self.recv_slow(buf, source, tag, &mut words)?,
        };
        Ok(Status::new(kind, words))
    }

    /// Receives a message of one element. Returns when it has arrived.
    ///
    /// ```
    /// # fn f(world: &ranks::Communicator) -> ranks::Result<()> {
    /// let last = world.size() - 1;
    /// if world.rank() == 0 {
    ///     world.send_one(1.5, last, 7)?;
    /// }
    /// if world.rank() == last {
    ///     let (step, _) = world.recv_one::<f64>(0, 7)?;
    ///     assert_eq!(step, 1.5);
    /// }
    /// # Ok(())
    /// # }
    /// # ranks::run(|world| f(&world)).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if the message is empty, as one from [`Source::Null`] is; otherwise as
    /// [`recv`](Self::recv).
    ///
    /// MPI 5.0 §3.2.4 (`MPI_Recv`).
    #[doc(alias = "MPI_Recv")]
    #[inline]
    pub fn recv_one<T: Pod>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(T, Status)> {
        let mut element = T::zeroed();
        let status = self.recv(std::slice::from_mut(&mut element), source, tag)?;
        if size_of::<T>() > 0 && status.count::<T>()? == 0 {
            let text = "the message is empty, and one element was expected";
            return Err(Error::new(ErrorKind::Length, "MPI_Recv", text));
        }
        Ok((element, status))
    }

    #[cold]
    #[inline(never)]
    fn recv_slow<T: Pod>(
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

    /// Receives into memory of its own; if the library still uses it at the time limit, it is left
    /// to the runtime.
    fn recv_in_time<T: Pod>(&self, buf: &mut [T], source: Source, tag: Tag) -> Result<Status> {
        let receiving = self.irecv(Plain::copy(buf), source, tag)?;
        let (received, status) = receiving.wait_or_cancel()?;
        buf.copy_from_slice(received.as_slice());
        Ok(status)
    }

    /// Receives a message of any length into a new `Vec`. Returns when it has arrived.
    ///
    /// # Errors
    /// [`ErrorKind::Type`] if the message is not a whole number of elements; otherwise as
    /// [`recv`](Self::recv).
    ///
    /// MPI 5.0 §3.8.2 (`MPI_Mprobe` and `MPI_Mrecv`).
    pub fn recv_vec<T: Pod>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(Vec<T>, Status)> {
        self.recv_claimed::<T, _>(source, tag, Claimed::into_vec)
    }

    /// Receives a message of any length into a new [`Buffer`]. Returns when it has arrived.
    ///
    /// Receiving into the memory of a large buffer is faster than into that of a `Vec`.
    ///
    /// # Errors
    /// As [`recv_vec`](Self::recv_vec); [`ErrorKind::Length`] if there is no memory for it.
    ///
    /// MPI 5.0 §3.8.2 (`MPI_Mprobe` and `MPI_Mrecv`).
    pub fn recv_buffer<T: Pod>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(Buffer<T>, Status)> {
        self.recv_claimed::<T, _>(source, tag, Claimed::into_buffer)
    }

    /// Matches a message of elements of `T`, and receives it by `receive`.
    fn recv_claimed<T: Pod, R>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        receive: fn(Claimed, &Status) -> Result<R>,
    ) -> Result<R> {
        const OPERATION: &str = "MPI_Mrecv";
        let source = self.source(OPERATION, source)?;
        let tag = self.tag(OPERATION, tag)?;
        self.dispatch(
            Call::of(const { &record::Kind::message::<T>(OPERATION) }).from(source, tag),
            |comm| {
                let (message, status) = self.mprobe_in_time(comm, source, tag)?;
                receive(Claimed::Mpi(message), &status)
            },
            |comm| {
                let message = comm.mprobe(OPERATION, source, tag)?;
                receive(Claimed::InProcess(message), &Status::null())
            },
        )
    }
}
