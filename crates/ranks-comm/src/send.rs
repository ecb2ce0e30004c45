//! Sending a message and waiting until its buffer is free again.

use crate::communicator::Communicator;
use crate::element::Pod;
use crate::error::Result;
use crate::in_process::Sent;
use crate::limit;
use crate::mpi::{self, TypeOf};
use crate::owned::Plain;
use crate::record::{self, Call};
use crate::source::Destination;

impl Communicator {
    /// Sends `data` to `dest` under `tag` and returns when `data` may be changed again.
    ///
    /// Whether that is before the message is received is up to the library; do not rely on it.
    /// In process the message is copied, and this never waits.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`](crate::ErrorKind::Rank), [`ErrorKind::Tag`](crate::ErrorKind::Tag), or what the library
    /// reports.
    ///
    /// MPI 5.0 §3.2.1 (`MPI_Send`).
    #[doc(alias = "MPI_Send")]
    #[doc(alias = "MPI_Send_c")]
    #[inline]
    pub fn send<T: Pod>(&self, data: &[T], dest: impl Into<Destination>, tag: i32) -> Result<()> {
        const OPERATION: &str = "MPI_Send";
        let dest = self.destination(OPERATION, dest)?;
        self.check_tag(OPERATION, tag)?;
        let call = Call::of(const { &record::Kind::message::<T>(OPERATION) })
            .few(data.len())
            .to(dest, tag);
        match self.express(data.len() * TypeOf::<T>::items()) {
            Some(comm) => mpi::Comm::send_small(self.recorded(comm, call), data, dest, tag),
            None => self.send_in_full(data, dest, tag),
        }
    }

    /// As [`send`](Self::send), but returns only when the receiver has begun to receive.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`](crate::ErrorKind::Rank), [`ErrorKind::Tag`](crate::ErrorKind::Tag), or what the library
    /// reports; in process [`ErrorKind::PeerFailed`](crate::ErrorKind::PeerFailed) if `dest` can no longer receive.
    ///
    /// MPI 5.0 §3.4 (`MPI_Ssend`).
    #[doc(alias = "MPI_Ssend")]
    #[doc(alias = "MPI_Ssend_c")]
    #[inline]
    pub fn ssend<T: Pod>(&self, data: &[T], dest: impl Into<Destination>, tag: i32) -> Result<()> {
        const OPERATION: &str = "MPI_Ssend";
        let dest = self.destination(OPERATION, dest)?;
        self.check_tag(OPERATION, tag)?;
        let call = Call::of(const { &record::Kind::message::<T>(OPERATION) })
            .few(data.len())
            .to(dest, tag);
        match self.express(data.len() * TypeOf::<T>::items()) {
            Some(comm) => mpi::Comm::ssend_small(self.recorded(comm, call), data, dest, tag),
            None => self.ssend_in_full(data, dest, tag),
        }
    }

    #[cold]
    #[inline(never)]
    fn send_in_full<T: Pod>(&self, data: &[T], dest: Destination, tag: i32) -> Result<()> {
        let call = Call::of(const { &record::Kind::message::<T>("MPI_Send") })
            .items(data.len())
            .to(dest, tag);
        self.dispatch(
            call,
            |comm| match limit::may_end() {
                Some(_) => self.isend(Plain::copy(data), dest, tag)?.wait().map(drop),
                None => comm.send(data, dest, tag),
            },
            |comm| comm.send(Sent::of(data), dest, tag),
        )
    }

    #[cold]
    #[inline(never)]
    fn ssend_in_full<T: Pod>(&self, data: &[T], dest: Destination, tag: i32) -> Result<()> {
        const OPERATION: &str = "MPI_Ssend";
        let call = Call::of(const { &record::Kind::message::<T>(OPERATION) })
            .items(data.len())
            .to(dest, tag);
        self.dispatch(
            call,
            |comm| match limit::may_end() {
                Some(_) => self.issend(Plain::copy(data), dest, tag)?.wait().map(drop),
                None => comm.ssend(data, dest, tag),
            },
            |comm| comm.ssend(OPERATION, Sent::of(data), dest, tag),
        )
    }
}
