//! Ranks that ended of themselves, by which the others of their job were cut short.

use std::collections::BTreeMap;

use serde::Serialize;

use super::dump::Dump;
use super::job::Job;
use super::rank_list::RankList;

/// A way in which ranks ended, other than by a time limit or by what ended all of them.
#[derive(Debug, Serialize)]
pub(super) struct Cause {
    pub(super) ranks: RankList,
    /// The rest of a sentence about them: `panicked: out of luck`.
    pub(super) what: String,
}

/// Every way in which ranks of a job ended of themselves, in the order of the first rank of each.
pub(super) fn causes(job: &Job) -> Vec<Cause> {
    let at_its_end = |dump: &Dump| dump.reason == "exit" && dump.is_idle();
    if job.missing().is_empty() && job.dumps.values().all(at_its_end) {
        // Of `main`, with communicators left: nobody was cut short.
        return Vec::new();
    }
    let mut processes: BTreeMap<(&str, u32), Vec<usize>> = BTreeMap::new();
    for (&rank, dump) in &job.dumps {
        let ranks = processes.entry((&dump.host, dump.pid)).or_default();
        ranks.push(rank);
    }
    let mut causes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (&rank, dump) in &job.dumps {
        let mates = processes.get(&(dump.host.as_str(), dump.pid));
        let ended = match (dump.end_of_process(), mates) {
            (Some(end), Some(mates)) => job.ended_process(rank, mates, &end),
            _ => dump.end_of_rank(),
        };
        if let Some(what) = ended {
            causes.entry(what).or_default().push(rank);
        }
    }
    let mut causes: Vec<(String, Vec<usize>)> = causes.into_iter().collect();
    causes.sort_by_key(|(_, ranks)| ranks.first().copied());
    let causes = causes.into_iter().map(|(what, ranks)| Cause {
        ranks: ranks.into_iter().collect(),
        what,
    });
    causes.collect()
}

impl Job {
    /// The part that a rank had in the end of the process of these ranks, if it can have had one.
    fn ended_process(&self, rank: usize, mates: &[usize], end: &str) -> Option<String> {
        let idle = |rank: &&usize| self.dumps.get(rank).is_some_and(Dump::is_idle);
        let idle: Vec<usize> = mates.iter().filter(idle).copied().collect();
        match idle.len() {
            _ if mates.len() == 1 => Some(end.to_owned()),
            0 => Some(format!("{end}, all in one process")),
            _ if !idle.contains(&rank) => None,
            1 => Some(format!(
                "{end}: of the ranks of its process it alone was in no call"
            )),
            _ => Some(format!(
                "{end}, or one of them: of the ranks of their process they alone were in no call"
            )),
        }
    }
}

impl Dump {
    /// The end of a rank that the ranks of its process were told of.
    fn end_of_rank(&self) -> Option<String> {
        let error = self.error.as_deref().unwrap_or_default();
        let error = error.lines().collect::<Vec<_>>().join(" ");
        match self.reason.as_str() {
            "error" => Some(format!("returned an error: {error}")),
            // Their errors are such sentences.
            "panic" | "abort" if !error.is_empty() => Some(error),
            "panic" => Some("panicked".to_owned()),
            "abort" => Some("aborted".to_owned()),
            _ => None,
        }
    }

    /// The end of the whole process, which any of its ranks may have caused.
    fn end_of_process(&self) -> Option<String> {
        match self.reason.as_str() {
            "exit" => Some("ended with exit".to_owned()),
            "SIGTERM" => None,
            signal if signal.starts_with("SIG") => Some(format!("ended by {signal}")),
            _ => None,
        }
    }

    /// Returns `true` if its rank was in no call.
    fn is_idle(&self) -> bool {
        let mut parts = self.communicators.iter();
        self.under_way.is_empty() && parts.all(|part| part.blocked(self).next().is_none())
    }
}
