//! Combined send and receive. The receive is as in `recv`.

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Count, MPI_Datatype, MPI_Request, MPI_Status, native};

use super::buffer::{bytes, is_small, is_small_in_bytes, small_bytes, to_read};
use super::communicator::Comm;
use super::error::check;
use super::fast_path::Unclaimed;
use super::peer::STANDARD;
use super::recv::{Fits, Room};
use super::status;
use crate::call::record::Over;
use crate::data::element::Pod;
use crate::data::source::Ends;
use crate::result::Result;
use crate::result::status::{EMPTY_STATUS, Kind, Status, Words};

const OPERATION: &str = "MPI_Sendrecv";

/// Items of a datatype at an address, which are to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Described {
    pub(crate) pointer: *const c_void,
    pub(crate) count: MPI_Count,
    pub(crate) datatype: MPI_Datatype,
}

impl Comm {
    pub(crate) fn sendrecv<S: Pod, R: Pod>(
        &self,
        send: &[S],
        recv: &mut [R],
        ends: Ends,
    ) -> Result<Status> {
        let is_small = size_of_val(send) > 0 && is_small(send) && is_small_in_bytes(recv);
        if is_small && !self.must_claim(recv) {
            let mut words = EMPTY_STATUS;
            let kind = Unclaimed(self).sendrecv_small(send, recv, ends, &mut words)?;
            return Ok(Status::new(kind, words));
        }
        let (count, datatype) = self.to_send_to(send, ends.dest);
        let what = Described {
            pointer: to_read(send),
            count,
            datatype,
        };
        let room = self.room(recv);
        // SAFETY: `count` items are what `send` holds; both slices are borrowed until this returns.
        unsafe { self.sendrecv_into(what, &room, ends) }
    }

    pub(crate) fn sendrecv_replace<T: Pod>(&self, buf: &mut [T], ends: Ends) -> Result<Status> {
        if !self.must_claim(buf) && is_small_in_bytes(buf) {
            let mut words = EMPTY_STATUS;
            let kind = Unclaimed(self).sendrecv_replace_small(buf, ends, &mut words)?;
            return Ok(Status::new(kind, words));
        }
        // The library would send a copy as well.
        let send = buf.to_vec();
        self.sendrecv(&send, buf, ends)
            .map_err(|error| error.of("MPI_Sendrecv_replace"))
    }

    /// Sends and receives; where the message has to be matched first, starts the send before, and
    /// waits for it afterwards.
    ///
    /// # Safety
    /// Until this returns the items may be read, and the room be written to, which is apart from
    /// them.
    pub(crate) unsafe fn sendrecv_into(
        &self,
        send: Described,
        recv: &Room<impl Fits>,
        ends: Ends,
    ) -> Result<Status> {
        let (to, send_tag) = (STANDARD.destination(ends.dest), ends.send_tag);
        if recv.claims {
            // SAFETY: by this function's contract; it is waited for before this function ends, also
            // on unwinding.
            let sending = unsafe { Sending::start(self, send, to, send_tag) }?;
            // SAFETY: by this function's contract.
            let received = unsafe { self.recv_into(OPERATION, recv, ends.source, ends.recv_tag) };
            check(sending.wait(), OPERATION)?;
            return received;
        }
        let (from, recv_tag) = (STANDARD.source(ends.source), STANDARD.tag(ends.recv_tag));
        let mut status = MPI_Status::EMPTY;
        let counts = (c_int::try_from(send.count), c_int::try_from(recv.count));
        let code = match counts {
            // SAFETY: by this function's contract; this library writes no more; the status is ours.
            (Ok(sending), Ok(receiving)) => unsafe {
                sys::MPI_Sendrecv(
                    send.pointer,
                    sending,
                    send.datatype,
                    to,
                    send_tag,
                    recv.pointer,
                    receiving,
                    recv.datatype,
                    from,
                    recv_tag,
                    self.canonical,
                    &raw mut status,
                )
            },
            // SAFETY: as above.
            _ => unsafe {
                sys::MPI_Sendrecv_c(
                    send.pointer,
                    send.count,
                    send.datatype,
                    to,
                    send_tag,
                    recv.pointer,
                    recv.count,
                    recv.datatype,
                    from,
                    recv_tag,
                    self.canonical,
                    &raw mut status,
                )
            },
        };
        recv.received(OPERATION, code, &status)
    }
}

impl<C: Over<Target = Comm>> Unclaimed<C> {
    /// Sends and receives as much as an `int` can count, and at least one byte to send: the address
    /// of an empty slice may be a sentinel.
    #[inline(always)]
    pub(crate) fn sendrecv_small<S: Pod, R: Pod>(
        &self,
        send: &[S],
        recv: &mut [R],
        ends: Ends,
        words: &mut Words,
    ) -> Result<Kind> {
        let sentinels = self.0.sentinels;
        let to = sentinels.destination(ends.dest);
        let (count, datatype) = self.0.to_send_small(send, to);
        // SAFETY: the counts are what the slices hold; this library writes no more; the status is
        // ours.
        let code = unsafe {
            native::MPI_Sendrecv(
                send.as_ptr().cast(),
                count,
                datatype,
                to,
                ends.send_tag,
                recv.as_mut_ptr().cast(),
                small_bytes(size_of_val(recv)),
                bytes(),
                sentinels.source(ends.source),
                sentinels.tag(ends.recv_tag),
                self.0.native,
                status::to_write(words),
            )
        };
        self.0.over();
        self.0
            .received::<R>(code, OPERATION, words, ends.source, recv.len())
    }

    /// Sends and receives as much as an `int` can count.
    #[inline(always)]
    pub(crate) fn sendrecv_replace_small<T: Pod>(
        &self,
        buf: &mut [T],
        ends: Ends,
        words: &mut Words,
    ) -> Result<Kind> {
        const OPERATION: &str = "MPI_Sendrecv_replace";
        let sentinels = self.0.sentinels;
        let to = sentinels.destination(ends.dest);
        if to == self.0.oneself {
            // The library would send a copy of its own.
            let send = buf.to_vec();
            return self.sendrecv_small(&send, buf, ends, words);
        }
        // SAFETY: `buf` holds so many bytes; this library writes no more; the status is ours.
        let code = unsafe {
            native::MPI_Sendrecv_replace(
                buf.as_mut_ptr().cast(),
                small_bytes(size_of_val(buf)),
                bytes(),
                to,
                ends.send_tag,
                sentinels.source(ends.source),
                sentinels.tag(ends.recv_tag),
                self.0.native,
                status::to_write(words),
            )
        };
        self.0.over();
        self.0
            .received::<T>(code, OPERATION, words, ends.source, buf.len())
    }
}

/// A pending send, which is waited for when it is dropped, also when unwinding.
struct Sending(MPI_Request);

impl Sending {
    /// # Safety
    /// The items may be read until it is dropped.
    unsafe fn start(comm: &Comm, what: Described, to: c_int, tag: i32) -> Result<Self> {
        let Described {
            pointer,
            count,
            datatype,
        } = what;
        let mut request = sys::MPI_REQUEST_NULL;
        let place = &raw mut request;
        // SAFETY: by this function's contract; rank and tag are checked; the request is ours.
        let code =
            unsafe { sys::MPI_Isend_c(pointer, count, datatype, to, tag, comm.canonical, place) };
        check(code, "MPI_Isend")?;
        Ok(Self(request))
    }

    /// The library's code.
    fn wait(self) -> c_int {
        // Once, whatever the code.
        ManuallyDrop::new(self).complete()
    }

    fn complete(&mut self) -> c_int {
        let mut status = MPI_Status::EMPTY;
        // SAFETY: the request was started by `start`, and is waited for once; the status is ours.
        unsafe { sys::MPI_Wait(&raw mut self.0, &raw mut status) }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.complete();
    }
}
