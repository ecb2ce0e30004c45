//! Functions of the program that a library calls within an operation; they must not communicate.

mod deferred;

use std::cell::Cell;

use deferred::Deferred;

use crate::result::{Error, ErrorKind, Result};

thread_local! {
    /// The number of such functions that this thread is in.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// Records that this thread enters such a function, or leaves it.
pub(super) fn count(entered: bool) {
    let inside = INSIDE.get();
    INSIDE.set(if entered { inside + 1 } else { inside - 1 });
}

/// Returns `true` if this thread is in such a function.
#[inline]
pub fn in_callback() -> bool {
    INSIDE.get() != 0
}

/// The work that handles dropped in such functions have left.
static LEFT: Deferred = Deferred::new();

/// Defers `end` to the next call: a lock that it takes may be held by a thread that waits for the
/// library, in which this thread is.
pub(crate) fn later(end: impl FnOnce() + Send + 'static) {
    LEFT.leave(end);
}

/// Does the deferred work, unless this thread is in such a function.
#[inline]
pub fn do_what_is_left() {
    if LEFT.is_any() && !in_callback() {
        LEFT.take().into_iter().for_each(|end| end());
    }
}

/// # Errors
/// [`ErrorKind::WrongThread`] if this thread is in such a function.
#[inline]
pub(crate) fn none_is_under_way(operation: &'static str) -> Result<()> {
    if !in_callback() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::WrongThread,
        operation,
        "called from within the operation of a reduction; the library waits for that operation, so that nothing can be \
         communicated there",
    ))
}
