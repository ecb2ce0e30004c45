//! Which threads may communicate, and what every operation asks before it does.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{self, Held};
use crate::record::watch::{self, Observed};
use crate::record::{Call, Recorder, Ring};

/// How much threading the communication layer must allow; levels are ordered.
///
/// MPI 5.0 §11.2.1 (`MPI_THREAD_SINGLE` to `MPI_THREAD_MULTIPLE`). A call that the level forbids is an
/// [`ErrorKind::WrongThread`], in release builds too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThreadLevel {
    /// Only one thread exists.
    Single,
    /// Only the thread that initialised may communicate.
    Funneled,
    /// Any thread may communicate, but never two at once.
    Serialized,
    /// Any thread may communicate at any time. The default.
    Multiple,
}

impl fmt::Display for ThreadLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "MPI_THREAD_SINGLE",
            Self::Funneled => "MPI_THREAD_FUNNELED",
            Self::Serialized => "MPI_THREAD_SERIALIZED",
            Self::Multiple => "MPI_THREAD_MULTIPLE",
        })
    }
}

const FINALIZED: u8 = 1;
const MAIN_ONLY: u8 = 2;
const ONE_AT_A_TIME: u8 = 4;

/// What stands before every operation: nothing at `MPI_THREAD_MULTIPLE` while the runtime lives, checks otherwise.
///
/// [`Gate::is_open`] is one relaxed load; all that can go wrong is decided in [`Gate::enter`], out of line.
#[derive(Debug)]
pub(crate) struct Gate {
    flags: AtomicU8,
    express: Express,
    /// The thread that initialised, by [`this_thread`]; 0 before that.
    main: AtomicU64,
    /// The thread inside, at `ONE_AT_A_TIME`; 0 if none.
    inside: AtomicU64,
    /// How deep the thread inside has entered; only that thread writes it.
    depth: AtomicU32,
}

impl Gate {
    /// A gate that lets everybody through.
    pub(crate) const fn new() -> Self {
        Self {
            flags: AtomicU8::new(0),
            express: Express::new(),
            main: AtomicU64::new(0),
            inside: AtomicU64::new(0),
            depth: AtomicU32::new(0),
        }
    }

    /// Makes this thread the initialising one, and checks calls as `level` demands.
    pub(crate) fn set_level(&self, level: ThreadLevel) {
        self.main.store(this_thread(), Ordering::Relaxed);
        let flag = match level {
            ThreadLevel::Single | ThreadLevel::Funneled => MAIN_ONLY,
            ThreadLevel::Serialized => ONE_AT_A_TIME,
            ThreadLevel::Multiple => 0,
        };
        self.flags.store(flag, Ordering::Release);
    }

    /// Opens the express way to those who need no further check at `level`. For the one gate of MPI only, since a
    /// thread remembers that it is the initialising one, and not of which gate.
    pub(crate) fn open_express(&'static self, level: ThreadLevel) {
        IS_MAIN.set(true);
        let mut barrier = self.express.barrier();
        barrier.level = Some(level);
        self.express.set(&barrier);
    }

    /// Closes the express way for a while, so that each call is looked at; as often as it is released again.
    pub(crate) fn hold_express(&self) {
        let mut barrier = self.express.barrier();
        barrier.holds += 1;
        self.express.set(&barrier);
    }

    /// Undoes one [`hold_express`](Self::hold_express).
    pub(crate) fn release_express(&self) {
        let mut barrier = self.express.barrier();
        barrier.holds = barrier.holds.saturating_sub(1);
        self.express.set(&barrier);
    }

    /// The express way through this gate.
    pub(crate) fn express(&'static self) -> &'static Express {
        &self.express
    }

    /// From now on every operation is an [`ErrorKind::Finalized`].
    pub(crate) fn close(&self) {
        let mut barrier = self.express.barrier();
        barrier.level = None;
        self.express.set(&barrier);
        drop(barrier);
        self.flags.fetch_or(FINALIZED, Ordering::Release);
    }

    /// Whether [`Gate::close`] has been called.
    pub(crate) fn is_closed(&self) -> bool {
        self.flags.load(Ordering::Acquire) & FINALIZED != 0
    }

    /// The level that was set.
    pub(crate) fn level(&self) -> ThreadLevel {
        let flags = self.flags.load(Ordering::Acquire);
        if flags & MAIN_ONLY != 0 {
            ThreadLevel::Funneled
        } else if flags & ONE_AT_A_TIME != 0 {
            ThreadLevel::Serialized
        } else {
            ThreadLevel::Multiple
        }
    }

    /// Whether this thread is the one that initialised.
    pub(crate) fn is_main(&self) -> bool {
        self.main.load(Ordering::Relaxed) == this_thread()
    }

    /// Whether an operation may go ahead with no further check.
    #[inline(always)]
    #[must_use]
    pub(crate) fn is_open(&self) -> bool {
        self.flags.load(Ordering::Relaxed) == 0
    }

    /// Decides whether this thread may do `operation` now; what it returns must live as long as the call.
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`] and [`ErrorKind::WrongThread`].
    #[cold]
    #[inline(never)]
    pub(crate) fn enter(&self, operation: &'static str) -> Result<Entered<'_>> {
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
            return Ok(Entered::freely());
        }
        let me = this_thread();
        let entered = self
            .inside
            .compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed);
        match entered {
            Ok(_) => {}
            Err(other) if other == me => {}
            Err(_) => {
                return Err(Error::new(
                    ErrorKind::WrongThread,
                    operation,
                    "called while another thread is inside a call, but the thread level is \
                     MPI_THREAD_SERIALIZED; ask for ThreadLevel::Multiple, or let one call end before the next begins",
                ));
            }
        }
        self.depth.fetch_add(1, Ordering::Relaxed);
        let mut entered = Entered::freely();
        entered.serialized = Some(self);
        Ok(entered)
    }
}

/// The way past a [`Gate`] for calls of everyday sizes: one comparison that decides everything.
///
/// It holds how many items a call may move with no other question asked: [`Express::ITEMS`] while it is open, 0 while
/// each call must be looked at, as in a runtime that has ended. What is larger, or nothing at all, takes the way
/// through [`Gate::enter`], which is for everybody.
#[derive(Debug)]
pub(crate) struct Express {
    /// For any thread.
    anybody: AtomicUsize,
    /// For the thread that initialised.
    main: AtomicUsize,
    /// What the two above follow from.
    barrier: Mutex<Barrier>,
}

/// Whether the way is open at all.
#[derive(Debug)]
struct Barrier {
    /// `None` before it is opened, and after it is closed for good.
    level: Option<ThreadLevel>,
    /// How many need it closed.
    holds: usize,
}

/// Never open: for what always needs a closer look.
pub(crate) static NO_EXPRESS: Express = Express::new();

thread_local! {
    /// Whether this thread has initialised MPI.
    static IS_MAIN: Cell<bool> = const { Cell::new(false) };
}

impl Express {
    /// Half of what an `int` can count. A power of two, as [`takes_both`](Self::takes_both) needs.
    const ITEMS: usize = 1 << 30;

    const fn new() -> Self {
        Self {
            anybody: AtomicUsize::new(0),
            main: AtomicUsize::new(0),
            barrier: Mutex::new(Barrier {
                level: None,
                holds: 0,
            }),
        }
    }

    fn barrier(&self) -> MutexGuard<'_, Barrier> {
        self.barrier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, barrier: &Barrier) {
        let (anybody, main) = match barrier.level.filter(|_| barrier.holds == 0) {
            None | Some(ThreadLevel::Serialized) => (0, 0),
            Some(ThreadLevel::Single | ThreadLevel::Funneled) => (0, Self::ITEMS),
            Some(ThreadLevel::Multiple) => (Self::ITEMS, Self::ITEMS),
        };
        self.anybody.store(anybody, Ordering::Relaxed);
        self.main.store(main, Ordering::Relaxed);
    }

    /// Whether this thread may move that many items, which are not 0, with no further check.
    #[inline(always)]
    #[must_use]
    pub(crate) fn takes(&self, items: usize) -> bool {
        // Of 0 items there are now more than anybody may move.
        let less_one = items.wrapping_sub(1);
        less_one < self.anybody.load(Ordering::Relaxed)
            || (less_one < self.main.load(Ordering::Relaxed) && IS_MAIN.get())
    }

    /// The same for two numbers of items.
    #[inline(always)]
    #[must_use]
    pub(crate) fn takes_both(&self, items: usize, others: usize) -> bool {
        self.takes(both_in_one(items, others))
    }
}

/// A number of items that may be moved if and only if both of these may.
///
/// Two numbers are below a power of two, or below 0, if and only if what their bits make together is.
#[inline(always)]
fn both_in_one(items: usize, others: usize) -> usize {
    (items.wrapping_sub(1) | others.wrapping_sub(1)).wrapping_add(1)
}

const _: () = assert!(Express::ITEMS.is_power_of_two());

/// An [`Express`] as one thread may use it: what remains to be asked at each call is one number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lane {
    limit: &'static AtomicUsize,
    /// It holds for the thread that it was made on.
    thread: PhantomData<*const ()>,
}

impl Express {
    /// The way for this thread.
    #[inline(always)]
    pub(crate) fn lane(&'static self) -> Lane {
        // Who has initialised may whatever anybody may.
        let limit = if IS_MAIN.get() {
            &self.main
        } else {
            &self.anybody
        };
        Lane {
            limit,
            thread: PhantomData,
        }
    }
}

impl Lane {
    /// As [`Express::takes`].
    #[inline(always)]
    pub(crate) fn takes(self, items: usize) -> bool {
        items.wrapping_sub(1) < self.limit.load(Ordering::Relaxed)
    }

    /// As [`Express::takes_both`].
    #[inline(always)]
    pub(crate) fn takes_both(self, items: usize, others: usize) -> bool {
        self.takes(both_in_one(items, others))
    }
}

/// Proof that this thread was let in; leaving is dropping it.
#[must_use = "the call is over as soon as this is dropped"]
#[derive(Debug)]
pub struct Entered<'a> {
    serialized: Option<&'a Gate>,
    /// Where it was recorded to begin.
    recorded: Option<&'a Ring>,
    /// What else ends with it, while somebody looks at calls.
    looked_at: Option<Box<LookedAt>>,
}

#[derive(Debug)]
struct LookedAt {
    observed: Option<Observed>,
    /// That it is known what this thread is in, while time limits are set.
    _limited: Option<Held>,
}

impl<'a> Entered<'a> {
    /// Let in with nothing to undo.
    #[inline(always)]
    pub(crate) fn freely() -> Self {
        Self {
            serialized: None,
            recorded: None,
            looked_at: None,
        }
    }

    /// Records the call.
    #[inline]
    pub(crate) fn record(&mut self, recorder: &'a Recorder, call: Call) {
        if let Some(ring) = recorder.ring_of(&call) {
            ring.begin(call);
            self.recorded = Some(ring);
        }
    }

    /// Tells those who observe calls, if it was recorded, and remembers that it is under way while time limits are set.
    #[inline]
    pub(crate) fn look_at(&mut self, comm: &Communicator, call: impl Into<Call>, whole: bool) {
        let observed = whole && watch::is_watched();
        if observed || limit::any() {
            self.look_closely(comm, call.into(), observed);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_closely(&mut self, comm: &Communicator, call: Call, observed: bool) {
        self.looked_at = Some(Box::new(LookedAt {
            observed: observed.then(|| Observed::begin(comm.recorder(), call)),
            _limited: limit::any().then(|| limit::enter(comm, call)).flatten(),
        }));
    }

    /// Tells those who observe calls how this one went.
    #[doc(hidden)]
    #[inline]
    pub fn note<R>(&mut self, result: &Result<R>) {
        if let Some(LookedAt {
            observed: Some(observed),
            ..
        }) = self.looked_at.as_deref_mut()
        {
            observed.note(result.as_ref().err().map(Error::kind));
        }
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(ring) = self.recorded {
            ring.end();
        }
        if let Some(gate) = self.serialized
            && gate.depth.fetch_sub(1, Ordering::Relaxed) == 1
        {
            gate.inside.store(0, Ordering::Release);
        }
    }
}

/// A number for this thread that no other thread of the process ever has; never 0.
pub(crate) fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static ME: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    ME.with(|me| *me)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered() {
        assert!(ThreadLevel::Single < ThreadLevel::Funneled);
        assert!(ThreadLevel::Serialized < ThreadLevel::Multiple);
    }

    #[test]
    fn a_closed_gate_says_so() {
        let gate = Gate::new();
        gate.set_level(ThreadLevel::Multiple);
        assert!(gate.is_open());
        gate.close();
        assert!(!gate.is_open());
        let error = gate.enter("MPI_Send").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Finalized);
        assert!(error.to_string().starts_with("MPI_Send: "));
    }

    #[test]
    fn the_express_way_is_for_the_threads_of_the_level_and_for_everyday_sizes() {
        static MULTIPLE: Gate = Gate::new();
        static FUNNELED: Gate = Gate::new();
        static SERIALIZED: Gate = Gate::new();
        let here = |gate: &'static Gate, items: usize| gate.express().takes(items);
        let elsewhere = |gate, items| {
            std::thread::spawn(move || here(gate, items))
                .join()
                .unwrap()
        };
        assert!(!here(&MULTIPLE, 1), "not yet");
        MULTIPLE.open_express(ThreadLevel::Multiple);
        FUNNELED.open_express(ThreadLevel::Funneled);
        SERIALIZED.open_express(ThreadLevel::Serialized);
        assert!(here(&MULTIPLE, 1) && elsewhere(&MULTIPLE, 1));
        assert!(here(&FUNNELED, 1) && !elsewhere(&FUNNELED, 1));
        assert!(!here(&SERIALIZED, 1) && !elsewhere(&SERIALIZED, 1));
        assert!(here(&MULTIPLE, 1 << 30) && !here(&MULTIPLE, (1 << 30) + 1));
        assert!(!here(&MULTIPLE, 0) && !here(&FUNNELED, 0));
        let both = |items, others| MULTIPLE.express().takes_both(items, others);
        assert!(both(1, 1) && both(1 << 30, 1) && both(3, 1 << 30));
        assert!(!both(0, 1) && !both(1, 0) && !both(1, (1 << 30) + 1) && !both(usize::MAX, 1));
        MULTIPLE.hold_express();
        MULTIPLE.hold_express();
        MULTIPLE.release_express();
        assert!(!here(&MULTIPLE, 1));
        MULTIPLE.release_express();
        assert!(here(&MULTIPLE, 1));
        MULTIPLE.close();
        FUNNELED.close();
        assert!(!here(&MULTIPLE, 1) && !here(&FUNNELED, 1));
    }

    #[test]
    fn funneled_refuses_other_threads() {
        let gate = Gate::new();
        gate.set_level(ThreadLevel::Funneled);
        drop(gate.enter("MPI_Send").unwrap());
        let elsewhere =
            std::thread::scope(|s| s.spawn(|| gate.enter("MPI_Send").map(drop)).join().unwrap());
        assert_eq!(elsewhere.unwrap_err().kind(), ErrorKind::WrongThread);
    }

    #[test]
    fn serialized_refuses_only_what_overlaps() {
        let gate = Gate::new();
        gate.set_level(ThreadLevel::Serialized);
        let other = |gate: &Gate| {
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
