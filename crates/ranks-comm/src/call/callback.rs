//! Functions of the program that a library calls within an operation; they must not communicate.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::call::thread_guard::THREAD_GUARD;
use crate::result::{Error, ErrorKind, Result};

thread_local! {
    /// The number of such functions that this thread is in.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// Runs a function that a reduction calls back; communication from there is an error.
///
/// Meanwhile the fast path of the whole process is closed, so that it need not ask.
pub fn calling_back<R>(function: impl FnOnce() -> R) -> R {
    let _inside = Callback::enter();
    function()
}

/// Guard of such a function; a panic ends it too.
struct Callback {
    /// `true` if it holds the fast path closed.
    holds: bool,
}

impl Callback {
    fn enter() -> Self {
        INSIDE.set(INSIDE.get() + 1);
        let holds = THREAD_GUARD.was_opened();
        if holds {
            THREAD_GUARD.hold_fast_path();
        }
        Self { holds }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
        if self.holds {
            THREAD_GUARD.release_fast_path();
        }
    }
}

/// Returns `true` if this thread is in such a function.
#[inline]
pub(crate) fn is_under_way() -> bool {
    INSIDE.get() != 0
}

/// The work that handles dropped in such functions have left.
static LEFT: Mutex<Vec<Box<dyn FnOnce() + Send>>> = Mutex::new(Vec::new());
/// `true` if there may be any.
static IS_LEFT: AtomicBool = AtomicBool::new(false);

/// Defers `end` to the next call: a lock that it takes may be held by a thread that waits for the library, in which this thread is.
pub(crate) fn later(end: impl FnOnce() + Send + 'static) {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.push(Box::new(end));
    IS_LEFT.store(true, Ordering::Release);
}

/// Does the deferred work, unless this thread is in such a function.
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
