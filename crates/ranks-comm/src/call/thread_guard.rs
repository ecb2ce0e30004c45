//! Checks before every operation: whether this thread may communicate now.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use ranks_trace::this_thread;

use crate::call::callback;
use crate::call::fast_path::FastPath;
use crate::call::inside::{Alone, Inside};
use crate::call::thread_level::ThreadLevel;
use crate::result::{Error, ErrorKind, Result};

const FINALIZED: u8 = 1;
const MAIN_ONLY: u8 = 2;
const ONE_AT_A_TIME: u8 = 4;
const ONE_THREAD: u8 = 8;

/// The checks before every call of MPI in this process.
pub(crate) static THREAD_GUARD: ThreadGuard = ThreadGuard::new();

/// The checks before every operation: none at `MPI_THREAD_MULTIPLE` while the runtime lives.
///
/// [`ThreadGuard::is_open`] is one relaxed load; [`ThreadGuard::enter`] makes the checks, out of
/// line.
#[derive(Debug)]
pub(crate) struct ThreadGuard {
    flags: AtomicU8,
    pub(crate) fast_path: FastPath,
    /// The thread that initialised, by [`this_thread`]; 0 before that.
    main: AtomicU64,
    /// The thread that is inside, at `ONE_AT_A_TIME`.
    inside: Inside,
}

impl ThreadGuard {
    /// A gate that is open to every thread.
    pub(crate) const fn new() -> Self {
        Self {
            flags: AtomicU8::new(0),
            fast_path: FastPath::new(),
            main: AtomicU64::new(0),
            inside: Inside::new(),
        }
    }

    /// Makes this thread the initialising one, and checks calls as `level` demands.
    pub(crate) fn set_level(&self, level: ThreadLevel) {
        self.main.store(this_thread(), Ordering::Relaxed);
        let flag = match level {
            ThreadLevel::Single => MAIN_ONLY | ONE_THREAD,
            ThreadLevel::Funneled => MAIN_ONLY,
            ThreadLevel::Serialized => ONE_AT_A_TIME,
            ThreadLevel::Multiple => 0,
        };
        self.flags.store(flag, Ordering::Release);
    }

    /// Makes every later operation an [`ErrorKind::Finalized`].
    pub(crate) fn close(&self) {
        self.fast_path.close();
        self.flags.fetch_or(FINALIZED, Ordering::Release);
    }

    /// Returns `true` after [`ThreadGuard::close`].
    pub(crate) fn is_closed(&self) -> bool {
        self.flags.load(Ordering::Acquire) & FINALIZED != 0
    }

    /// The level that was set.
    pub(crate) fn level(&self) -> ThreadLevel {
        let flags = self.flags.load(Ordering::Acquire);
        if flags & ONE_THREAD != 0 {
            ThreadLevel::Single
        } else if flags & MAIN_ONLY != 0 {
            ThreadLevel::Funneled
        } else if flags & ONE_AT_A_TIME != 0 {
            ThreadLevel::Serialized
        } else {
            ThreadLevel::Multiple
        }
    }

    /// Returns `true` once a thread has initialised.
    pub(crate) fn was_opened(&self) -> bool {
        self.main.load(Ordering::Relaxed) != 0
    }

    /// Returns `true` on the thread that initialised.
    pub(crate) fn is_main(&self) -> bool {
        self.main.load(Ordering::Relaxed) == this_thread()
    }

    /// Returns `true` if an operation needs no further check.
    #[inline(always)]
    #[must_use]
    pub(crate) fn is_open(&self) -> bool {
        self.flags.load(Ordering::Relaxed) == 0
    }

    /// Checks that this thread may do `operation` now; the returned guard must live as long as the
    /// call.
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`] and [`ErrorKind::WrongThread`].
    #[cold]
    #[inline(never)]
    pub(crate) fn enter(&self, operation: &'static str) -> Result<Option<Alone<'_>>> {
        callback::none_is_under_way(operation)?;
        let flags = self.flags.load(Ordering::Acquire);
        if flags & FINALIZED != 0 {
            return Err(Error::new(
                ErrorKind::Finalized,
                operation,
                "the runtime has been finalized; communicate before `finalize` and before `run` returns",
            ));
        }
        if flags & MAIN_ONLY != 0 && !self.is_main() {
            return Err(Error::new(
                ErrorKind::WrongThread,
                operation,
                "called from another thread than the one that initialised, but the thread level is \
                 MPI_THREAD_FUNNELED or lower; ask for ThreadLevel::Multiple",
            ));
        }
        if flags & ONE_AT_A_TIME == 0 {
            return Ok(None);
        }
        let alone = self.inside.guard();
        if alone.is_none() {
            return Err(Error::new(
                ErrorKind::WrongThread,
                operation,
                "called while another thread is inside a call, but the thread level is \
                 MPI_THREAD_SERIALIZED; ask for ThreadLevel::Multiple, or let one call end before the next begins",
            ));
        }
        Ok(alone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_gate_says_so() {
        let gate = ThreadGuard::new();
        gate.set_level(ThreadLevel::Multiple);
        assert!(gate.is_open());
        gate.close();
        assert!(!gate.is_open());
        let error = gate.enter("MPI_Send").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Finalized);
        assert!(error.to_string().starts_with("MPI_Send: "));
    }

    #[test]
    fn a_gate_tells_the_level_that_was_set() {
        let levels = [
            ThreadLevel::Single,
            ThreadLevel::Funneled,
            ThreadLevel::Serialized,
            ThreadLevel::Multiple,
        ];
        for level in levels {
            let gate = ThreadGuard::new();
            gate.set_level(level);
            assert_eq!(gate.level(), level);
        }
    }

    #[test]
    fn funneled_refuses_other_threads() {
        let gate = ThreadGuard::new();
        gate.set_level(ThreadLevel::Funneled);
        drop(gate.enter("MPI_Send").unwrap());
        let elsewhere =
            std::thread::scope(|s| s.spawn(|| gate.enter("MPI_Send").map(drop)).join().unwrap());
        assert_eq!(elsewhere.unwrap_err().kind(), ErrorKind::WrongThread);
    }

    #[test]
    fn serialized_refuses_only_what_overlaps() {
        let gate = ThreadGuard::new();
        gate.set_level(ThreadLevel::Serialized);
        let other = |gate: &ThreadGuard| {
            std::thread::scope(|s| s.spawn(|| gate.enter("x").map(drop)).join().unwrap())
        };
        {
            let _outer = gate.enter("MPI_Send").unwrap();
            let inner = gate.enter("MPI_Recv").unwrap();
            drop(inner);
            assert_eq!(other(&gate).unwrap_err().kind(), ErrorKind::WrongThread);
        }
        other(&gate).unwrap();
    }
}
