//! What this process is in while limits are set, and how long it may be.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::report::{Report, State};
use super::{Limit, OnTimeLimit, Origin, limit_of, lock};
use crate::backend::Backend;
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::flight::Pause;
use crate::in_process::world::World;
use crate::mpi::{abort_for_sure, roll_call};
use crate::record::dump::{self, Reason};
use crate::record::{Call, Class, Recorder};
use crate::run::last_words;

/// A call that a thread is in.
#[derive(Debug)]
pub(crate) struct UnderWay {
    pub(super) operation: &'static str,
    pub(super) about: Arc<Recorder>,
    /// How many collectives were before it on the communicator, if it is one.
    pub(super) number: Option<u64>,
    pub(super) started: Instant,
    pub(super) limit: Option<Limit>,
    /// In process, the ranks that there are.
    world: Option<Arc<World>>,
    /// Whether somebody looks at the clock besides the watchdog.
    pub(super) is_looked_at: AtomicBool,
    /// Whether it was said that it is late; nothing more becomes of it then.
    pub(super) is_reported: AtomicBool,
    /// Whether its own thread knows that it is late.
    pub(super) is_told: AtomicBool,
    /// The rank of the world that it waits for, if that is one.
    pub(super) waits_for: Option<usize>,
    /// What is waited for, if that is another operation.
    of: Mutex<Option<&'static str>>,
}

static ALL: Mutex<Vec<Arc<UnderWay>>> = Mutex::new(Vec::new());

thread_local! {
    /// What this thread is in: the outermost call.
    static CURRENT: RefCell<Option<Arc<UnderWay>>> = const { RefCell::new(None) };
}

/// That a thread is in a call; leaving is dropping it.
#[derive(Debug)]
pub(crate) struct Held(Arc<UnderWay>);

impl Drop for Held {
    fn drop(&mut self) {
        // One that was made on another thread is not this one's.
        let _ = CURRENT.try_with(|current| {
            let mut current = current.borrow_mut();
            if current
                .as_ref()
                .is_some_and(|current| Arc::ptr_eq(current, &self.0))
            {
                *current = None;
            }
        });
        lock(&ALL).retain(|other| !Arc::ptr_eq(other, &self.0));
    }
}

impl Held {
    /// What becomes of it at the limit.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`].
    pub(crate) fn is_late(&self) -> Result<()> {
        self.0.is_looked_at.store(true, Ordering::Relaxed);
        self.0.is_late(&self.0.states())
    }
}

/// Remembers that this thread is in a call, unless that is part of another one.
#[cold]
#[inline(never)]
pub(crate) fn enter(comm: &Communicator, call: Call) -> Option<Held> {
    if CURRENT.with_borrow(Option::is_some) {
        return None;
    }
    let about = Arc::clone(comm.recorder());
    let ring = about
        .ring_of(&call)
        .filter(|_| call.kind.class == Class::Collective);
    let number = ring.map(|ring| ring.begun().saturating_sub(1));
    let peer = usize::try_from(call.peer).ok();
    let peer = peer.filter(|_| call.kind.class == Class::Message);
    let world = match comm.backend() {
        Backend::Mpi(_) => None,
        Backend::InProcess(comm) => Some(Arc::clone(comm.ranks())),
    };
    Some(hold(UnderWay {
        waits_for: peer.map(|rank| about.world_ranks.get(rank).copied().unwrap_or(rank)),
        number,
        world,
        ..UnderWay::new(call.operation(), about, limit_of(comm))
    }))
}

/// The same for what is no operation on a communicator, and may take as long as the job's limit, or as the longest that has
/// passed.
pub(crate) fn at_the_end(operation: &'static str, about: Arc<Recorder>, limit: Limit) -> Held {
    hold(UnderWay::new(operation, about, Some(limit)))
}

fn hold(under_way: UnderWay) -> Held {
    let under_way = Arc::new(under_way);
    CURRENT.set(Some(Arc::clone(&under_way)));
    lock(&ALL).push(Arc::clone(&under_way));
    Held(under_way)
}

/// What this thread is in, if that has a limit.
pub(crate) fn in_time() -> Option<Arc<UnderWay>> {
    if !super::any() {
        return None;
    }
    CURRENT.with_borrow(|current| current.clone().filter(|current| current.limit.is_some()))
}

/// The same if it may end with an error at its limit.
pub(crate) fn may_end() -> Option<Arc<UnderWay>> {
    in_time().filter(|current| {
        current
            .limit
            .is_some_and(|limit| limit.then == OnTimeLimit::Error)
    })
}

/// What the threads of this process are in over MPI, the oldest first.
pub(crate) fn of_this_process() -> Vec<Arc<UnderWay>> {
    let all = lock(&ALL);
    all.iter()
        .filter(|one| one.world.is_none())
        .cloned()
        .collect()
}

/// What this process is in over MPI, as it tells others.
pub(crate) fn own_state() -> State {
    of_this_process()
        .first()
        .map_or(State::Idle, |one| one.state())
}

impl UnderWay {
    fn new(operation: &'static str, about: Arc<Recorder>, limit: Option<Limit>) -> Self {
        Self {
            operation,
            about,
            number: None,
            started: Instant::now(),
            limit,
            world: None,
            is_looked_at: AtomicBool::new(false),
            is_reported: AtomicBool::new(false),
            is_told: AtomicBool::new(false),
            waits_for: None,
            of: Mutex::new(None),
        }
    }

    /// Says that it waits for the end of another operation, if that was begun by itself.
    pub(crate) fn is_end_of(&self, operation: &'static str) {
        if self.operation.starts_with("MPI_Wait") {
            *lock(&self.of) = Some(operation);
        }
    }

    pub(super) fn end_of(&self) -> Option<&'static str> {
        *lock(&self.of)
    }

    fn state(&self) -> State {
        State::Waits(self.operation.to_owned(), self.started.elapsed())
    }

    /// Whether it is still under way.
    pub(super) fn is_under_way(&self) -> bool {
        lock(&ALL).iter().any(|one| std::ptr::eq(&**one, self))
    }

    /// How long it may still take; `None` for ever.
    pub(crate) fn left(&self) -> Option<Duration> {
        let limit = self
            .limit
            .filter(|_| !self.is_reported.load(Ordering::Relaxed))?;
        Some(limit.duration.saturating_sub(self.started.elapsed()))
    }

    /// Looks until there is something.
    ///
    /// # Errors
    /// That of `look`, or [`ErrorKind::TimedOut`].
    pub(crate) fn look<R>(&self, mut look: impl FnMut() -> Result<Option<R>>) -> Result<R> {
        self.is_looked_at.store(true, Ordering::Relaxed);
        let mut pause = Pause::default();
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            if self.left() == Some(Duration::ZERO) {
                let states = self.states();
                // It may have come while the others were asked.
                if let Some(found) = look()? {
                    return Ok(found);
                }
                self.is_late(&states)?;
            }
            pause.rest();
        }
    }

    /// What the other ranks of the communicator are in, by their ranks in the world. Over MPI they are asked, and waited for a
    /// little.
    pub(crate) fn states(&self) -> Vec<(usize, State)> {
        let me = self.about.world_ranks.get(self.about.rank).copied();
        let others = self.about.world_ranks.iter().copied();
        let others: Vec<usize> = others.filter(|&rank| Some(rank) != me).collect();
        let Some(world) = &self.world else {
            return roll_call::ask(&others, &self.state());
        };
        let all = lock(&ALL);
        let state = |rank: usize| {
            let one = all.iter().find(|one| one.is_of(world, rank));
            match one {
                Some(one) => one.state(),
                None if world.has_ended(rank) => State::Ended,
                None => State::Idle,
            }
        };
        others.into_iter().map(|rank| (rank, state(rank))).collect()
    }

    fn is_of(&self, world: &Arc<World>, rank: usize) -> bool {
        let here = self.about.world_ranks.get(self.about.rank) == Some(&rank);
        here && self
            .world
            .as_ref()
            .is_some_and(|other| Arc::ptr_eq(other, world))
    }

    /// Writes what was recorded. At the limit of a communicator or of a call the program knows what it does.
    pub(super) fn dump(&self, limit: Limit, report: &Report<'_>) {
        if matches!(limit.origin, Origin::Environment | Origin::Builder) {
            let rank = self.about.place().0;
            dump::write(Reason::TimeLimit, Some(report), Some(rank));
        }
    }

    /// What becomes of it at the limit, as was chosen.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`].
    #[cold]
    pub(crate) fn is_late(&self, states: &[(usize, State)]) -> Result<()> {
        let Some(limit) = self.limit else {
            return Ok(());
        };
        let report = Report {
            of: self,
            limit,
            states,
        };
        self.dump(limit, &report);
        if self.world.is_none() {
            super::has_passed(limit);
        }
        self.is_told.store(true, Ordering::Relaxed);
        match limit.then {
            OnTimeLimit::Error => Err(Error::with_text(
                ErrorKind::TimedOut,
                self.operation,
                report.to_string(),
            )),
            OnTimeLimit::Warn => {
                self.is_reported.store(true, Ordering::Relaxed);
                eprintln!("ranks: {report}; it goes on");
                Ok(())
            }
            OnTimeLimit::Abort => {
                last_words(format_args!("{report}; the job is aborted"));
                if self.world.is_some() {
                    std::process::exit(super::STATUS);
                }
                abort_for_sure(super::STATUS)
            }
        }
    }
}
