//! Memory of a rank that others write to, each to a part of its own.
//!
//! As with a [loan](super::loan), who writes holds a lock, for a bounded piece of work at a time
//! and never while code of the program runs, and the owner takes the addresses back under the
//! exclusive lock before its borrow of the memory ends. Each part has a mutex besides, so that
//! there is one reference to it at a time.
#![allow(unsafe_code)]

use std::ops::Range;
use std::sync::{Mutex, PoisonError, RwLock};

use super::loan::Withdrawn;
use crate::call::lock::lock;
use crate::data::raw_slice::RawSlice;

/// The parts of what a rank has others write to. There is none unless [`lend`](Self::lend) is
/// running.
#[derive(Debug, Default)]
pub(crate) struct Places(RwLock<Vec<Mutex<RawSlice>>>);

impl Places {
    /// Lends `parts`, which others find by their index, until `meanwhile` has returned or panicked
    /// and nobody works on any of them.
    pub(crate) fn lend<'a, R>(
        &self,
        parts: impl Iterator<Item = &'a mut [u8]>,
        meanwhile: impl FnOnce() -> R,
    ) -> R {
        let _lent = Lent(self);
        // SAFETY: borrowed for `'a`, which is longer than this call; `Lent` ends all use before.
        let parts = parts.map(|part| Mutex::new(unsafe { RawSlice::of(part) }));
        self.set(parts.collect());
        meanwhile()
    }

    /// Works on some bytes of a part. What `work` does ends by itself: the owner may be waiting for
    /// it.
    ///
    /// # Errors
    /// [`Withdrawn`].
    pub(crate) fn work<R>(
        &self,
        part: usize,
        range: Range<usize>,
        work: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, Withdrawn> {
        let parts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let part = lock(parts.get(part).ok_or(Withdrawn)?);
        if range.start > range.end || range.end > part.bytes() {
            return Err(Withdrawn);
        }
        let part = part.part(range.start, range.len());
        // SAFETY: a slice in `lend` is borrowed until `Lent` has set nothing, for which it has to
        // wait until the lock that is held here is released; the mutex that is held keeps others
        // from it.
        Ok(work(unsafe { part.as_bytes_mut() }))
    }

    fn set(&self, parts: Vec<Mutex<RawSlice>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = parts;
    }
}

/// Guard of what is lent; dropping it takes it back.
struct Lent<'a>(&'a Places);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.set(Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_part_was_lent_to_be_written_while_it_is_there_and_no_longer() {
        let places = Places::default();
        let write = |part, range| places.work(part, range, |bytes| bytes.fill(9)).is_ok();
        let mut memory = [1, 2, 3, 4, 5];
        assert!(!write(0, 0..0));
        let (one, other) = memory.split_at_mut(3);
        places.lend([one, other].into_iter(), || {
            assert!(write(0, 1..3) && write(1, 0..1) && write(1, 2..2));
            for (part, range) in [(0, 0..4), (1, 1..3), (2, 0..0)] {
                assert!(!write(part, range));
            }
        });
        assert_eq!(memory, [1, 9, 9, 9, 5]);
        assert!(!write(0, 0..1));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            places.lend([&mut memory[..]].into_iter(), || panic!("out"));
        }));
        assert!(panicked.is_err() && !write(0, 0..1));
    }

    #[test]
    fn memory_that_was_lent_is_back_when_who_writes_is_done() {
        let (places, writing, done) = (
            Places::default(),
            AtomicBool::new(false),
            AtomicBool::new(false),
        );
        let mut memory = vec![1_u8; 1000];
        std::thread::scope(|scope| {
            places.lend([&mut memory[..]].into_iter(), || {
                scope.spawn(|| {
                    let written = places.work(0, 0..1000, |bytes| {
                        writing.store(true, Ordering::Release);
                        std::thread::yield_now();
                        bytes.fill(7);
                        done.store(true, Ordering::Release);
                    });
                    assert!(written.is_ok());
                });
                while !writing.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
            });
            assert!(done.load(Ordering::Acquire));
            assert!(memory.iter().all(|&byte| byte == 7));
        });
    }
}
