//! Observation of a rank's calls: statistics (`RANKS_STATS`), a timeline (`RANKS_TIMELINE`) and
//! spans of `tracing`.
//!
//! A library that makes calls for ranks tells of each of them: [`begun`] and [`ended`], or
//! [`Track::call`], if [`is_observed`] says that anybody asks. Data belongs to a rank, of which an
//! in-process world has several ([`Home`]). When communication ends it becomes one table
//! ([`publish`]) and a file of each rank ([`end`]).
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

mod call;
mod clock;
mod collector;
mod host;
mod observer;
pub mod own_file;
#[cfg(feature = "tracing")]
mod spans;
mod statistics;
mod timeline;
mod track;
mod wanted;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use call::{Call, Comm, Facts, Home, this_thread};
pub use clock::{Clock, Reading};
use collector::Collector;
pub use collector::Who;
pub use host::host;
pub use observer::{Failure, begun, contained, ended, is_observed, the_process_ends, unobserved};
#[cfg(feature = "tracing")]
pub use spans::look_for_subscriber;
pub use statistics::{Job, OperationStatistics, Part, Statistics, printable};
pub use track::Track;
use wanted::{Target, Wanted};

/// Reads the settings, before there are ranks whose calls could be observed.
pub fn start() {
    Collector::start();
    #[cfg(feature = "tracing")]
    look_for_subscriber();
}

/// Tells a subscriber of `tracing` which library was opened, once for each: an event of the level
/// INFO, with the target `ranks::load`.
pub fn opened(library: &str, path: &Path) {
    #[cfg(feature = "tracing")]
    spans::opened(library, path);
    #[cfg(not(feature = "tracing"))]
    let _ = (library, path);
}

/// The data that ranks have to gather.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Together {
    /// Statistics.
    pub statistics: bool,
    /// Clocks, of which a timeline needs all.
    pub clocks: bool,
}

/// The data that this process asks for; `None` if nothing.
pub fn together() -> Option<Together> {
    let wanted = &Collector::get()?.wanted;
    Some(Together {
        statistics: wanted.statistics.is_some(),
        clocks: wanted.timeline.is_some(),
    })
}

/// The file that `RANKS_STATS` names, if it names one.
#[must_use]
pub fn statistics_file() -> Option<PathBuf> {
    match Wanted::of_environment().statistics {
        Some(Target::File(file)) => Some(file),
        _ => None,
    }
}

/// A number for a job that starts now.
pub fn new_job() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(1, |now| u64::try_from(now.as_nanos()).unwrap_or(1))
}

/// The local time in nanoseconds, as in timelines.
pub fn now() -> i64 {
    Collector::get().map_or(0, |collector| collector.now())
}

/// Registers a rank, which is this thread's from now on, with a first sample of its clock.
pub fn begin(home: Home, who: Who, clock: Clock) {
    track::HERE.set(home);
    if let Some(collector) = Collector::get() {
        collector.begin(home, who, clock);
    }
}

/// Records a second clock sample of the rank, for drift correction.
pub fn look_again(home: Home, last: Option<Reading>) {
    if let Some(collector) = Collector::get() {
        collector.with(home, |kept| kept.clock.last = last);
    }
}

/// The rank's part of the statistics.
pub fn part(home: Home) -> Option<Part> {
    Collector::get()?.with(home, |kept| kept.part())
}

/// Writes the timeline of a rank that makes no more calls, and forgets it.
pub fn end(home: Home) {
    if let Some(collector) = Collector::get()
        && let Some(kept) = collector.take(home)
    {
        collector.write(&kept.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Writes the statistics of the job to their destination.
pub fn publish(job: &Job) {
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
pub fn end_of_world(world: u64) {
    let Some(collector) = Collector::get() else {
        return;
    };
    let mut homes = collector.homes();
    homes.retain(|home| home.world == world);
    let first = homes.first();
    let Some(who) = first.and_then(|&home| collector.with(home, |kept| kept.who.clone())) else {
        return;
    };
    let mut ranks = Part::default();
    for rank in 0..who.size {
        let home = Home { world, rank };
        match part(home) {
            Some(part) => ranks.add(part),
            None => ranks.miss(rank..=rank, "it did not begin"),
        }
        end(home);
    }
    publish(&Job::new(who.size, &who.library, ranks));
}

/// The statistics of a rank so far, on one communicator or on all; empty if nothing is kept.
#[must_use]
pub fn statistics(home: Home, communicator: Option<u64>) -> Statistics {
    let kept = Collector::get()
        .and_then(|collector| collector.with(home, |kept| kept.statistics(communicator)));
    kept.unwrap_or_else(|| Statistics::new(Vec::new(), Duration::ZERO))
}

#[cfg(test)]
#[global_allocator]
static COUNTING: ranks_scale::Counting = ranks_scale::Counting;
