//! Functions of the program that a library calls in the midst of an operation: nothing can be communicated from there.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};
use crate::mpi::GATE;

thread_local! {
    /// How many such functions this thread is in.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// Runs what a reduction calls back: communication from there is an error.
///
/// Meanwhile every call of the process is looked at, so that the express ways need not ask.
pub fn calling_back<R>(function: impl FnOnce() -> R) -> R {
    let _inside = Callback::enter();
    function()
}

/// What ends with such a function, be it by a panic.
struct Callback {
    /// Whether the express way is held closed.
    holds: bool,
}

impl Callback {
    fn enter() -> Self {
        INSIDE.set(INSIDE.get() + 1);
        let holds = GATE.was_opened();
        if holds {
            GATE.hold_express();
        }
        Self { holds }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
        if self.holds {
            GATE.release_express();
        }
    }
}

/// Whether this thread is in such a function.
#[inline]
pub(crate) fn is_under_way() -> bool {
    INSIDE.get() != 0
}

/// What is to be done with handles that were dropped in such functions.
static LEFT: Mutex<Vec<Box<dyn FnOnce() + Send>>> = Mutex::new(Vec::new());
/// Whether there may be any.
static IS_LEFT: AtomicBool = AtomicBool::new(false);

/// Has the next call do `end`: what it takes may be held by a thread that waits for the library, in which this one is.
pub(crate) fn later(end: impl FnOnce() + Send + 'static) {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.push(Box::new(end));
    IS_LEFT.store(true, Ordering::Release);
}

/// Does what was left to be done, where no such function is under way on this thread.
#[inline]
pub fn do_what_is_left() {
    if IS_LEFT.load(Ordering::Relaxed) && !is_under_way() {
        do_now();
    }
}

#[cold]
fn do_now() {
    IS_LEFT.store(false, Ordering::Relaxed);
    let left = std::mem::take(&mut *LEFT.lock().unwrap_or_else(PoisonError::into_inner));
    left.into_iter().for_each(|end| end());
}

/// # Errors
/// [`ErrorKind::WrongThread`] if this thread is in such a function.
#[inline]
pub(crate) fn none_is_under_way(operation: &'static str) -> Result<()> {
    if !is_under_way() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::WrongThread,
        operation,
        "called from within the operation of a reduction; the library waits for that operation, so that nothing can be \
         communicated there",
    ))
}
