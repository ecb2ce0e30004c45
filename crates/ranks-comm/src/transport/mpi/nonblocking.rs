//! Starts of nonblocking sends and receives.

use std::ffi::c_int;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Count, native};

use super::buffer::{bytes, is_small, large_count, small_bytes, to_read};
use super::communicator::Comm;
use super::error::check;
use super::peer::STANDARD;
use super::pending_op::Cell;
use super::recv::not_received;
use super::send_mode::SendMode;
use crate::data::datatype::TypeOf;
use crate::data::element::Pod;
use crate::data::raw_slice::{Element, OpInfo, RawSlice, RecvTarget};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::result::status::Status;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::pending_op::PendingOp;

impl Comm {
    /// Starts a send of as many items as an `int` can count, in a mode of `mode_here`, as a request
    /// of its own.
    ///
    /// # Safety
    /// As [`isend`](Self::isend).
    #[inline]
    pub(crate) unsafe fn isend_fast<T: Pod>(
        &self,
        role: &'static OpInfo,
        mode: SendMode,
        data: &[T],
        dest: Destination,
        tag: i32,
    ) -> Result<PendingOp> {
        // SAFETY: by this function's contract.
        let begun = unsafe { self.isend_begun(role, mode, data, dest, tag) };
        begun.map(|cell| self.native(cell, role, 0))
    }

    /// The same, as its request alone.
    ///
    /// # Safety
    /// As [`isend`](Self::isend).
    #[inline(always)]
    pub(crate) unsafe fn isend_begun<T: Pod>(
        &self,
        role: &'static OpInfo,
        mode: SendMode,
        data: &[T],
        dest: Destination,
        tag: i32,
    ) -> Result<Cell> {
        let mut cell = Cell::new();
        // SAFETY: by this function's contract.
        let code = unsafe { self.isend_small(mode, data, dest, tag, &raw mut cell) };
        check(code, role.operation).map(|()| cell)
    }

    /// Starts a send.
    ///
    /// # Safety
    /// Until it is complete, `data` stays where it is and does not change.
    pub(crate) unsafe fn isend<T: Pod>(
        &self,
        mode: SendMode,
        data: &[T],
        dest: Destination,
        tag: i32,
    ) -> Result<PendingOp> {
        let (role, mode) = (mode.role(), self.mode_here(mode));
        if is_small(data) {
            // SAFETY: by this function's contract; an `int` can count the items.
            return unsafe { self.isend_fast(role, mode, data, dest, tag) };
        }
        let call = mode.functions().nonblocking_c;
        let (count, datatype) = (large_count::<T>(data.len()), TypeOf::<T>::datatype());
        let (from, to, comm) = (to_read(data), STANDARD.destination(dest), self.canonical);
        let mut request = sys::MPI_REQUEST_NULL;
        // SAFETY: `count` items are what `data` holds, which stays; rank and tag are checked.
        let code = unsafe { call(from, count, datatype, to, tag, comm, &raw mut request) };
        check(code, role.operation)?;
        // SAFETY: the library is loaded, as there is a `Comm`.
        let cell = unsafe { Cell::holding(request) };
        Ok(self.native(cell, role, 0))
    }

    /// The mode of a send on this library: where receives are matched first, one that was started
    /// may not be posted yet.
    pub(crate) fn mode_here(&self, mode: SendMode) -> SendMode {
        match mode {
            SendMode::Ready if self.claims_everything() => SendMode::Standard,
            mode => mode,
        }
    }

    /// Starts a send of as many items as an `int` can count, in a mode of `mode_here`.
    ///
    /// # Safety
    /// As [`isend`](Self::isend); and `cell` is a place for a request.
    #[inline(always)]
    pub(crate) unsafe fn isend_small<T: Pod>(
        &self,
        mode: SendMode,
        data: &[T],
        dest: Destination,
        tag: i32,
        cell: *mut Cell,
    ) -> c_int {
        let call = mode.functions().nonblocking;
        let to = self.sentinels.destination(dest);
        let (count, datatype) = self.to_send_small(data, to);
        // SAFETY: `count` items are what `data` holds, which stays; rank and tag are checked.
        unsafe { call(to_read(data), count, datatype, to, tag, self.native, cell) }
    }

    /// Starts a receive.
    pub(crate) fn irecv(
        &self,
        role: &'static OpInfo,
        landing: RecvTarget,
        source: Source,
        tag: Tag,
    ) -> Result<PendingOp> {
        let Some(element) = role.element else {
            return Ok(PendingOp::over(Status::null()));
        };
        if source == Source::Null {
            return Ok(PendingOp::over(Status::null()));
        }
        match landing {
            RecvTarget::Into(span)
                if span.bytes() >= self.claim_below.max(1) && !self.claims.is_waiting() =>
            {
                self.irecv_fast(role, element, span, source, tag)
            }
            _ => {
                let claim = self.claim(role, element, landing, source, tag);
                Ok(PendingOp::Claim(claim))
            }
        }
    }

    /// Starts a receive that need not be matched first, as a request of its own.
    pub(crate) fn irecv_fast(
        &self,
        role: &'static OpInfo,
        element: Element,
        span: RawSlice,
        source: Source,
        tag: Tag,
    ) -> Result<PendingOp> {
        let capacity = RecvTarget::Into(span).capacity(element);
        match self.irecv_posted(span, source, tag) {
            Ok(cell) => Ok(self.native(cell, role, capacity)),
            Err(code) => {
                let error = not_posted(code, role, capacity)?;
                Ok(PendingOp::Over(Err(error)))
            }
        }
    }

    /// As [`irecv_fast`](Self::irecv_fast), of as many bytes as an `int` can count, as its request
    /// alone; the inner error is for the wait.
    #[inline(always)]
    pub(crate) fn irecv_begun(
        &self,
        role: &'static OpInfo,
        capacity: usize,
        span: RawSlice,
        source: Source,
        tag: Tag,
    ) -> Result<Result<Cell>> {
        let mut cell = Cell::new();
        let (start, count) = (span.start(), small_bytes(span.bytes()));
        // SAFETY: the span has at least `count` bytes and is promised until the request is over.
        let code = unsafe { self.irecv_small(start, count, source, tag, &raw mut cell) };
        match code {
            sys::MPI_SUCCESS => Ok(Ok(cell)),
            _ => not_posted(code, role, capacity).map(Err),
        }
    }

    /// Posts a receive: this library stops at the end of the span. The code, if it fails.
    fn irecv_posted(&self, span: RawSlice, source: Source, tag: Tag) -> Result<Cell, c_int> {
        let mut cell = Cell::new();
        let code = match c_int::try_from(span.bytes()) {
            // SAFETY: the span has `count` bytes and is promised until the request is over.
            Ok(count) => unsafe {
                self.irecv_small(span.start(), count, source, tag, &raw mut cell)
            },
            Err(_) => {
                let mut request = sys::MPI_REQUEST_NULL;
                let count = MPI_Count::try_from(span.bytes()).unwrap_or(0);
                let (from, under) = (STANDARD.source(source), STANDARD.tag(tag));
                // SAFETY: the span has `count` bytes and is promised until the request is over.
                let code = unsafe {
                    sys::MPI_Irecv_c(
                        span.start().cast(),
                        count,
                        sys::MPI_BYTE,
                        from,
                        under,
                        self.canonical,
                        &raw mut request,
                    )
                };
                // SAFETY: the library is loaded, as there is a `Comm`.
                cell = unsafe { Cell::holding(request) };
                code
            }
        };
        if code == sys::MPI_SUCCESS {
            Ok(cell)
        } else {
            Err(code)
        }
    }

    /// Posts a receive of at most `count` bytes.
    ///
    /// # Safety
    /// There is room for them at `start` until the request is complete; the library does not write
    /// past it; `cell` is a place for a request.
    #[inline(always)]
    pub(crate) unsafe fn irecv_small(
        &self,
        start: *mut u8,
        count: c_int,
        source: Source,
        tag: Tag,
        cell: *mut Cell,
    ) -> c_int {
        let (from, under) = (self.sentinels.source(source), self.sentinels.tag(tag));
        // SAFETY: by this function's contract; rank and tag are checked.
        unsafe { native::MPI_Irecv(start.cast(), count, bytes(), from, under, self.native, cell) }
    }
}

/// The error of a receive that the library has reported immediately, for the wait to report, as
/// elsewhere: MPICH 3.4 does so if the message has arrived already and is too long. Any other is
/// an error of the start.
#[cold]
fn not_posted(code: c_int, role: &'static OpInfo, capacity: usize) -> Result<Error> {
    let width = role.element.map_or(0, |element| element.width);
    let error = not_received(code, role.operation, capacity, width, &Status::null());
    match error.kind() {
        ErrorKind::Truncated => Ok(error),
        _ => Err(error),
    }
}
