//! Combined send and receive. The receive is as in `recv`.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Count, MPI_Datatype, MPI_Request, MPI_Status, native};

use super::buffer::{
    bytes, is_small, is_small_in_bytes, large_bytes, small_bytes, to_read, to_write,
};
use super::communicator::Comm;
use super::error::check;
use super::fast_path::Unclaimed;
use super::peer::to_standard;
use super::recv::large_received;
use super::status;
use crate::call::record::Over;
use crate::data::element::Pod;
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::result::Result;
use crate::result::status::{EMPTY_STATUS, Kind, Status, Words};

impl Comm {
    pub(crate) fn sendrecv<S: Pod, R: Pod>(
        &self,
        send: &[S],
        dest: Destination,
        send_tag: i32,
        recv: &mut [R],
        source: Source,
        recv_tag: Tag,
    ) -> Result<Status> {
        const OPERATION: &str = "MPI_Sendrecv";
        if self.must_claim(recv) {
            self.sendrecv_claimed(OPERATION, send, dest, send_tag, recv, source, recv_tag)
        } else if size_of_val(send) > 0 && is_small(send) && is_small_in_bytes(recv) {
            let mut words = EMPTY_STATUS;
            let kind = Unclaimed(self)
                .sendrecv_small(send, dest, send_tag, recv, source, recv_tag, &mut words)?;
            Ok(Status::new(kind, words))
        } else {
            self.sendrecv_large(send, dest, send_tag, recv, source, recv_tag)
        }
    }

    pub(crate) fn sendrecv_replace<T: Pod>(
        &self,
        buf: &mut [T],
        dest: Destination,
        send_tag: i32,
        source: Source,
        recv_tag: Tag,
    ) -> Result<Status> {
        const OPERATION: &str = "MPI_Sendrecv_replace";
        if self.must_claim(buf) {
            let send = buf.to_vec();
            self.sendrecv_claimed(OPERATION, &send, dest, send_tag, buf, source, recv_tag)
        } else if is_small_in_bytes(buf) {
            let mut words = EMPTY_STATUS;
            let kind = Unclaimed(self)
                .sendrecv_replace_small(buf, dest, send_tag, source, recv_tag, &mut words)?;
            Ok(Status::new(kind, words))
        } else {
            self.sendrecv_replace_large(buf, dest, send_tag, source, recv_tag)
        }
    }

    /// Starts the send, matches the message to receive, compares its length, receives it, waits for
    /// the send.
    #[expect(clippy::too_many_arguments, reason = "as many as MPI_Sendrecv has")]
    fn sendrecv_claimed<S: Pod, R: Pod>(
        &self,
        operation: &'static str,
        send: &[S],
        dest: Destination,
        send_tag: i32,
        recv: &mut [R],
        source: Source,
        recv_tag: Tag,
    ) -> Result<Status> {
        let sending = Sending::start(self, send, dest, send_tag)?;
        let received = self.recv_claimed(operation, recv, source, recv_tag);
        sending.wait(operation)?;
        received
    }

    fn sendrecv_large<S: Pod, R: Pod>(
        &self,
        send: &[S],
        dest: Destination,
        send_tag: i32,
        recv: &mut [R],
        source: Source,
        recv_tag: Tag,
    ) -> Result<Status> {
        let (count, datatype) = self.to_send_to(send, dest);
        let mut status = MPI_Status::EMPTY;
        // SAFETY: the counts are what the slices hold; this library writes no more; the status is
        // ours.
        let code = unsafe {
            sys::MPI_Sendrecv_c(
                to_read(send),
                count,
                datatype,
                to_standard::destination(dest),
                send_tag,
                to_write(recv),
                large_bytes(recv),
                sys::MPI_BYTE,
                to_standard::source(source),
                to_standard::tag(recv_tag),
                self.canonical,
                &raw mut status,
            )
        };
        large_received::<R>(code, "MPI_Sendrecv", &status, recv.len())
    }

    fn sendrecv_replace_large<T: Pod>(
        &self,
        buf: &mut [T],
        dest: Destination,
        send_tag: i32,
        source: Source,
        recv_tag: Tag,
    ) -> Result<Status> {
        let mut status = MPI_Status::EMPTY;
        // SAFETY: the count is how many bytes the slice holds; this library writes no more; the
        // status is ours.
        let code = unsafe {
            sys::MPI_Sendrecv_replace_c(
                to_write(buf),
                large_bytes(buf),
                sys::MPI_BYTE,
                to_standard::destination(dest),
                send_tag,
                to_standard::source(source),
                to_standard::tag(recv_tag),
                self.canonical,
                &raw mut status,
            )
        };
        large_received::<T>(code, "MPI_Sendrecv_replace", &status, buf.len())
    }
}

impl<C: Over<Target = Comm>> Unclaimed<C> {
    /// Sends and receives as much as an `int` can count, and at least one byte to send: the address
    /// of an empty slice may be a sentinel.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "as many as MPI_Sendrecv has")]
    pub(crate) fn sendrecv_small<S: Pod, R: Pod>(
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
        let (to, from) = (
            self.0.sentinels.destination(dest),
            self.0.sentinels.source(source),
        );
        let (count, datatype) = self.0.to_send_small(send, to);
        // SAFETY: the counts are what the slices hold; this library writes no more; the status is
        // ours.
        let code = unsafe {
            native::MPI_Sendrecv(
                send.as_ptr().cast(),
                count,
                datatype,
                to,
                send_tag,
                recv.as_mut_ptr().cast(),
                small_bytes(size_of_val(recv)),
                bytes(),
                from,
                self.0.sentinels.tag(recv_tag),
                self.0.native,
                status::to_write(words),
            )
        };
        self.0.over();
        self.0
            .received::<R>(code, OPERATION, words, source, recv.len())
    }

    /// Sends and receives as much as an `int` can count.
    #[inline(always)]
    pub(crate) fn sendrecv_replace_small<T: Pod>(
        &self,
        buf: &mut [T],
        dest: Destination,
        send_tag: i32,
        source: Source,
        recv_tag: Tag,
        words: &mut Words,
    ) -> Result<Kind> {
        const OPERATION: &str = "MPI_Sendrecv_replace";
        let (to, from) = (
            self.0.sentinels.destination(dest),
            self.0.sentinels.source(source),
        );
        if to == self.0.oneself {
            // The library would send a copy of its own.
            let send = buf.to_vec();
            return self.sendrecv_small(&send, dest, send_tag, buf, source, recv_tag, words);
        }
        // SAFETY: `buf` holds so many bytes; this library writes no more; the status is ours.
        let code = unsafe {
            native::MPI_Sendrecv_replace(
                buf.as_mut_ptr().cast(),
                small_bytes(size_of_val(buf)),
                bytes(),
                to,
                send_tag,
                from,
                self.0.sentinels.tag(recv_tag),
                self.0.native,
                status::to_write(words),
            )
        };
        self.0.over();
        self.0
            .received::<T>(code, OPERATION, words, source, buf.len())
    }
}

/// A pending send, which holds its buffer until it is complete, also when unwinding.
pub(crate) struct Sending<'a> {
    request: MPI_Request,
    _buffer: PhantomData<&'a [u8]>,
}

impl<'a> Sending<'a> {
    fn start<S: Pod>(comm: &Comm, send: &'a [S], dest: Destination, tag: i32) -> Result<Self> {
        let (count, datatype) = comm.to_send_to(send, dest);
        let (pointer, to) = (to_read(send), to_standard::destination(dest));
        // SAFETY: `count` items are what `send` holds, which is borrowed until the request is over.
        unsafe { Self::start_described(comm, pointer, count, datatype, to, tag) }
    }

    /// # Safety
    /// `count` items of `datatype` at `pointer` may be read for `'a`.
    pub(crate) unsafe fn start_described(
        comm: &Comm,
        pointer: *const c_void,
        count: MPI_Count,
        datatype: MPI_Datatype,
        to: c_int,
        tag: i32,
    ) -> Result<Self> {
        let mut request = sys::MPI_REQUEST_NULL;
        // SAFETY: by this function's contract; rank and tag are checked; the request is ours.
        let code = unsafe {
            sys::MPI_Isend_c(
                pointer,
                count,
                datatype,
                to,
                tag,
                comm.canonical,
                &raw mut request,
            )
        };
        check(code, "MPI_Isend")?;
        Ok(Self {
            request,
            _buffer: PhantomData,
        })
    }

    pub(crate) fn wait(mut self, operation: &'static str) -> Result<()> {
        check(self.complete(), operation)
    }

    fn complete(&mut self) -> c_int {
        if self.request == sys::MPI_REQUEST_NULL {
            return sys::MPI_SUCCESS;
        }
        let mut request = std::mem::replace(&mut self.request, sys::MPI_REQUEST_NULL);
        let mut status = MPI_Status::EMPTY;
        // SAFETY: the request was started by `start` and is waited for once; the status is ours.
        unsafe { sys::MPI_Wait(&raw mut request, &raw mut status) }
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        self.complete();
    }
}
