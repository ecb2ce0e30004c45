//! Combined send and receive, which cannot deadlock.

use crate::call::limit;
use crate::call::record::{self, Call};
use crate::communicator::Communicator;
use crate::data::datatype::TypeOf;
use crate::data::element::Pod;
use crate::data::owned::{Plain, SendBuffer as _};
use crate::data::source::{Destination, Ends, Source};
use crate::data::tag::Tag;
use crate::result::status::{EMPTY_STATUS, Kind, Status, Words};
use crate::result::{Result, can_be_counted};
use crate::transport::in_process::Sent;

impl Communicator {
    /// Sends `send` to `dest` and receives from `source` into `recv` at the same time.
    ///
    /// Lengths, types, ranks and tags of the two messages are independent. A rank at a border
    /// passes `None`.
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
        const { can_be_counted::<S>() };
        let ends = self.ends(OPERATION, (dest, send_tag), (source, recv_tag))?;
        let mut words = EMPTY_STATUS;
        let call = Call::of(const { &record::Kind::messages::<R>(OPERATION) })
            .count_u32(recv.len())
            .from(ends.source, ends.recv_tag);
        let items = send.len() * TypeOf::<S>::items();
        let kind = match self.fast_path_receive(items, size_of_val(recv)) {
            Some(comm) => comm
                .recorded(self, call)
                .sendrecv_small(send, recv, ends, &mut words)?,
            None => self.sendrecv_slow(send, recv, ends.copied(), &mut words)?,
        };
        Ok(Status::new(kind, words))
    }

    #[cold]
    #[inline(never)]
    fn sendrecv_slow<S: Pod, R: Pod>(
        &self,
        send: &[S],
        recv: &mut [R],
        ends: Ends,
        words: &mut Words,
    ) -> Result<Kind> {
        const OPERATION: &str = "MPI_Sendrecv";
        let call = Call::of(const { &record::Kind::messages::<R>(OPERATION) })
            .items(recv.len())
            .from(ends.source, ends.recv_tag)
            .and_to(ends.dest, ends.send_tag);
        let status = self.dispatch_with(
            call,
            recv,
            |comm, recv| match limit::may_end() {
                Some(_) => self.sendrecv_in_time(send, recv, ends),
                None => comm.sendrecv(send, recv, ends),
            },
            |comm, recv| {
                comm.send(Sent::of(send), ends.dest, ends.send_tag)?;
                comm.recv(OPERATION, recv, ends.source, ends.recv_tag)
            },
        )?;
        Ok(status.into_parts(words))
    }

    /// Sends and receives on memory of its own; if the library still uses it at the time limit, it
    /// is left to the runtime.
    fn sendrecv_in_time<S: Pod, R: Pod>(
        &self,
        send: &[S],
        recv: &mut [R],
        ends: Ends,
    ) -> Result<Status> {
        let Ends {
            dest,
            send_tag,
            source,
            recv_tag,
        } = ends;
        let (send, into) = (Plain::copy(send), Plain::copy(recv));
        let request = self.isendrecv(send, dest, send_tag, into, source, recv_tag)?;
        let ((_, received), status) = request.wait_or_cancel()?;
        recv.copy_from_slice(received.as_slice());
        Ok(status)
    }

    /// Sends `buf` to `dest`, and replaces it by a message of at most its length from `source`.
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
        let ends = self.ends(OPERATION, (dest, send_tag), (source, recv_tag))?;
        let mut words = EMPTY_STATUS;
        let call = Call::of(const { &record::Kind::messages::<T>(OPERATION) })
            .count_u32(buf.len())
            .from(ends.source, ends.recv_tag);
        let kind = match self.fast_path_receive(1, size_of_val(buf)) {
            Some(comm) => comm
                .recorded(self, call)
                .sendrecv_replace_small(buf, ends, &mut words)?,
            None => self.sendrecv_replace_slow(buf, ends.copied(), &mut words)?,
        };
        Ok(Status::new(kind, words))
    }

    #[cold]
    #[inline(never)]
    fn sendrecv_replace_slow<T: Pod>(
        &self,
        buf: &mut [T],
        ends: Ends,
        words: &mut Words,
    ) -> Result<Kind> {
        const OPERATION: &str = "MPI_Sendrecv_replace";
        let call = Call::of(const { &record::Kind::messages::<T>(OPERATION) })
            .items(buf.len())
            .from(ends.source, ends.recv_tag)
            .and_to(ends.dest, ends.send_tag);
        let status = self.dispatch_with(
            call,
            buf,
            |comm, buf| match limit::may_end() {
                Some(_) => {
                    let send = buf.to_vec();
                    self.sendrecv_in_time(&send, buf, ends)
                }
                None => comm.sendrecv_replace(buf, ends),
            },
            |comm, buf| {
                comm.send(Sent::of(buf), ends.dest, ends.send_tag)?;
                comm.recv(OPERATION, buf, ends.source, ends.recv_tag)
            },
        )?;
        Ok(status.into_parts(words))
    }
}
