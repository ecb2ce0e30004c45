//! Words that PEs set and wait for.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
    Ordering,
};

use super::abi::{self, Stream};
use super::fatal;
use super::meeting::wait_until;
use super::pe::Pe;
use super::rma::Operation;
use super::stream::enqueue;
use super::transfer::Reuse;

/// What is done to a word of another PE.
#[derive(Clone, Copy)]
pub(crate) struct Signal {
    pub(crate) word: usize,
    pub(crate) value: u64,
    pub(crate) op: c_int,
}

/// The word of a PE at an offset.
fn word(pe: &Pe, target: usize, offset: usize) -> &AtomicU64 {
    let word = pe.heap().at(target, offset, 8).cast::<AtomicU64>();
    // SAFETY: mapped as long as the heap, and aligned by `offset_of`.
    unsafe { &*word }
}

fn offset_of(pe: &Pe, name: &str, address: usize) -> usize {
    if !address.is_multiple_of(8) {
        fatal::abort(format_args!("{name}: a signal at {address:#x}"));
    }
    pe.heap().symmetric(name, address, 8)
}

impl Signal {
    /// Checks it, and says what carries it out.
    fn checked(
        self,
        pe: &Pe,
        name: &'static str,
        target: c_int,
    ) -> impl FnOnce(&Pe) + Send + use<> {
        let target = pe.target(name, target);
        let offset = offset_of(pe, name, self.word);
        if self.op != abi::SIGNAL_SET && self.op != abi::SIGNAL_ADD {
            fatal::abort(format_args!("{name}: a signal operation {}", self.op));
        }
        move |pe: &Pe| {
            pe.heap().check(name, offset, 8);
            let word = word(pe, target, offset);
            if self.op == abi::SIGNAL_SET {
                word.store(self.value, Ordering::Release);
            } else {
                word.fetch_add(self.value, Ordering::AcqRel);
            }
        }
    }
}

/// `nvshmemx_signal_op_on_stream`
pub(crate) fn on_stream(pe: &Arc<Pe>, signal: Signal, target: c_int, stream: Stream) {
    let carry_out = signal.checked(pe, "nvshmemx_signal_op_on_stream", target);
    let fences = pe.outbox.fences();
    enqueue(pe, stream, move |pe| {
        // What was called before a fence is there before the signal.
        pe.outbox.deliver(pe, fences);
        carry_out(pe);
    });
}

/// `nvshmemx_putmem_signal_on_stream` and its kin: the data, then the signal.
pub(crate) fn put(
    pe: &Arc<Pe>,
    operation: &Operation,
    signal: Signal,
    reuse: Reuse,
    stream: Stream,
) {
    let carry_out = signal.checked(pe, operation.name, operation.target);
    operation.put_on_stream(pe, reuse, stream, Some(Box::new(carry_out)));
}

/// `nvshmem_signal_fetch`
pub(crate) fn fetch(pe: &Pe, address: usize) -> u64 {
    let offset = offset_of(pe, "nvshmem_signal_fetch", address);
    word(pe, pe.my_pe, offset).load(Ordering::Acquire)
}

/// `nvshmemx_signal_counted_reset`
pub(crate) fn reset(pe: &Pe, address: usize) {
    let offset = offset_of(pe, "nvshmemx_signal_counted_reset", address);
    word(pe, pe.my_pe, offset).store(0, Ordering::Release);
}

/// Returns `true` if `one` compares to `other` so.
pub(crate) fn compares<T: PartialOrd>(name: &str, one: &T, cmp: c_int, other: &T) -> bool {
    match cmp {
        0 => one == other,
        1 => one != other,
        2 => one > other,
        3 => one <= other,
        4 => one < other,
        5 => one >= other,
        _ => fatal::abort(format_args!("{name}: a comparison {cmp}")),
    }
}

/// Words that a stream waits for.
pub(crate) trait Word: PartialOrd + Copy + Send + 'static {
    /// Reads the word at an address.
    ///
    /// # Safety
    /// It is mapped and aligned, and who writes there at the same time does so by an atomic
    /// operation, or in another process.
    unsafe fn load(place: *mut Self) -> Self;
}

macro_rules! words {
    ($($word:ty: $atomic:ty),* $(,)?) => {$(
        impl Word for $word {
            unsafe fn load(place: *mut Self) -> Self {
                // SAFETY: that of the caller.
                let word = unsafe { <$atomic>::from_ptr(place) };
                word.load(Ordering::Acquire)
            }
        }
    )*};
}

words! {
    i16: AtomicI16, i32: AtomicI32, i64: AtomicI64, isize: AtomicIsize,
    u16: AtomicU16, u32: AtomicU32, u64: AtomicU64, usize: AtomicUsize,
}

/// What is waited for on words of this PE.
pub(crate) struct Wait<T> {
    pub(crate) name: &'static str,
    pub(crate) words: usize,
    pub(crate) count: usize,
    /// An address of the program's with one number per word that is not 0 for those that nobody
    /// waits for; or null.
    pub(crate) status: *const c_int,
    pub(crate) cmp: c_int,
    /// One for all, or one for each.
    pub(crate) values: Vec<T>,
}

/// The stream goes on when all words compare so.
pub(crate) fn wait_on_stream<T: Word>(pe: &Arc<Pe>, wait: Wait<T>, stream: Stream) {
    let Wait {
        name,
        words,
        count,
        status,
        cmp,
        values,
    } = wait;
    if count == 0 {
        return;
    }
    let Some(bytes) = count.checked_mul(size_of::<T>()) else {
        fatal::abort(format_args!("{name}: {count} words"));
    };
    if !words.is_multiple_of(size_of::<T>()) {
        fatal::abort(format_args!("{name}: words at {words:#x}"));
    }
    let offset = pe.heap().symmetric(name, words, bytes);
    let ignored = if status.is_null() {
        &[]
    } else {
        // SAFETY: the caller has as many.
        unsafe { std::slice::from_raw_parts(status, count) }
    };
    let waits = |index: usize| ignored.get(index).is_none_or(|&status| status == 0);
    let indices: Vec<usize> = (0..count).filter(|&index| waits(index)).collect();
    // A comparison that is none is found at once.
    compares(name, &0, cmp, &0);
    enqueue(pe, stream, move |pe| {
        for index in indices {
            let place = pe
                .heap()
                .at(pe.my_pe, offset + index * size_of::<T>(), size_of::<T>());
            let value = values.get(index).or(values.first());
            let so = || {
                // SAFETY: mapped and aligned; threads of this process signal by atomic operations.
                let word = unsafe { T::load(place.cast()) };
                value.is_none_or(|value| compares(name, &word, cmp, value))
            };
            wait_until(so, || format!("{name}: PE {} waits", pe.my_pe));
        }
    });
}
