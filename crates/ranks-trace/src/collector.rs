//! The data about the calls of each rank of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::call::{Call, Comm, Home};
use crate::clock::Clock;
use crate::observer::{self, Failure};
use crate::statistics::{OperationStatistics, Part, Statistics, Table, sizes};
use crate::timeline::{self, Event, Events, Member, Whose};
use crate::wanted::Wanted;

/// The collector of a process, made once it is known that anything is wanted.
pub(crate) struct Collector {
    pub(crate) wanted: Wanted,
    /// The origin of times.
    origin: Instant,
    ranks: RwLock<HashMap<Home, Arc<Mutex<Collected>>>>,
}

/// A rank, as reports name it.
#[derive(Debug, Clone)]
pub struct Who {
    /// Its number.
    pub rank: usize,
    /// The number of ranks.
    pub size: usize,
    /// The library, or `in process`.
    pub library: String,
    /// Equal on all ranks of a job, and different for each job; 0 if they could not agree.
    pub job: u64,
}

/// The data of a rank.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) who: Who,
    since: Instant,
    table: Table,
    events: Events,
    /// The communicators of its calls, in the order of their numbers.
    members: Vec<Member>,
    pub(crate) clock: Clock,
}

static COLLECTOR: OnceLock<Option<Collector>> = OnceLock::new();

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Collector {
    /// Starts the collector of this process, if anything is wanted.
    pub(crate) fn start() {
        COLLECTOR.get_or_init(|| {
            let wanted = Wanted::of_environment();
            if wanted.is_nothing() {
                return None;
            }
            observer::observe();
            Some(Self {
                wanted,
                origin: Instant::now(),
                ranks: RwLock::default(),
            })
        });
    }

    /// The collector, if it was started.
    pub(crate) fn get() -> Option<&'static Self> {
        COLLECTOR.get()?.as_ref()
    }

    /// The local time, in nanoseconds.
    pub(crate) fn now(&self) -> i64 {
        self.at(Instant::now())
    }

    fn at(&self, moment: Instant) -> i64 {
        let since = moment.saturating_duration_since(self.origin);
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    }

    /// Starts to collect the calls of a rank.
    pub(crate) fn begin(&self, home: Home, who: Who, clock: Clock) {
        let kept = Arc::new(Mutex::new(Collected {
            who,
            since: Instant::now(),
            table: Table::default(),
            events: Events::default(),
            members: Vec::new(),
            clock,
        }));
        let mut ranks = self.ranks.write().unwrap_or_else(PoisonError::into_inner);
        ranks.insert(home, kept);
    }

    /// The data of a registered rank.
    fn of(&self, home: Home) -> Option<Arc<Mutex<Collected>>> {
        let ranks = self.ranks.read().unwrap_or_else(PoisonError::into_inner);
        ranks.get(&home).map(Arc::clone)
    }

    /// Calls `look` with the data of a registered rank.
    pub(crate) fn with<R>(&self, home: Home, look: impl FnOnce(&mut Collected) -> R) -> Option<R> {
        let kept = self.of(home)?;
        let mut kept = lock(&kept);
        Some(look(&mut kept))
    }

    /// Takes out the data of a rank.
    pub(crate) fn take(&self, home: Home) -> Option<Arc<Mutex<Collected>>> {
        let mut ranks = self.ranks.write().unwrap_or_else(PoisonError::into_inner);
        ranks.remove(&home)
    }

    /// All registered ranks.
    pub(crate) fn homes(&self) -> Vec<Home> {
        let ranks = self.ranks.read().unwrap_or_else(PoisonError::into_inner);
        ranks.keys().copied().collect()
    }

    /// Writes the timeline of a rank, if one is wanted; reports a failure on standard error.
    pub(crate) fn write(&self, kept: &Collected) {
        let Some(folder) = &self.wanted.timeline else {
            return;
        };
        let whose = Whose {
            who: &kept.who,
            host: &crate::host(),
            clock: kept.clock,
            communicators: &kept.members,
        };
        if let Err(error) = timeline::write(folder, &whose, &kept.events) {
            let (folder, rank) = (folder.display(), kept.who.rank);
            eprintln!("ranks: the timeline of rank {rank} is not written to {folder}: {error}");
        }
    }

    /// Counts a call that has so many calls around it.
    pub(crate) fn ended(
        &self,
        call: &Call<'_>,
        around: usize,
        took: Duration,
        failed: Option<Failure>,
    ) {
        let Call { comm, facts, .. } = call;
        let Some(kept) = self.of(comm.home) else {
            return;
        };
        let mut kept = lock(&kept);
        kept.meet(comm, facts.operation);
        if around == 0 {
            let which = (comm.id, facts.operation);
            kept.table.count(which, facts.bytes, took, failed.is_some());
        }
        if self.wanted.timeline.is_some() {
            let begun = self.at(call.started);
            let took = i64::try_from(took.as_nanos()).unwrap_or(i64::MAX);
            kept.events.push(Event {
                facts: *facts,
                communicator: comm.id,
                number: call.number.unwrap_or_default(),
                thread: call.thread,
                begun,
                ended: begun.saturating_add(took),
                error: failed,
            });
        }
    }

    /// Writes the timelines of all registered ranks.
    pub(crate) fn write_all(&self) {
        for home in self.homes() {
            self.with(home, |kept| self.write(kept));
        }
    }
}

impl Collected {
    /// Registers the communicator of a call, with its name at the first call, and as it is set
    /// later.
    fn meet(&mut self, comm: &Comm<'_>, operation: &str) {
        let named = operation == "MPI_Comm_set_name";
        match self.place(comm.id) {
            Ok(at) if named => self.members[at].name = comm.label(),
            Ok(_) => {}
            Err(at) => {
                let member = Member {
                    id: comm.id,
                    name: comm.label(),
                    rank: comm.rank,
                    world_ranks: comm.world_ranks.to_vec(),
                };
                self.members.insert(at, member);
            }
        }
    }

    /// The place of a communicator among the members, or that where it belongs.
    fn place(&self, communicator: u64) -> Result<usize, usize> {
        self.members
            .binary_search_by_key(&communicator, |member| member.id)
    }

    fn name(&self, communicator: u64) -> String {
        self.place(communicator)
            .map(|at| self.members[at].name.clone())
            .unwrap_or_default()
    }

    /// The statistics of all communicators, or of one.
    pub(crate) fn statistics(&self, of: Option<u64>) -> Statistics {
        let lines = self.table.sums.iter();
        let lines = lines.filter(|(key, _)| of.is_none_or(|one| one == key.communicator));
        let lines = lines.map(|(key, sum)| OperationStatistics {
            operation: key.operation,
            communicator: self.name(key.communicator),
            sizes: sizes(key.class),
            calls: sum.calls,
            failed: sum.failed,
            bytes: sum.bytes,
            time: sum.time,
            longest: sum.longest,
        });
        Statistics::new(lines.collect(), self.since.elapsed())
    }

    /// The rank's part of the table of the job.
    pub(crate) fn part(&self) -> Part {
        let lines = self.table.sums.iter();
        let lines = lines.map(|(key, sum)| {
            let name = self.name(key.communicator);
            (key.operation, name, key.class, *sum)
        });
        Part::of_rank(self.who.rank, self.since.elapsed(), lines)
    }
}
