//! Signals, by the library.
//!
//! # Safety
//!
//! As in [`one_sided`](super::one_sided). A signal is a word of a block of the heap, aligned to its
//! eight bytes: blocks begin so, and signals are numbered in words.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use ranks_comm::Result;
use ranks_nvshmem_sys::{
    NVSHMEM_CMP_EQ, NVSHMEM_CMP_GE, NVSHMEM_CMP_GT, NVSHMEM_CMP_LE, NVSHMEM_CMP_LT, NVSHMEM_CMP_NE,
    NVSHMEM_SIGNAL_ADD, NVSHMEM_SIGNAL_SET,
};

use super::LibraryHeap;
use super::memory::address_of;
use crate::backend::block::Offset;
use crate::backend::names::{PUT_SIGNAL, SIGNAL_FETCH, SIGNAL_OP, SIGNAL_WAIT};
use crate::backend::stream::StreamRef;
use crate::backend::{Comparison, Order, Reuse, SignalOp};

impl LibraryHeap {
    /// `nvshmemx_putmem_signal_on_stream`
    #[allow(clippy::too_many_arguments, reason = "those of the C function")]
    pub(super) fn send_with(
        &self,
        dest: *mut c_void,
        source: *const c_void,
        bytes: usize,
        signal: Offset<'_>,
        value: u64,
        op: SignalOp,
        pe: c_int,
        stream: StreamRef<'_>,
        reuse: Reuse,
    ) -> Result<()> {
        let table = self.library.table();
        let name = PUT_SIGNAL.of(Order::On(stream), reuse);
        let function = match reuse {
            Reuse::After => table.nvshmemx_putmem_signal_on_stream,
            Reuse::AfterQuiet => table.nvshmemx_putmem_signal_nbi_on_stream,
        };
        let (Some(function), StreamRef::Cuda(_, stream)) = (function, stream) else {
            return Err(self.cannot_enqueue(name, function.is_some()));
        };
        let _entered = self.enter(name)?;
        let (word, stream) = (word_of(signal), stream.0.cast());
        // SAFETY: so many bytes are there on both sides, and the word, until the stream is past it;
        // the stream lives, and is of the PE's device.
        unsafe { function(dest, source, bytes, word, value, code_of(op), pe, stream) };
        Ok(())
    }

    /// `nvshmemx_signal_op_on_stream`
    pub(super) fn send(
        &self,
        signal: Offset<'_>,
        value: u64,
        op: SignalOp,
        pe: c_int,
        stream: StreamRef<'_>,
    ) -> Result<()> {
        let function = self.library.table().nvshmemx_signal_op_on_stream;
        let (Some(function), StreamRef::Cuda(_, stream)) = (function, stream) else {
            return Err(self.cannot_enqueue(SIGNAL_OP, function.is_some()));
        };
        let _entered = self.enter(SIGNAL_OP)?;
        let (word, stream) = (word_of(signal), stream.0.cast());
        // SAFETY: the word is there until the stream is past it; the stream lives, and is of the
        // PE's device.
        unsafe { function(word, value, code_of(op), pe, stream) };
        Ok(())
    }

    /// `nvshmem_signal_fetch`
    pub(super) fn fetch(&self, signal: Offset<'_>) -> Result<u64> {
        let function = self.library.table().nvshmem_signal_fetch;
        let function = function.ok_or_else(|| self.missing(SIGNAL_FETCH))?;
        let _entered = self.enter(SIGNAL_FETCH)?;
        // SAFETY: the word is there; the library copies it to the host.
        Ok(unsafe { function(word_of(signal)) })
    }

    /// `nvshmemx_signal_wait_until_on_stream`
    pub(super) fn await_signal(
        &self,
        signal: Offset<'_>,
        comparison: Comparison,
        value: u64,
        stream: StreamRef<'_>,
    ) -> Result<()> {
        self.full(SIGNAL_WAIT)?;
        let function = self.library.table().nvshmemx_signal_wait_until_on_stream;
        let (Some(function), StreamRef::Cuda(_, stream)) = (function, stream) else {
            return Err(self.cannot_enqueue(SIGNAL_WAIT, function.is_some()));
        };
        let comparison = match comparison {
            Comparison::Equal => NVSHMEM_CMP_EQ,
            Comparison::NotEqual => NVSHMEM_CMP_NE,
            Comparison::Greater => NVSHMEM_CMP_GT,
            Comparison::LessOrEqual => NVSHMEM_CMP_LE,
            Comparison::Less => NVSHMEM_CMP_LT,
            Comparison::GreaterOrEqual => NVSHMEM_CMP_GE,
        };
        let _entered = self.enter(SIGNAL_WAIT)?;
        let (word, stream) = (word_of(signal), stream.0.cast());
        // SAFETY: the word is there until the stream is past it; the stream lives, and is of the
        // PE's device.
        unsafe { function(word, comparison, value, stream) };
        Ok(())
    }
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
