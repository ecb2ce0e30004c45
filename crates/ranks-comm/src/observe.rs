//! Observation of a rank's calls: statistics (`RANKS_STATS`), a timeline (`RANKS_TIMELINE`) and spans of `tracing`.
//!
//! All of them observe the calls in flight (`call/inflight_calls.rs`): without one of them nothing here is reached. Data belongs to a
//! rank, of which an in-process world has several ([`Home`]). When communication ends it becomes one table and a file of
//! each rank: here for ranks that are threads, in `transport/mpi/gather_statistics.rs` for those that are processes.

mod clock;
mod collector;
mod facts;
mod job;
mod part;
#[cfg(feature = "tracing")]
mod spans;
mod statistics;
mod text;
mod timeline;
mod wanted;

use std::fs;
use std::io::Write as _;
use std::sync::PoisonError;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) use clock::{Clock, Reading};
use collector::Collector;
pub(crate) use collector::Who;
pub(crate) use job::Job;
pub(crate) use part::Part;
#[cfg(feature = "tracing")]
pub use spans::look_for_subscriber;
pub use statistics::{OperationStatistics, Statistics};
use wanted::Target;

use crate::call::record::{Home, Recorder};

/// Reads the settings, before there are ranks whose calls could be observed.
pub(crate) fn start() {
    Collector::start();
    #[cfg(feature = "tracing")]
    spans::look_for_subscriber();
}

/// The data that ranks have to gather.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Together {
    pub(crate) statistics: bool,
    pub(crate) clocks: bool,
}

/// The data that this process asks for; `None` if nothing.
pub(crate) fn together() -> Option<Together> {
    let wanted = &Collector::get()?.wanted;
    Some(Together {
        statistics: wanted.statistics.is_some(),
        clocks: wanted.timeline.is_some(),
    })
}

/// A number for a job that starts now.
pub(crate) fn new_job() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(1, |now| u64::try_from(now.as_nanos()).unwrap_or(1))
}

/// The local time in nanoseconds, as in timelines.
pub(crate) fn now() -> i64 {
    Collector::get().map_or(0, |collector| collector.now())
}

/// Registers a rank, with a first sample of its clock.
pub(crate) fn begin(home: Home, who: Who, clock: Clock) {
    if let Some(collector) = Collector::get() {
        collector.begin(home, who, clock);
    }
}

/// Records a second clock sample of the rank, for drift correction.
pub(crate) fn look_again(home: Home, last: Option<Reading>) {
    if let Some(collector) = Collector::get() {
        collector.with(home, |kept| kept.clock.last = last);
    }
}

/// The rank's part of the statistics.
pub(crate) fn part(home: Home) -> Option<Part> {
    Collector::get()?.with(home, |kept| kept.part())
}

/// Writes the timeline of a rank that makes no more calls, and forgets it.
pub(crate) fn end(home: Home) {
    if let Some(collector) = Collector::get()
        && let Some(kept) = collector.take(home)
    {
        collector.write(&kept.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Writes the statistics of the job to their destination.
pub(crate) fn publish(job: &Job) {
    let target = Collector::get().and_then(|collector| collector.wanted.statistics.as_ref());
    match target {
        None => {}
        // In one write, so that nothing comes between. An error here could not be reported.
        Some(Target::Screen) => drop(std::io::stderr().write_all(job.summary().as_bytes())),
        Some(Target::File(path)) => {
            if let Err(error) = fs::write(path, job.report()) {
                let path = path.display();
                eprintln!("ranks: the statistics are not written to {path}: {error}");
            }
        }
    }
}

/// Publishes the statistics of all ranks of an in-process world, which make no more calls; once.
pub(crate) fn end_of_world(world: u64) {
    let Some(collector) = Collector::get() else {
        return;
    };
    let mut homes = collector.homes();
    homes.retain(|home| home.world == world);
    let first = homes.first();
    let Some(who) = first.and_then(|&home| collector.with(home, |kept| kept.who.clone())) else {
        return;
    };
    let mut job = Job::new(who.size, &who.library);
    for rank in 0..who.size {
        let home = Home { world, rank };
        match part(home) {
            Some(part) => job.add(rank, part),
            None => job.miss(rank, "it did not begin"),
        }
        end(home);
    }
    publish(&job);
}

/// The statistics of a rank so far, on one communicator or on all; empty if nothing is kept.
pub(crate) fn statistics(recorder: &Recorder, all: bool) -> Statistics {
    let of = (!all).then_some(recorder.id);
    let kept = Collector::get()
        .and_then(|collector| collector.with(recorder.home, |kept| kept.statistics(of)));
    kept.unwrap_or_else(|| Statistics::new(Vec::new(), Duration::ZERO))
}
