//! Calls of functions of the program within an operation, with the fast path closed.

use crate::call::callback;
use crate::call::thread_guard::THREAD_GUARD;

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
        callback::count(true);
        let holds = THREAD_GUARD.was_opened();
        if holds {
            THREAD_GUARD.fast_path.hold();
        }
        Self { holds }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        callback::count(false);
        if self.holds {
            THREAD_GUARD.fast_path.release();
        }
    }
}
