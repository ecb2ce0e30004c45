//! Sending one message and receiving another in one call that cannot deadlock.

use crate::communicator::Communicator;
use crate::element::Pod;
use crate::error::Result;
use crate::mpi::TypeOf;
use crate::source::{Destination, Source};
use crate::status::{Kind, ROOM, Status, Words};
use crate::tag::Tag;

impl Communicator {
    /// Sends `send` to `dest` and receives from `source` into `recv` at the same time.
    ///
    /// The two messages may differ in everything. A rank at a border passes `None`.
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`recv`](Self::recv).
    ///
    /// MPI 5.0 §3.10 (`MPI_Sendrecv`).
    #[doc(alias = "MPI_Sendrecv")]
    #[doc(alias = "MPI_Sendrecv_c")]
    #[inline]
    pub fn sendrecv<S: Pod, R: Pod>(
        &self,
        send: &[S],
        dest: impl Into<Destination>,
        send_tag: i32,
        recv: &mut [R],
        source: impl Into<Source>,
        recv_tag: impl Into<Tag>,
    ) -> Result<Status> {
        const OPERATION: &str = "MPI_Sendrecv";
        let dest = self.destination(OPERATION, dest)?;
        self.check_tag(OPERATION, send_tag)?;
        let source = self.source(OPERATION, source)?;
        let recv_tag = self.tag(OPERATION, recv_tag)?;
        let mut words = ROOM;
        let kind = match self.express_receive(send.len() * TypeOf::<S>::items(), size_of_val(recv))
        {
            Some(comm) => {
                comm.sendrecv_small(send, dest, send_tag, recv, source, recv_tag, &mut words)?
            }
            None => {
                self.sendrecv_in_full(send, dest, send_tag, recv, source, recv_tag, &mut words)?
            }
        };
        Ok(Status::new(kind, words))
    }

    #[cold]
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "as many as MPI_Sendrecv has")]
    fn sendrecv_in_full<S: Pod, R: Pod>(
        &self,
        send: &[S],
        dest: Destination,
        send_tag: i32,
        recv: &mut [R],
        source: Source,
        recv_tag: Tag,
        words: &mut Words,
    ) -> Result<Kind> {
        const OPERATION: &str = "MPI_Sendrecv";
        let status = self.dispatch_with(
            OPERATION,
            recv,
            |comm, recv| comm.sendrecv(send, dest, send_tag, recv, source, recv_tag),
            |comm, recv| {
                comm.send(bytemuck::cast_slice(send), dest, send_tag)?;
                comm.recv(OPERATION, recv, source, recv_tag)
            },
        )?;
        Ok(status.into_parts(words))
    }

    /// Sends `buf` to `dest` and replaces it by a message of at most its length from `source`.
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`recv`](Self::recv).
    ///
    /// MPI 5.0 §3.10 (`MPI_Sendrecv_replace`).
    #[doc(alias = "MPI_Sendrecv_replace")]
    #[doc(alias = "MPI_Sendrecv_replace_c")]
    #[inline]
    pub fn sendrecv_replace<T: Pod>(
        &self,
        buf: &mut [T],
        dest: impl Into<Destination>,
        send_tag: i32,
        source: impl Into<Source>,
        recv_tag: impl Into<Tag>,
    ) -> Result<Status> {
        const OPERATION: &str = "MPI_Sendrecv_replace";
        let dest = self.destination(OPERATION, dest)?;
        self.check_tag(OPERATION, send_tag)?;
        let source = self.source(OPERATION, source)?;
        let recv_tag = self.tag(OPERATION, recv_tag)?;
        let mut words = ROOM;
        let kind = match self.express_receive(1, size_of_val(buf)) {
            Some(comm) => {
                comm.sendrecv_replace_small(buf, dest, send_tag, source, recv_tag, &mut words)?
            }
            None => {
                self.sendrecv_replace_in_full(buf, dest, send_tag, source, recv_tag, &mut words)?
            }
        };
        Ok(Status::new(kind, words))
    }

    #[cold]
    #[inline(never)]
    fn sendrecv_replace_in_full<T: Pod>(
        &self,
        buf: &mut [T],
        dest: Destination,
        send_tag: i32,
        source: Source,
        recv_tag: Tag,
        words: &mut Words,
    ) -> Result<Kind> {
        const OPERATION: &str = "MPI_Sendrecv_replace";
        let status = self.dispatch_with(
            OPERATION,
            buf,
            |comm, buf| comm.sendrecv_replace(buf, dest, send_tag, source, recv_tag),
            |comm, buf| {
                comm.send(bytemuck::cast_slice(buf), dest, send_tag)?;
                comm.recv(OPERATION, buf, source, recv_tag)
            },
        )?;
        Ok(status.into_parts(words))
    }
}
