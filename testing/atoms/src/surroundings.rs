//! Stand-ins for the rest that the sources use, which is not looked at.

pub(crate) mod in_process;

use core::sync::atomic::{AtomicU64, Ordering};
use std::cell::Cell;
use std::fmt;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// An error, of which models look at the kind.
#[derive(Debug)]
pub(crate) struct Error(ErrorKind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    Finalized,
    Mismatch,
    PeerFailed,
    Revoked,
    TimedOut,
    WrongThread,
}

impl Error {
    pub(crate) fn new(
        kind: ErrorKind,
        _operation: &'static str,
        _detail: impl fmt::Display,
    ) -> Self {
        Self(kind)
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        self.0
    }
}

pub(crate) mod result {
    pub(crate) use super::{Error, ErrorKind, Result};
}

loom::thread_local! {
    static ME: Cell<u64> = Cell::new(0);
}

/// The number of this thread.
pub(crate) fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    ME.with(|me| {
        if me.get() == 0 {
            me.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        me.get()
    })
}

/// The number of the job.
pub(crate) fn new_job() -> u64 {
    1
}

/// Nothing is observed.
pub(crate) fn end_of_world(_number: u64) {}

/// A communicator.
pub(crate) struct Communicator;

pub(crate) mod backend {
    use super::Result;

    /// Polls until `look` returns a value.
    pub(crate) fn look<R>(mut look: impl FnMut() -> Result<Option<R>>) -> Result<R> {
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            std::thread::yield_now();
        }
    }
}

pub(crate) mod data {
    pub(crate) mod raw_slice {
        /// The type of an element.
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct Element;
    }
}

pub(crate) mod callback {
    /// No thread is in a function that the library calls.
    pub(crate) fn none_is_under_way(_operation: &'static str) -> super::Result<()> {
        Ok(())
    }
}

pub(crate) mod hold {
    /// Keeps calls in the list of those in flight.
    #[derive(Debug)]
    pub(crate) struct Hold;

    impl Hold {
        pub(crate) fn new() -> Self {
            Self
        }
    }
}

pub(crate) mod inflight_calls {
    pub(crate) trait Threads {
        fn has_ended(&self, rank: usize) -> bool;
    }
}

pub(crate) mod limit {
    use std::time::Duration;

    use super::Result;

    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Limit;

    /// A call with a time limit, of which there is none.
    pub(crate) enum Limited {}

    pub(crate) fn in_time() -> Option<Limited> {
        None
    }

    impl Limited {
        pub(crate) fn left(&self) -> Option<Duration> {
            match *self {}
        }

        pub(crate) fn states(&self) {
            match *self {}
        }

        pub(crate) fn is_late(&self, _states: &()) -> Result<()> {
            match *self {}
        }
    }
}

pub(crate) mod unreceived {
    pub(crate) const IS_TOLD: bool = false;

    impl crate::transport::in_process::world::World {
        pub(crate) fn tell_of_unreceived(&self) {}
    }
}
