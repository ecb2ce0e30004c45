//! The one owner of memory in flight: memory that a library or another rank works on.
//!
//! The rule, which this module alone implements:
//!
//! * Memory is put into an [`InFlight`] before its address is passed on.
//! * An `InFlight` that is dropped leaks its memory. So it does on every path that was not
//!   foreseen: an early return with an error, a panic in code of the program's, a runtime that ends
//!   on a thread that may not ask for completion.
//! * It is given back only against a proof, an [`Over`]: that the operation is complete, or that
//!   nothing was started. A proof is made where a backend says so, and nowhere else.
//! * Between the moment at which a backend gets an address and the moment at which its operation is
//!   stored with its memory, no code of the program's runs. Observers of calls are called outside
//!   of that, and cannot unwind (`call/inflight_calls.rs`).
//!
//! Borrowed memory cannot be leaked: a scope notes that an operation is about to start, and does
//! not return before it is complete (`scope/inner.rs`).
#![allow(unsafe_code)]

use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::sync::{Arc, Mutex, PoisonError};

use crate::result::Result;

/// Proof that nothing works on some memory: the operation on it is complete, or none was started.
#[derive(Debug)]
#[must_use = "it gives memory back"]
pub(crate) struct Over(());

impl Over {
    /// # Safety
    /// Nothing works on the memory that it is shown for.
    pub(crate) const unsafe fn new() -> Self {
        Self(())
    }
}

/// Memory besides the buffers that the library uses while an operation is pending: counts, say, or
/// a callback.
///
/// It stays in its box; memory whose address the library has must not move when the box does.
pub trait Keep: Send {
    /// Called when the library has completed the operation of that C name, once for each start,
    /// before its memory is given back. Does nothing by default.
    ///
    /// # Errors
    /// A failure that the library did not report: the operation has failed then.
    fn ended(&mut self, operation: &'static str) -> Result<()> {
        let _ = operation;
        Ok(())
    }
}

/// Memory on which an operation may be pending. Dropped, it is leaked.
///
/// While it is here the compiler assumes nothing about it, above all not that it has exclusive
/// access to what it owns, as it would for a `Box` or a `&mut` that is moved (`MaybeDangling`, RFC
/// 3336).
#[must_use = "dropped, it is kept for ever"]
pub struct InFlight<M>(MaybeUninit<M>);

impl<M> InFlight<M> {
    /// Wraps memory on which nothing was started.
    pub fn new(memory: M) -> Self {
        Self(MaybeUninit::new(memory))
    }

    /// Wraps memory and starts an operation on it. With an error nothing was started, and the
    /// memory is freed.
    #[inline(always)]
    pub(crate) fn begun<R>(
        memory: M,
        begin: impl FnOnce(&mut M) -> Result<R>,
    ) -> Result<(Self, R)> {
        let mut kept = Self::new(memory);
        // SAFETY: nothing was begun on it yet, nor is with an error.
        let nothing = unsafe { Over::new() };
        match begin(kept.get_mut(&nothing)) {
            Ok(begun) => Ok((kept, begun)),
            Err(error) => {
                drop(kept.give_back(nothing));
                Err(error)
            }
        }
    }

    /// The memory, while nothing works on it.
    pub(crate) fn get_mut(&mut self, _: &Over) -> &mut M {
        // SAFETY: it is there until it is given back.
        unsafe { self.0.assume_init_mut() }
    }

    /// The memory, on which nothing works any more.
    pub(crate) fn give_back(self, _: Over) -> M {
        // SAFETY: it was there, and is not any more.
        unsafe { self.0.assume_init() }
    }

    /// Erases the type; the memory is freed when nothing works on it.
    pub(crate) fn into_keep_alive(self) -> KeepAlive
    where
        M: Send + 'static,
    {
        KeepAlive(Box::new(self))
    }
}

impl<M> fmt::Debug for InFlight<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight").finish_non_exhaustive()
    }
}

impl InFlight<Box<dyn Keep>> {
    /// Adds work to be done at completion, before that of the kept value.
    pub fn after(self, first: Box<dyn Keep>) -> Self {
        // SAFETY: it was there; it is only moved, and put away again in the next line.
        let second = unsafe { self.0.assume_init() };
        Self::new(Box::new(Both(first, second)))
    }
}

/// The work to be done at the completion of an operation, in that order.
struct Both(Box<dyn Keep>, Box<dyn Keep>);

impl Keep for Both {
    fn ended(&mut self, operation: &'static str) -> Result<()> {
        let first = self.0.ended(operation);
        self.1.ended(operation).and(first)
    }
}

/// Memory of any type, on which an operation is pending that nobody waits for any more. Dropped, it
/// is leaked.
#[must_use = "dropped, it is kept for ever"]
pub(crate) struct KeepAlive(Box<dyn Held + Send>);

trait Held {
    fn free(self: Box<Self>, over: Over);
}

impl<M> Held for InFlight<M> {
    fn free(self: Box<Self>, over: Over) {
        drop(self.give_back(over));
    }
}

impl KeepAlive {
    /// Frees it: nothing works on it any more.
    pub(crate) fn free(self, over: Over) {
        self.0.free(over);
    }

    /// Splits it between two operations: it is freed when both are complete.
    pub(crate) fn for_both(self) -> [Self; 2] {
        let one = Arc::new(Mutex::new(self));
        [Arc::clone(&one), one].map(|half| Self(Box::new(Half(ManuallyDrop::new(half)))))
    }
}

/// Memory that two operations work on. A half that is dropped without a proof counts as pending.
struct Half(ManuallyDrop<Arc<Mutex<KeepAlive>>>);

impl Held for Half {
    fn free(self: Box<Self>, over: Over) {
        if let Some(last) = Arc::into_inner(ManuallyDrop::into_inner(self.0)) {
            let memory = last.into_inner().unwrap_or_else(PoisonError::into_inner);
            memory.free(over);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{Error, ErrorKind};

    fn over() -> Over {
        // SAFETY: nothing is ever begun here.
        unsafe { Over::new() }
    }

    fn counted() -> (Arc<()>, Arc<()>) {
        let one = Arc::new(());
        (Arc::clone(&one), one)
    }

    #[test]
    fn memory_is_freed_against_a_proof_alone() {
        let (memory, seen) = counted();
        drop(InFlight::new(Arc::clone(&memory)));
        drop(InFlight::new(Arc::clone(&memory)).into_keep_alive());
        assert_eq!(Arc::strong_count(&seen), 4, "kept for ever");
        InFlight::new(Arc::clone(&memory))
            .into_keep_alive()
            .free(over());
        drop(InFlight::new(memory).give_back(over()));
        assert_eq!(Arc::strong_count(&seen), 3);
    }

    #[test]
    fn memory_of_two_operations_is_freed_when_both_are_over() {
        let (memory, seen) = counted();
        let [one, other] = InFlight::new(memory).into_keep_alive().for_both();
        one.free(over());
        assert_eq!(Arc::strong_count(&seen), 2);
        other.free(over());
        assert_eq!(Arc::strong_count(&seen), 1);
        let [one, other] = InFlight::new(Arc::clone(&seen))
            .into_keep_alive()
            .for_both();
        drop(one);
        other.free(over());
        assert_eq!(Arc::strong_count(&seen), 2, "of one nobody knows");
    }

    #[test]
    fn what_was_not_begun_is_freed_and_what_unwinds_is_kept() {
        let (memory, seen) = counted();
        let refused =
            |_: &mut Arc<()>| Err::<(), _>(Error::new(ErrorKind::Rank, "x", "no such rank"));
        assert!(InFlight::begun(Arc::clone(&memory), refused).is_err());
        assert_eq!(Arc::strong_count(&seen), 2);
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let begun = InFlight::begun(memory, |_| -> Result<()> {
                std::panic::resume_unwind(Box::new("after it was begun"))
            });
            drop(begun);
        }));
        assert!(unwound.is_err());
        assert_eq!(Arc::strong_count(&seen), 2);
    }
}
