//! Puts, gets, signals and their order, by the library.
//!
//! # Safety
//!
//! Addresses are of places that lie in a block of the heap with all their bytes, or of memory of
//! the PE's device, as the safe layer has compared. What is enqueued goes on after the call: no
//! block is freed, and no other memory given back, before the streams are over that were used (see
//! [`in_flight`](crate::pe::in_flight)). The stream is a live one of the PE's device, which is made
//! the current one for each call. A signal is a word of a block of the heap, aligned to its eight
//! bytes: blocks begin so, and signals are numbered in words.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use ranks_comm::{Error, ErrorKind, Result};
use ranks_nvshmem_sys::{
    NVSHMEM_CMP_EQ, NVSHMEM_CMP_GE, NVSHMEM_CMP_GT, NVSHMEM_CMP_LE, NVSHMEM_CMP_LT, NVSHMEM_CMP_NE,
    NVSHMEM_SIGNAL_ADD, NVSHMEM_SIGNAL_SET, cudaStream_t,
};

use super::direct::Direct;
use super::memory::{address_of, local_address};
use super::{Function, LibraryHeap};
use crate::backend::block::Offset;
use crate::backend::names::{PUT_SIGNAL, SIGNAL_FETCH, SIGNAL_OP, SIGNAL_WAIT};
use crate::backend::stream::StreamRef;
use crate::backend::{
    Access, Comparison, Direction, Memory, OneSided, Order, Point, Reuse, SignalOp, SignalUpdate,
    Strides,
};

/// `nvshmemx_putmem_on_stream` and its like.
pub(super) type MoveOn =
    unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int, cudaStream_t);

/// An access as C takes it: from where to where, and on which PE.
pub(super) struct Moved {
    pub(super) dest: *mut c_void,
    pub(super) source: *const c_void,
    pub(super) pe: c_int,
}

impl OneSided for LibraryHeap {
    fn access(&self, access: Access<'_>, order: Order<'_>, reuse: Reuse) -> Result<()> {
        let table = self.library.table();
        let functions = match (access.direction, reuse) {
            (Direction::Put, Reuse::After) => {
                (table.nvshmem_putmem, table.nvshmemx_putmem_on_stream)
            }
            (Direction::Put, Reuse::AfterQuiet) => (
                table.nvshmem_putmem_nbi,
                table.nvshmemx_putmem_nbi_on_stream,
            ),
            (Direction::Get, Reuse::After) => {
                (table.nvshmem_getmem, table.nvshmemx_getmem_on_stream)
            }
            (Direction::Get, Reuse::AfterQuiet) => (
                table.nvshmem_getmem_nbi,
                table.nvshmemx_getmem_nbi_on_stream,
            ),
        };
        let name = access.direction.name(order, reuse);
        let (Moved { dest, source, pe }, bytes) = (Moved::of(access), access.bytes);
        let _entered = self.enter(name)?;
        match self.function(name, functions, order)? {
            // SAFETY: so many bytes are there on both sides, and are not used by the library after
            // the call, or after `quiet`, before which no block is freed.
            Function::Now(function) => unsafe { function(dest, source, bytes, pe) },
            // SAFETY: so many bytes are there on both sides until the stream is past it; the stream
            // lives, and is of the PE's device.
            Function::On(function, stream) => unsafe { function(dest, source, bytes, pe, stream) },
        }
        Ok(())
    }

    fn direct(&self, stream: StreamRef<'_>) -> Option<Direct> {
        Direct::of(self, stream)
    }

    fn access_strided(
        &self,
        access: Access<'_>,
        strides: Strides,
        size: usize,
        order: Order<'_>,
    ) -> Result<()> {
        let table = self.library.table();
        let name = access.direction.strided_name(size, order)?;
        let functions = match (access.direction, size) {
            (Direction::Put, 1) => (table.nvshmem_iput8, table.nvshmemx_iput8_on_stream),
            (Direction::Put, 2) => (table.nvshmem_iput16, table.nvshmemx_iput16_on_stream),
            (Direction::Put, 4) => (table.nvshmem_iput32, table.nvshmemx_iput32_on_stream),
            (Direction::Put, 8) => (table.nvshmem_iput64, table.nvshmemx_iput64_on_stream),
            // 16: there is no name for any other.
            (Direction::Put, _) => (table.nvshmem_iput128, table.nvshmemx_iput128_on_stream),
            (Direction::Get, 1) => (table.nvshmem_iget8, table.nvshmemx_iget8_on_stream),
            (Direction::Get, 2) => (table.nvshmem_iget16, table.nvshmemx_iget16_on_stream),
            (Direction::Get, 4) => (table.nvshmem_iget32, table.nvshmemx_iget32_on_stream),
            (Direction::Get, 8) => (table.nvshmem_iget64, table.nvshmemx_iget64_on_stream),
            (Direction::Get, _) => (table.nvshmem_iget128, table.nvshmemx_iget128_on_stream),
        };
        self.reaches(name, access.far, access.pe)?;
        let (Moved { dest, source, pe }, count) = (Moved::of(access), access.bytes / size);
        if !dest.addr().is_multiple_of(size) || !source.addr().is_multiple_of(size) {
            let text =
                format_args!("the memory begins at no multiple of the {size} bytes of an element");
            return Err(Error::new(ErrorKind::Argument, name, text));
        }
        let (to, from) = (strides.dest.cast_signed(), strides.source.cast_signed());
        let _entered = self.enter(name)?;
        match self.function(name, functions, order)? {
            // SAFETY: so many elements with these strides are there on both sides, aligned, and the
            // PE's memory can be stored to directly.
            Function::Now(function) => unsafe { function(dest, source, to, from, count, pe) },
            // SAFETY: as above, until the stream is past it; the stream lives, and is of the PE's
            // device.
            Function::On(function, stream) => unsafe {
                function(dest, source, to, from, count, pe, stream)
            },
        }
        Ok(())
    }

    fn put_signal(
        &self,
        put: Access<'_>,
        signal: SignalUpdate<'_>,
        stream: StreamRef<'_>,
        reuse: Reuse,
    ) -> Result<()> {
        let table = self.library.table();
        let name = PUT_SIGNAL.of(Order::On(stream), reuse);
        let function = match reuse {
            Reuse::After => table.nvshmemx_putmem_signal_on_stream,
            Reuse::AfterQuiet => table.nvshmemx_putmem_signal_nbi_on_stream,
        };
        let (function, stream) = self.on_stream(name, function, stream)?;
        let (Moved { dest, source, pe }, bytes) = (Moved::of(put), put.bytes);
        let (word, value, op) = (word_of(signal.word), signal.value, code_of(signal.op));
        let _entered = self.enter(name)?;
        // SAFETY: so many bytes are there on both sides, and the word, until the stream is past it;
        // the stream lives, and is of the PE's device.
        unsafe { function(dest, source, bytes, word, value, op, pe, stream) };
        Ok(())
    }

    fn signal_op(&self, signal: SignalUpdate<'_>, pe: usize, stream: StreamRef<'_>) -> Result<()> {
        let function = self.library.table().nvshmemx_signal_op_on_stream;
        let (function, stream) = self.on_stream(SIGNAL_OP, function, stream)?;
        let (word, op) = (word_of(signal.word), code_of(signal.op));
        let _entered = self.enter(SIGNAL_OP)?;
        // SAFETY: the word is there until the stream is past it; the stream lives, and is of the
        // PE's device.
        unsafe { function(word, signal.value, op, number(pe), stream) };
        Ok(())
    }

    fn signal_fetch(&self, signal: Offset<'_>) -> Result<u64> {
        self.call(SIGNAL_FETCH, |table| {
            let fetch = table.nvshmem_signal_fetch?;
            // SAFETY: the word is there; the library copies it to the host.
            Some(unsafe { fetch(word_of(signal)) })
        })
    }

    fn signal_wait_until(
        &self,
        signal: Offset<'_>,
        comparison: Comparison,
        value: u64,
        stream: StreamRef<'_>,
    ) -> Result<()> {
        self.full(SIGNAL_WAIT)?;
        let function = self.library.table().nvshmemx_signal_wait_until_on_stream;
        let (function, stream) = self.on_stream(SIGNAL_WAIT, function, stream)?;
        let comparison = match comparison {
            Comparison::Equal => NVSHMEM_CMP_EQ,
            Comparison::NotEqual => NVSHMEM_CMP_NE,
            Comparison::Greater => NVSHMEM_CMP_GT,
            Comparison::LessOrEqual => NVSHMEM_CMP_LE,
            Comparison::Less => NVSHMEM_CMP_LT,
            Comparison::GreaterOrEqual => NVSHMEM_CMP_GE,
        };
        let _entered = self.enter(SIGNAL_WAIT)?;
        // SAFETY: the word is there until the stream is past it; the stream lives, and is of the
        // PE's device.
        unsafe { function(word_of(signal), comparison, value, stream) };
        Ok(())
    }

    fn point(&self, point: Point, order: Order<'_>) -> Result<()> {
        let table = self.library.table();
        let functions = match point {
            Point::Fence => (table.nvshmem_fence, None),
            Point::Quiet => (table.nvshmem_quiet, table.nvshmemx_quiet_on_stream),
            Point::Flush => (table.nvshmemx_flush, table.nvshmemx_flush_on_stream),
            Point::BarrierAll => (
                table.nvshmem_barrier_all,
                table.nvshmemx_barrier_all_on_stream,
            ),
            Point::SyncAll => (table.nvshmem_sync_all, table.nvshmemx_sync_all_on_stream),
        };
        let name = point.name(order);
        let _entered = self.enter(name)?;
        match self.function(name, functions, order)? {
            // SAFETY: the library is initialised.
            Function::Now(function) => unsafe { function() },
            // SAFETY: as above; the stream lives, and is of the PE's device.
            Function::On(function, stream) => unsafe { function(stream) },
        }
        Ok(())
    }
}

impl Moved {
    #[inline]
    pub(super) fn of(access: Access<'_>) -> Self {
        let (far, near) = (address_of(access.far), local_address(access.near));
        let (dest, source) = match access.direction {
            Direction::Put => (far, near.cast_const()),
            Direction::Get => (near, far.cast_const()),
        };
        let pe = number(access.pe);
        Self { dest, source, pe }
    }
}

impl LibraryHeap {
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

fn word_of(signal: Offset<'_>) -> *mut u64 {
    address_of(signal).cast()
}

fn code_of(op: SignalOp) -> c_int {
    match op {
        SignalOp::Set => NVSHMEM_SIGNAL_SET,
        SignalOp::Add => NVSHMEM_SIGNAL_ADD,
    }
}
