//! Puts, gets and their order, by the library.
//!
//! # Safety
//!
//! Addresses are of places that lie in a block of the heap with all their bytes, or of memory of
//! the PE's device, as the safe layer has compared. What is enqueued goes on after the call: no
//! block is freed, and no other memory given back, before the streams are over that were used (see
//! [`in_flight`](crate::pe::in_flight)). The stream is a live one of the PE's device, which is made
//! the current one for each call.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use ranks_comm::{Error, ErrorKind, Result};
use ranks_nvshmem_sys::cudaStream_t;

use super::LibraryHeap;
use super::direct::Direct;
use super::memory::{address_of, local_address, not_of_device};
use crate::backend::block::{Local, Offset};
use crate::backend::names::{
    BARRIER_ALL, BARRIER_ALL_ON_STREAM, FENCE, FLUSH, FLUSH_ON_STREAM, GET, IGET, IPUT, PUT, QUIET,
    QUIET_ON_STREAM, SYNC_ALL, SYNC_ALL_ON_STREAM, strided,
};
use crate::backend::stream::StreamRef;
use crate::backend::{Comparison, Memory, OneSided, Order, Reuse, SignalOp, Strides};

/// `nvshmem_putmem` and its like.
type Move = unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int);
/// `nvshmemx_putmem_on_stream` and its like.
pub(super) type MoveOn =
    unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int, cudaStream_t);
/// `nvshmem_iput8` and its like.
type Stride = unsafe extern "C" fn(*mut c_void, *const c_void, isize, isize, usize, c_int);
/// `nvshmemx_iput8_on_stream` and its like.
type StrideOn =
    unsafe extern "C" fn(*mut c_void, *const c_void, isize, isize, usize, c_int, cudaStream_t);
/// `nvshmem_quiet` and its like.
type Point = unsafe extern "C" fn();
/// `nvshmemx_quiet_on_stream` and its like.
type PointOn = unsafe extern "C" fn(cudaStream_t);

/// A function that is done when it returns, and the one that enqueues the same; the library may
/// lack them.
type Forms<F, On> = (Option<F>, Option<On>);

/// From where to where, and on which PE.
pub(super) struct Moved {
    pub(super) dest: *mut c_void,
    pub(super) source: *const c_void,
    pub(super) pe: c_int,
}

impl OneSided for LibraryHeap {
    fn put(
        &self,
        dest: Offset<'_>,
        source: Local<'_>,
        bytes: usize,
        pe: usize,
        order: Order<'_>,
        reuse: Reuse,
    ) -> Result<()> {
        let table = self.library.table();
        let (now, on) = match reuse {
            Reuse::After => (table.nvshmem_putmem, table.nvshmemx_putmem_on_stream),
            Reuse::AfterQuiet => (
                table.nvshmem_putmem_nbi,
                table.nvshmemx_putmem_nbi_on_stream,
            ),
        };
        let name = PUT.of(order, reuse);
        self.transfer(name, (now, on), Moved::put(dest, source, pe), bytes, order)
    }

    fn get(
        &self,
        dest: Local<'_>,
        source: Offset<'_>,
        bytes: usize,
        pe: usize,
        order: Order<'_>,
        reuse: Reuse,
    ) -> Result<()> {
        let table = self.library.table();
        let (now, on) = match reuse {
            Reuse::After => (table.nvshmem_getmem, table.nvshmemx_getmem_on_stream),
            Reuse::AfterQuiet => (
                table.nvshmem_getmem_nbi,
                table.nvshmemx_getmem_nbi_on_stream,
            ),
        };
        let name = GET.of(order, reuse);
        self.transfer(name, (now, on), Moved::get(dest, source, pe), bytes, order)
    }

    fn direct(&self, stream: StreamRef<'_>) -> Option<Direct> {
        Direct::of(self, stream)
    }

    fn iput(
        &self,
        dest: Offset<'_>,
        source: Local<'_>,
        strides: Strides,
        size: usize,
        count: usize,
        pe: usize,
        order: Order<'_>,
    ) -> Result<()> {
        let table = self.library.table();
        let name = strided(IPUT, size, order)?;
        let functions = match size {
            1 => (table.nvshmem_iput8, table.nvshmemx_iput8_on_stream),
            2 => (table.nvshmem_iput16, table.nvshmemx_iput16_on_stream),
            4 => (table.nvshmem_iput32, table.nvshmemx_iput32_on_stream),
            8 => (table.nvshmem_iput64, table.nvshmemx_iput64_on_stream),
            // 16: there is no name for any other.
            _ => (table.nvshmem_iput128, table.nvshmemx_iput128_on_stream),
        };
        self.reaches(name, dest, pe)?;
        let moved = Moved::put(dest, source, pe);
        self.stride(name, functions, moved, strides, size, count, order)
    }

    fn iget(
        &self,
        dest: Local<'_>,
        source: Offset<'_>,
        strides: Strides,
        size: usize,
        count: usize,
        pe: usize,
        order: Order<'_>,
    ) -> Result<()> {
        let table = self.library.table();
        let name = strided(IGET, size, order)?;
        let functions = match size {
            1 => (table.nvshmem_iget8, table.nvshmemx_iget8_on_stream),
            2 => (table.nvshmem_iget16, table.nvshmemx_iget16_on_stream),
            4 => (table.nvshmem_iget32, table.nvshmemx_iget32_on_stream),
            8 => (table.nvshmem_iget64, table.nvshmemx_iget64_on_stream),
            // 16: there is no name for any other.
            _ => (table.nvshmem_iget128, table.nvshmemx_iget128_on_stream),
        };
        self.reaches(name, source, pe)?;
        let moved = Moved::get(dest, source, pe);
        self.stride(name, functions, moved, strides, size, count, order)
    }

    fn put_signal(
        &self,
        dest: Offset<'_>,
        source: Local<'_>,
        bytes: usize,
        signal: Offset<'_>,
        value: u64,
        op: SignalOp,
        pe: usize,
        stream: StreamRef<'_>,
        reuse: Reuse,
    ) -> Result<()> {
        let (dest, source) = (address_of(dest), local_address(source).cast_const());
        self.send_with(
            dest,
            source,
            bytes,
            signal,
            value,
            op,
            number(pe),
            stream,
            reuse,
        )
    }

    fn signal_op(
        &self,
        signal: Offset<'_>,
        value: u64,
        op: SignalOp,
        pe: usize,
        stream: StreamRef<'_>,
    ) -> Result<()> {
        self.send(signal, value, op, number(pe), stream)
    }

    fn signal_fetch(&self, signal: Offset<'_>) -> Result<u64> {
        self.fetch(signal)
    }

    fn signal_wait_until(
        &self,
        signal: Offset<'_>,
        comparison: Comparison,
        value: u64,
        stream: StreamRef<'_>,
    ) -> Result<()> {
        self.await_signal(signal, comparison, value, stream)
    }

    fn fence(&self) -> Result<()> {
        let fence = self.library.table().nvshmem_fence;
        self.point([FENCE; 2], (fence, None), Order::Now)
    }

    fn quiet(&self, order: Order<'_>) -> Result<()> {
        let table = self.library.table();
        let functions = (table.nvshmem_quiet, table.nvshmemx_quiet_on_stream);
        self.point([QUIET, QUIET_ON_STREAM], functions, order)
    }

    fn flush(&self, order: Order<'_>) -> Result<()> {
        let table = self.library.table();
        let functions = (table.nvshmemx_flush, table.nvshmemx_flush_on_stream);
        self.point([FLUSH, FLUSH_ON_STREAM], functions, order)
    }

    fn barrier_all(&self, order: Order<'_>) -> Result<()> {
        let table = self.library.table();
        let functions = (
            table.nvshmem_barrier_all,
            table.nvshmemx_barrier_all_on_stream,
        );
        self.point([BARRIER_ALL, BARRIER_ALL_ON_STREAM], functions, order)
    }

    fn sync_all(&self, order: Order<'_>) -> Result<()> {
        let table = self.library.table();
        let functions = (table.nvshmem_sync_all, table.nvshmemx_sync_all_on_stream);
        self.point([SYNC_ALL, SYNC_ALL_ON_STREAM], functions, order)
    }
}

impl Moved {
    #[inline]
    pub(super) fn put(dest: Offset<'_>, source: Local<'_>, pe: usize) -> Self {
        Self {
            dest: address_of(dest),
            source: local_address(source).cast_const(),
            pe: number(pe),
        }
    }

    #[inline]
    pub(super) fn get(dest: Local<'_>, source: Offset<'_>, pe: usize) -> Self {
        Self {
            dest: local_address(dest),
            source: address_of(source).cast_const(),
            pe: number(pe),
        }
    }
}

impl LibraryHeap {
    #[inline]
    fn transfer(
        &self,
        name: &'static str,
        (now, on): Forms<Move, MoveOn>,
        moved: Moved,
        bytes: usize,
        order: Order<'_>,
    ) -> Result<()> {
        let Moved { dest, source, pe } = moved;
        let _entered = self.enter(name)?;
        match order {
            Order::Now => {
                let function = now.ok_or_else(|| self.missing(name))?;
                // SAFETY: so many bytes are there on both sides, and are not used by the library
                // after the call, or after `quiet`, before which no block is freed.
                unsafe { function(dest, source, bytes, pe) };
            }
            Order::On(stream) => {
                let (Some(function), StreamRef::Cuda(_, stream)) = (on, stream) else {
                    return Err(self.cannot_enqueue(name, on.is_some()));
                };
                // SAFETY: so many bytes are there on both sides until the stream is past it; the
                // stream lives, and is of the PE's device.
                unsafe { function(dest, source, bytes, pe, stream.0.cast()) };
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "those of the C functions")]
    fn stride(
        &self,
        name: &'static str,
        (now, on): Forms<Stride, StrideOn>,
        moved: Moved,
        strides: Strides,
        size: usize,
        count: usize,
        order: Order<'_>,
    ) -> Result<()> {
        if !moved.dest.addr().is_multiple_of(size) || !moved.source.addr().is_multiple_of(size) {
            let text =
                format_args!("the memory begins at no multiple of the {size} bytes of an element");
            return Err(Error::new(ErrorKind::Argument, name, text));
        }
        let Moved { dest, source, pe } = moved;
        let (to, from) = (strides.dest.cast_signed(), strides.source.cast_signed());
        let _entered = self.enter(name)?;
        match order {
            Order::Now => {
                let function = now.ok_or_else(|| self.missing(name))?;
                // SAFETY: so many elements with these strides are there on both sides, aligned, and
                // the PE's memory can be stored to directly.
                unsafe { function(dest, source, to, from, count, pe) };
            }
            Order::On(stream) => {
                let (Some(function), StreamRef::Cuda(_, stream)) = (on, stream) else {
                    return Err(self.cannot_enqueue(name, on.is_some()));
                };
                // SAFETY: as above, until the stream is past it; the stream lives, and is of the
                // PE's device.
                unsafe { function(dest, source, to, from, count, pe, stream.0.cast()) };
            }
        }
        Ok(())
    }

    /// Over a network the library ends the process for what has strides.
    fn reaches(&self, name: &'static str, place: Offset<'_>, pe: usize) -> Result<()> {
        if self.peer(place, pe).is_some() {
            return Ok(());
        }
        let text = format_args!(
            "PE {pe} is reached over a network, where NVSHMEM has no strides: put what is side by side, one piece after the other"
        );
        Err(Error::new(ErrorKind::Argument, name, text))
    }

    fn point(
        &self,
        names: [&'static str; 2],
        (now, on): Forms<Point, PointOn>,
        order: Order<'_>,
    ) -> Result<()> {
        let name = order.of(names);
        let _entered = self.enter(name)?;
        match order {
            Order::Now => {
                let function = now.ok_or_else(|| self.missing(name))?;
                // SAFETY: the library is initialised.
                unsafe { function() };
            }
            Order::On(stream) => {
                let (Some(function), StreamRef::Cuda(_, stream)) = (on, stream) else {
                    return Err(self.cannot_enqueue(name, on.is_some()));
                };
                // SAFETY: the library is initialised; the stream lives, and is of the PE's device.
                unsafe { function(stream.0.cast()) };
            }
        }
        Ok(())
    }

    /// The error for an operation that cannot be enqueued, with the reason.
    #[cold]
    pub(super) fn cannot_enqueue(&self, name: &'static str, is_there: bool) -> Error {
        if is_there {
            not_of_device(name)
        } else {
            self.missing(name)
        }
    }
}

/// A PE as C counts it.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "it is below the number of PEs, which the library has given as an int"
)]
fn number(pe: usize) -> c_int {
    pe as c_int
}
