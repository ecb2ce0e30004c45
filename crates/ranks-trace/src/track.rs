//! Communicators of libraries that number their calls here.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::call::{Call, Comm, Facts, Home, this_thread};
use crate::observer::{self, Failure};

thread_local! {
    /// The rank that this thread is.
    pub(crate) static HERE: Cell<Home> = const { Cell::new(Home::PROCESS) };
}

/// A communicator whose calls have no other record: one of NCCL, a symmetric heap of NVSHMEM.
#[derive(Debug)]
pub struct Track {
    home: Home,
    backend: &'static str,
    id: u64,
    rank: usize,
    size: usize,
    name: Mutex<String>,
    calls: AtomicU64,
}

impl Track {
    /// A communicator of the rank that this thread is, under that name.
    #[must_use]
    pub fn new(backend: &'static str, name: &str, rank: usize, size: usize) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            home: HERE.get(),
            backend,
            // The ids of communicators of MPI are digests, which are not as small.
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            rank,
            size,
            name: Mutex::new(name.to_owned()),
            calls: AtomicU64::new(0),
        }
    }

    /// Makes a call, and tells the observers of it if there are any; `failure` is the kind of an
    /// error.
    #[inline]
    pub fn call<R, E>(
        &self,
        facts: impl FnOnce() -> Facts,
        failure: impl FnOnce(&E) -> Failure,
        call: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        if !observer::is_observed() {
            return call();
        }
        let observed = Observed(self.begin(facts()), None);
        observer::begun(&observed.0);
        let result = call();
        observed.end(result.as_ref().err().map(failure));
        result
    }

    fn begin(&self, facts: Facts) -> Call<'_> {
        Call {
            comm: Comm {
                home: self.home,
                backend: self.backend,
                id: self.id,
                rank: self.rank,
                size: self.size,
                world_ranks: &[],
                name: &self.name,
            },
            facts,
            number: Some(self.calls.fetch_add(1, Ordering::Relaxed)),
            thread: this_thread(),
            started: Instant::now(),
        }
    }
}

/// A call that the observers are told the end of, in unwinding too.
struct Observed<'a>(Call<'a>, Option<Failure>);

impl Observed<'_> {
    fn end(mut self, failed: Option<Failure>) {
        self.1 = failed;
    }
}

impl Drop for Observed<'_> {
    fn drop(&mut self) {
        observer::ended(&self.0, self.1);
    }
}
