//! The calls that the threads of this process are in: one list, for all who want to know.
//!
//! Those are time limits (`limit`), and what is kept of calls for a person (`observe`). While there is neither, nothing here is reached:
//! calls of everyday sizes go the express way. A [`Hold`] keeps that way closed, so that every call passes
//! `Communicator::enter`, which puts it into the list until its [`Held`] is dropped.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::backend::Backend;
use crate::communicator::Communicator;
use crate::error::ErrorKind;
use crate::in_process::world::World;
use crate::limit::{self, Limit};
use crate::mpi::GATE;
use crate::record::{Call, Class, Recorder};
use crate::thread_level::this_thread;

/// A call that a thread is in, or was in.
#[derive(Debug)]
pub(crate) struct UnderWay {
    pub(crate) what: Call,
    /// How many collectives, or other calls, of this communicator were before it, if it is recorded.
    pub(crate) number: Option<u64>,
    /// Whose it is.
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) thread: u64,
    /// Whether observers are told of it: of a call, and not of a part of one.
    pub(crate) is_whole: bool,
    /// How many such calls of this thread are around it.
    pub(crate) depth: usize,
    pub(crate) started: Instant,
    /// In process, the ranks that there are.
    pub(crate) world: Option<Arc<World>>,
    /// How long it may take, if no call is around it, whose limit holds for it too.
    pub(crate) limit: Option<Limit>,
    /// Whether somebody looks at the clock besides the watchdog.
    pub(crate) is_looked_at: AtomicBool,
    /// Whether it was said that it is late; nothing more becomes of it then.
    pub(crate) is_reported: AtomicBool,
    /// Whether its own thread knows that it is late.
    pub(crate) is_told: AtomicBool,
    /// What is waited for, if that is another operation.
    pub(crate) end_of: Mutex<Option<&'static str>>,
}

/// Gets to know of calls. It must not call what it observes. A panic of it goes no further than its hook.
pub(crate) trait Observer: Send + Sync {
    /// A call begins, on the thread that makes it.
    fn begun(&self, _call: &UnderWay) {}

    /// It is over, on the same thread.
    fn ended(&self, call: &UnderWay, took: Duration, failed: Option<ErrorKind>);
}

/// How many want to know.
static HOLDS: AtomicUsize = AtomicUsize::new(0);
static OBSERVERS: RwLock<Vec<(Arc<dyn Observer>, Hold)>> = RwLock::new(Vec::new());
/// The oldest first.
static ALL: Mutex<Vec<Arc<UnderWay>>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<Arc<UnderWay>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While it lives, every call is put into the list.
#[derive(Debug)]
pub(crate) struct Hold(());

impl Hold {
    pub(crate) fn new() -> Self {
        HOLDS.fetch_add(1, Ordering::Relaxed);
        GATE.hold_express();
        Self(())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        GATE.release_express();
        HOLDS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether anybody wants to know of calls.
#[inline]
pub(crate) fn is_wanted() -> bool {
    HOLDS.load(Ordering::Relaxed) > 0
}

/// From now on every call is told to this one.
pub(crate) fn tell(observer: Arc<dyn Observer>) {
    let mut observers = OBSERVERS.write().unwrap_or_else(PoisonError::into_inner);
    observers.push((observer, Hold::new()));
}

/// What this process is in, the oldest first.
pub(crate) fn of_this_process() -> Vec<Arc<UnderWay>> {
    all().clone()
}

/// Of what this process is in, those calls that are within no other one of their thread: what the program has called.
pub(crate) fn of_the_program() -> Vec<Arc<UnderWay>> {
    let mut calls = of_this_process();
    let mut threads = HashSet::new();
    calls.retain(|call| threads.insert(call.thread));
    calls
}

/// Whether this thread is in a call.
pub(crate) fn is_within_another() -> bool {
    around().0 > 0
}

/// The outermost of what this thread is in that has a limit.
pub(crate) fn limited_here() -> Option<Arc<UnderWay>> {
    let thread = this_thread();
    let limited = |call: &&Arc<UnderWay>| call.thread == thread && call.limit.is_some();
    all().iter().find(limited).cloned()
}

/// The outermost of what this thread is in.
pub(crate) fn here() -> Option<Arc<UnderWay>> {
    if !is_wanted() {
        return None;
    }
    let thread = this_thread();
    all().iter().find(|call| call.thread == thread).cloned()
}

/// That a thread is in a call; leaving is dropping it.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) call: Arc<UnderWay>,
    failed: Option<ErrorKind>,
}

impl Held {
    /// This thread enters a call, recorded under that number if it is, or the part of one that is recorded itself.
    #[cold]
    #[inline(never)]
    pub(crate) fn enter(comm: &Communicator, call: Call, number: Option<u64>, whole: bool) -> Self {
        let recorder = Arc::clone(comm.recorder());
        let (around, depth) = around();
        let limit = limit::limit_of(comm)
            .or_else(|| limit::of_what_is_not_compared(comm, call.operation()));
        Self::hold(UnderWay {
            number,
            is_whole: whole,
            depth,
            limit: limit.filter(|_| around == 0),
            world: match comm.backend() {
                Backend::Mpi(_) => None,
                Backend::InProcess(comm) => Some(Arc::clone(comm.ranks())),
            },
            ..UnderWay::new(call, recorder)
        })
    }

    /// The same for what is no operation on a communicator, and may take so long; observers are not told.
    pub(crate) fn at_the_end(
        operation: &'static str,
        recorder: Arc<Recorder>,
        limit: Option<Limit>,
    ) -> Self {
        Self::hold(UnderWay {
            limit,
            ..UnderWay::new(operation.into(), recorder)
        })
    }

    fn hold(call: UnderWay) -> Self {
        let call = Arc::new(call);
        all().push(Arc::clone(&call));
        if call.is_whole {
            for_observers(|observer| observer.begun(&call));
        }
        Self { call, failed: None }
    }

    /// How the call went.
    pub(crate) fn note(&mut self, failed: Option<ErrorKind>) {
        self.failed = failed;
    }
}

impl Drop for Held {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        let took = self.call.started.elapsed();
        all().retain(|other| !Arc::ptr_eq(other, &self.call));
        if self.call.is_whole {
            for_observers(|observer| observer.ended(&self.call, took, self.failed));
        }
    }
}

/// How many calls of this thread are under way, and how many of them are whole.
fn around() -> (usize, usize) {
    let thread = this_thread();
    let all = all();
    let here = all.iter().filter(|call| call.thread == thread);
    here.fold((0, 0), |(calls, whole), call| {
        (calls + 1, whole + usize::from(call.is_whole))
    })
}

/// A panic of one of them ends here, after its hook has told of it: they are called while the library has addresses (`in_flight`).
fn for_observers(what: impl Fn(&dyn Observer)) {
    let observers = OBSERVERS.read().unwrap_or_else(PoisonError::into_inner);
    for (observer, _) in observers.iter() {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| what(&**observer))) {
            // What it was thrown with may panic when it goes.
            std::mem::forget(panic);
        }
    }
}

impl UnderWay {
    fn new(what: Call, recorder: Arc<Recorder>) -> Self {
        Self {
            what,
            number: None,
            recorder,
            thread: this_thread(),
            is_whole: false,
            depth: 0,
            started: Instant::now(),
            world: None,
            limit: None,
            is_looked_at: AtomicBool::new(false),
            is_reported: AtomicBool::new(false),
            is_told: AtomicBool::new(false),
            end_of: Mutex::new(None),
        }
    }

    /// Whether it has not ended.
    pub(crate) fn goes_on(&self) -> bool {
        all().iter().any(|one| std::ptr::eq(&**one, self))
    }

    /// The rank of the communicator whose message it waits for, or which takes its own.
    pub(crate) fn peer(&self) -> Option<usize> {
        let peer = usize::try_from(self.what.peer).ok();
        peer.filter(|_| self.what.kind.class == Class::Message)
    }

    /// The rank of the world that this rank of its communicator is, if that is known.
    pub(crate) fn world_rank(&self, rank: usize) -> Option<usize> {
        self.recorder.world_ranks.get(rank).copied()
    }
}
