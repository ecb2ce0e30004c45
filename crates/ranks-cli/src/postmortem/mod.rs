//! `ranks postmortem DIR`: one report from the dumps of a job's ranks.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Outcome;
use crate::tell::tell;

mod causes;
mod collectives;
mod dump;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod job;
mod messages;
mod rank_list;
#[cfg(test)]
mod tests;
mod text;
mod waits;

use causes::Cause;
use collectives::Story;
use dump::Dump;
use job::{Job, Unreadable};
use rank_list::RankList;
use waits::Wait;

/// The dumps to read, and the form of the report.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder that RANKS_DUMP named when the job ran: files rank-0.json, rank-1.json and so on.
    folder: PathBuf,
    /// Writes one JSON object.
    #[arg(long)]
    json: bool,
}

/// Returns `true` if there is a dump in the folder.
pub(crate) fn has_dumps(folder: &Path) -> bool {
    job::dumps(folder).is_ok_and(|dumps| !dumps.is_empty())
}

/// The report from all dumps.
#[derive(Debug, Serialize)]
struct Report {
    /// The number of ranks of the job.
    size: usize,
    /// The ways in which ranks ended of themselves: the rest follows from them.
    causes: Vec<Cause>,
    missing: RankList,
    unreadable: Vec<Unreadable>,
    /// The sizes that dumps claim, if they are not the same.
    sizes: Vec<usize>,
    ranks: Vec<Left>,
    communicators: Vec<Story>,
    waits: Vec<Wait>,
    /// A deadlock: ranks each of which waits for the next, and the last for the first.
    deadlock: Vec<usize>,
}

/// The facts about itself that a rank wrote.
#[derive(Debug, Serialize)]
struct Left {
    rank: usize,
    host: String,
    pid: u32,
    reason: String,
    error: Option<String>,
    /// The call that has come back with it.
    failed_in: Option<String>,
}

impl Report {
    fn of(job: Job) -> Report {
        let groups = collectives::groups(&job);
        let causes = causes::causes(&job);
        let mut waits = waits::waits(&job, &groups);
        for wait in &mut waits {
            let in_vain = job.dumps.get(&wait.rank);
            let in_vain = in_vain.is_some_and(Dump::has_waited_in_vain);
            wait.cut_short = !causes.is_empty() && !in_vain;
        }
        let ranks = job.dumps.iter().map(|(&rank, dump)| Left {
            rank,
            host: dump.host.clone(),
            pid: dump.pid,
            reason: dump.reason.clone(),
            error: dump.error.clone(),
            failed_in: dump.failed_in_what(),
        });
        Report {
            size: job.size,
            missing: job.missing(),
            ranks: ranks.collect(),
            communicators: groups.iter().map(|group| group.story(&job)).collect(),
            deadlock: waits::cycle(&waits).unwrap_or_default(),
            causes,
            waits,
            unreadable: job.unreadable,
            sizes: job.sizes,
        }
    }

    /// Returns `true` if nothing was found in which ranks differ, and nothing is lacking.
    fn is_well(&self) -> bool {
        let differ = |story: &Story| story.difference.is_some();
        !self.ranks.is_empty()
            && self.causes.is_empty()
            && self.missing.is_empty()
            && self.unreadable.is_empty()
            && self.sizes.is_empty()
            && self.deadlock.is_empty()
            && !self.communicators.iter().any(differ)
            && self.waits.iter().all(|wait| !wait.is_trouble())
    }

    /// A sentence that says how many ranks left dumps.
    fn left_by(&self) -> String {
        if self.ranks.is_empty() {
            return "no dump of a rank is here: jobs write them where RANKS_DUMP=DIR is set, and something goes wrong".to_owned();
        }
        let (left, size) = (self.ranks.len(), self.size);
        format!("{left} of {size} ranks left a dump")
    }
}

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let job = Job::read(&arguments.folder)
        .map_err(|error| format!("{} cannot be read: {error}", arguments.folder.display()))?;
    let report = Report::of(job);
    tell(&report, arguments.json, text::write, report.is_well())
}
