//! The end of the process within a test, which would be a pass if its status were 0.

use std::cell::Cell;
use std::io::{self, Write};
use std::sync::{Mutex, Once, PoisonError};

use crate::system;

/// The status of a test binary with a test that has failed.
const FAILED: i32 = 101;

/// The tests that run now.
static RUNNING: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

thread_local! {
    /// The test of which this thread is a rank.
    static OF_RANK: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// A test that runs until this is dropped.
#[derive(Debug)]
pub(super) struct RunningTest(&'static str);

impl RunningTest {
    pub(super) fn new(name: &'static str) -> Self {
        static ONCE: Once = Once::new();
        // Miri has no such function. Without it an exit is one as before.
        ONCE.call_once(|| _ = !cfg!(miri) && system::at_exit(at_exit));
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.push(name);
        Self(name)
    }
}

impl Drop for RunningTest {
    fn drop(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = running.iter().position(|name| *name == self.0) {
            running.remove(at);
        }
    }
}

/// Notes that this thread is a rank of a test, until it ends.
pub(super) fn is_rank_of(name: &'static str) {
    OF_RANK.set(Some(name));
}

/// Ends the process as one with a test that has failed, if any is within a test.
extern "C" fn at_exit() {
    let tests = match OF_RANK.get() {
        Some(name) => name.to_owned(),
        None => {
            let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            running.join(" or ")
        }
    };
    if tests.is_empty() {
        return;
    }
    let told = format!(
        "\n{tests} failed in process: it has ended the process, by exit or abort; tests that follow have not run\n"
    );
    // Not by a macro, whose output libtest keeps for the end of a test.
    let _ = io::stderr().write_all(told.as_bytes());
    system::end(FAILED);
}
