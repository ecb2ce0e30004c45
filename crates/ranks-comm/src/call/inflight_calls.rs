//! The calls in flight: lists of the calls that the threads of this process are in, one for each
//! thread.
//!
//! Its users are time limits (`limit`) and observation (`observe`). While there is neither, nothing
//! here is reached: calls of ordinary sizes take the fast path. A [`Hold`](crate::call::hold::Hold)
//! keeps that closed, so that every call passes `Communicator::enter`, which adds it to the list
//! until its [`Held`] is dropped.

mod of_threads;

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use of_threads::ThreadCalls;
use ranks_trace::this_thread;

use crate::call::hold::is_wanted;
use crate::call::limit::Limit;
use crate::call::record::{Call, Class, NONE, Recorder};
use crate::result::ErrorKind;

/// A call that a thread is in, or was in.
#[derive(Debug)]
pub(crate) struct CallInFlight {
    pub(crate) what: Call,
    /// The number of collectives, or other calls, on this communicator before it, if it is
    /// recorded.
    pub(crate) number: Option<u64>,
    /// The recorder of the communicator.
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) thread: u64,
    /// `true` if observers are told of it: it is a call, and not a part of one.
    pub(crate) is_whole: bool,
    pub(crate) started: Instant,
    /// The world, in process.
    pub(crate) world: Option<Arc<dyn Threads>>,
    /// The time limit, if no call is around it, whose limit holds for it too.
    pub(crate) limit: Option<Limit>,
    /// `true` if it was reported as timed out; it has no further effect then.
    pub(crate) is_reported: AtomicBool,
    /// `true` if its own thread knows that it has timed out.
    pub(crate) is_told: AtomicBool,
    /// The operation that it waits for, if that is another one.
    pub(crate) end_of: Mutex<Option<&'static str>>,
}

/// A world of threads.
pub(crate) trait Threads: Send + Sync + Debug {
    /// Returns `true` if that rank has ended.
    fn has_ended(&self, rank: usize) -> bool;
}

/// A communicator, as its calls know it.
pub(crate) trait Callee {
    /// The recorder of its calls.
    fn recorder(&self) -> &Arc<Recorder>;

    /// The time limit of this thread's calls of that operation.
    fn limit(&self, operation: &str) -> Option<Limit>;

    /// The world, in process.
    fn threads(&self) -> Option<Arc<dyn Threads>>;
}

/// The calls of this process, the oldest first.
pub(crate) fn of_this_process() -> Vec<Arc<CallInFlight>> {
    of_threads::all()
}

/// The outermost call of each thread of this process: those that the program has made.
pub(crate) fn of_the_program() -> Vec<Arc<CallInFlight>> {
    let mut calls = of_this_process();
    let mut threads = HashSet::new();
    calls.retain(|call| threads.insert(call.thread));
    calls
}

/// Returns `true` if this thread is in a call.
pub(crate) fn is_within_another() -> bool {
    !ThreadCalls::mine().calls().is_empty()
}

/// The outermost call of this thread that has a limit.
pub(crate) fn limited_here() -> Option<Arc<CallInFlight>> {
    let mine = ThreadCalls::mine();
    let calls = mine.calls();
    calls.iter().find(|call| call.limit.is_some()).cloned()
}

/// The outermost call of this thread.
pub(crate) fn here() -> Option<Arc<CallInFlight>> {
    if !is_wanted() {
        return None;
    }
    ThreadCalls::mine().calls().first().cloned()
}

/// Guard of a call in the list; dropping it ends the call.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) call: Arc<CallInFlight>,
    /// The list that it is in.
    thread: Arc<ThreadCalls>,
    /// The outcome, if it is an error.
    pub(crate) failed: Option<ErrorKind>,
}

impl Held {
    /// Enters a call, with its number if it is recorded, or a part of one that is recorded itself.
    #[cold]
    #[inline(never)]
    pub(crate) fn enter(on: &impl Callee, call: Call, number: Option<u64>, whole: bool) -> Self {
        let outermost = !is_within_another();
        Self::hold(CallInFlight {
            number,
            is_whole: whole,
            limit: on.limit(call.operation()).filter(|_| outermost),
            world: on.threads(),
            ..CallInFlight::new(call, Arc::clone(on.recorder()))
        })
    }

    /// Enters something that is no operation on a communicator, with this limit; observers are not
    /// told.
    pub(crate) fn at_the_end(
        operation: &'static str,
        recorder: Arc<Recorder>,
        limit: Option<Limit>,
    ) -> Self {
        Self::hold(CallInFlight {
            limit,
            ..CallInFlight::new(operation.into(), recorder)
        })
    }

    fn hold(call: CallInFlight) -> Self {
        let (call, thread) = (Arc::new(call), ThreadCalls::mine());
        thread.calls().push(Arc::clone(&call));
        if call.is_whole {
            ranks_trace::begun(&call.traced());
        }
        Self {
            call,
            thread,
            failed: None,
        }
    }
}

impl Drop for Held {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        let is_other = |other: &Arc<CallInFlight>| !Arc::ptr_eq(other, &self.call);
        self.thread.calls().retain(is_other);
        if self.call.is_whole {
            ranks_trace::ended(&self.call.traced(), self.failed.map(ErrorKind::text));
        }
    }
}

impl CallInFlight {
    fn new(what: Call, recorder: Arc<Recorder>) -> Self {
        Self {
            what,
            number: None,
            recorder,
            thread: this_thread(),
            is_whole: false,
            started: Instant::now(),
            world: None,
            limit: None,
            is_reported: AtomicBool::new(false),
            is_told: AtomicBool::new(false),
            end_of: Mutex::new(None),
        }
    }

    /// The call, as observers see it.
    fn traced(&self) -> ranks_trace::Call<'_> {
        ranks_trace::Call {
            comm: self.recorder.traced(),
            facts: self.what.facts(),
            number: self.number,
            thread: self.thread,
            started: self.started,
        }
    }

    /// Returns `true` if it is still in the list.
    pub(crate) fn goes_on(&self) -> bool {
        let all = of_this_process();
        all.iter().any(|one| std::ptr::eq(&**one, self))
    }

    /// The rank of the communicator that it receives from, sends to or accesses.
    pub(crate) fn peer(&self) -> Option<usize> {
        let peer = usize::try_from(self.what.peer).ok();
        peer.filter(|_| self.what.kind.class != Class::Collective)
    }

    /// That rank, if the call waits for it. The target of an access, which has no tag, may wait for
    /// another rank's lock.
    pub(crate) fn waits_for(&self) -> Option<usize> {
        self.peer().filter(|_| self.what.tag != NONE)
    }
}
