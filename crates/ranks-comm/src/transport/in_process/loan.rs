//! Memory that a rank lends to the others, which read it where it is.
//!
//! A loan is a lock around an address. Who reads holds the lock shared, for a bounded piece of work
//! at a time and never while code of the program runs; the owner takes the address back under the
//! exclusive lock before its borrow of the memory ends, however it leaves. So no reader is left in
//! memory that is gone, and one that comes later is told that nothing is lent any more.
#![allow(unsafe_code)]

use std::ops::Range;
use std::sync::{PoisonError, RwLock};

use crate::data::raw_slice::RawSlice;

/// The place of a loan. Nothing is lent unless [`lend`](Self::lend) is running.
#[derive(Debug, Default)]
pub(crate) struct Loan(RwLock<Option<RawSlice>>);

/// The loan was taken back, or has no such bytes.
#[derive(Debug)]
pub(crate) struct Withdrawn;

impl Loan {
    /// Lends bytes until `meanwhile` has returned or panicked and every reader is done.
    pub(crate) fn lend<R>(&self, bytes: &[u8], meanwhile: impl FnOnce() -> R) -> R {
        let _lent = Lent(self);
        // SAFETY: `read` alone uses it, and only reads.
        self.set(Some(unsafe { RawSlice::to_read(bytes) }));
        meanwhile()
    }

    /// Reads some of the bytes. What `read` does ends by itself: the owner may be waiting for it.
    ///
    /// # Errors
    /// [`Withdrawn`].
    pub(crate) fn read<R>(
        &self,
        range: Range<usize>,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, Withdrawn> {
        let lent = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let is_inside = |lent: &RawSlice| range.start <= range.end && range.end <= lent.bytes();
        let lent = lent.filter(is_inside).ok_or(Withdrawn)?;
        let part = lent.part(range.start, range.len());
        // SAFETY: the slice in `lend` is borrowed until `Lent` has set nothing, for which it has to
        // wait until the lock that is held here is released.
        Ok(read(unsafe { part.as_bytes() }))
    }

    fn set(&self, lent: Option<RawSlice>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = lent;
    }
}

/// Fills `place` with the bytes from `start` on by `copy`, a piece at a time: the owner may have to
/// wait as long as one takes.
///
/// # Errors
/// Those of `copy`.
pub(super) fn in_pieces<E>(
    mut start: usize,
    place: &mut [u8],
    mut copy: impl FnMut(Range<usize>, &mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    const PIECE: usize = 1 << 20;
    for place in place.chunks_mut(PIECE) {
        let end = start + place.len();
        copy(start..end, place)?;
        start = end;
    }
    Ok(())
}

/// Guard of what is lent; dropping it takes it back.
struct Lent<'a>(&'a Loan);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_part_is_read_while_it_is_lent_and_no_longer() {
        let loan = Loan::default();
        let read = |range| loan.read(range, <[u8]>::to_vec).ok();
        assert_eq!(read(0..0), None);
        loan.lend(b"abc", || {
            assert_eq!(read(0..3).as_deref(), Some(&b"abc"[..]));
            assert_eq!(read(2..3).as_deref(), Some(&b"c"[..]));
            for outside in [2..4, 3..5, 7..9] {
                assert_eq!(read(outside), None);
            }
        });
        assert_eq!(read(0..1), None);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            loan.lend(b"abc", || panic!("out"));
        }));
        assert!(panicked.is_err() && read(0..1).is_none());
    }

    #[test]
    fn the_owner_waits_for_who_reads() {
        let (loan, reading, done) = (
            Loan::default(),
            AtomicBool::new(false),
            AtomicBool::new(false),
        );
        std::thread::scope(|scope| {
            let mut memory = vec![1_u8; 1000];
            loan.lend(&memory, || {
                scope.spawn(|| {
                    let sum = loan.read(0..1000, |bytes| {
                        reading.store(true, Ordering::Release);
                        let sum = bytes.iter().map(|&byte| u32::from(byte)).sum::<u32>();
                        std::thread::yield_now();
                        done.store(true, Ordering::Release);
                        sum
                    });
                    assert_eq!(sum.ok(), Some(1000));
                });
                while !reading.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
            });
            assert!(done.load(Ordering::Acquire));
            memory.fill(2);
        });
    }
}
