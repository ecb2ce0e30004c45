//! What became of a job that lost a rank or a host, and whether that is as it should be.

use std::collections::BTreeMap;
use std::time::Duration;

use super::dumps::Dump;
use super::told::is_silent;
use super::{OPERATION, Plan, RANKS};

/// What became of a job; times are from the fault on.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) limit: Option<Limit>,
    /// When the launcher ended by itself, and its status.
    pub(super) launcher: Option<(Duration, i32)>,
    pub(super) ranks: BTreeMap<usize, SeenRank>,
    /// What was there of the job when all of it had been ended.
    pub(super) left: usize,
}

/// How long operations may take, and how much longer ranks may be there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) time: Duration,
    pub(super) over: Duration,
}

#[derive(Debug, Default)]
pub(super) struct SeenRank {
    /// When there was no process any more.
    pub(super) ended: Option<Duration>,
    /// What it wrote down last.
    pub(super) said: String,
    /// What it wrote of a time limit to standard error, as far as the launcher passed that on.
    pub(super) reported: Option<String>,
    /// What `ranks postmortem` tells of it.
    pub(super) dump: Option<Dump>,
}

impl SeenRank {
    /// The error that the program was given, or else what the user was told.
    fn told(&self) -> Option<(&str, &str)> {
        let error = self.said.strip_prefix("error: ");
        let error = error.map(|error| ("told", error));
        error.or_else(|| Some(("reported", self.reported.as_deref()?)))
    }

    /// Returns `true` if that names the operation and one of these ranks as silent.
    fn names(&self, lost: &[usize]) -> bool {
        self.told().is_some_and(|(_, text)| {
            text.starts_with(OPERATION) && lost.iter().any(|lost| is_silent(text, *lost))
        })
    }
}

impl Seen {
    pub(super) fn rank(&mut self, number: usize) -> &mut SeenRank {
        self.ranks.entry(number).or_default()
    }

    /// When the last rank ended of those that are not lost, if all of them have.
    pub(super) fn last_end(&self, lost: &[usize]) -> Option<Duration> {
        let ends = self.ranks.iter().filter(|(rank, _)| !lost.contains(rank));
        let ends: Option<Vec<Duration>> = ends.map(|(_, rank)| rank.ended).collect();
        ends?.into_iter().max()
    }

    /// What was seen, as the rest of a line of the table.
    pub(super) fn line(&self) -> String {
        let limit = self
            .limit
            .map_or("none".to_owned(), |limit| seconds(limit.time));
        let launcher = self
            .launcher
            .map_or("does not end".to_owned(), |(after, code)| {
                format!("{}, status {code}", seconds(after))
            });
        let how = |rank: &SeenRank| {
            let after = seconds(rank.ended?);
            Some(match rank.told() {
                Some((how, text)) => format!("{after}, {how}: {text}"),
                None if rank.said == "done" => "done".to_owned(),
                None => format!("{after}, told nothing"),
            })
        };
        let ended = self.together(how).unwrap_or_default();
        let dumps = self.together(|rank| Some(rank.dump.as_ref()?.line()));
        let runs = self.ranks.iter().filter(|(_, rank)| rank.ended.is_none());
        let running: Vec<usize> = runs.map(|(number, _)| *number).collect();
        let running = if running.is_empty() {
            "nothing".to_owned()
        } else {
            list(&running)
        };
        let dumps = dumps.unwrap_or_else(|| "none".to_owned());
        format!("{limit} | {launcher} | {ended} | {dumps} | {running} |")
    }

    /// What is to be said of ranks, those together of which the same is.
    fn together(&self, what: impl Fn(&SeenRank) -> Option<String>) -> Option<String> {
        let mut kinds: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, rank) in &self.ranks {
            if let Some(text) = what(rank) {
                kinds.entry(text).or_default().push(*number);
            }
        }
        let kinds = kinds.iter();
        let texts = kinds.map(|(text, ranks)| format!("{}: {text}", list(ranks)));
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }

    /// What is not as it should be.
    pub(super) fn faults(&self, plan: &Plan) -> Vec<String> {
        let mut faults = Vec::new();
        if self.left > 0 {
            faults.push(format!("{} ranks were left when all was ended", self.left));
        }
        let done = self.ranks.values();
        let done = done.filter(|rank| rank.said == "done").count();
        if plan.mends() {
            if self.limit.is_none() && done < RANKS {
                faults.push(format!("{done} of {RANKS} ranks went on to their end"));
            }
            return faults;
        }
        if done > 0 {
            faults.push(format!(
                "{done} ranks say that they have done all their work"
            ));
        }
        for (number, rank) in &self.ranks {
            if let Some(dump) = rank.dump.as_ref().filter(|dump| !dump.names(OPERATION)) {
                faults.push(format!(
                    "the dump of rank {number} does not name {OPERATION}: {}",
                    dump.line()
                ));
            }
        }
        let lost = plan.lost();
        let reachable = self.ranks.iter().filter(|(rank, _)| !lost.contains(rank));
        for (number, rank) in reachable.filter(|_| self.limit.is_some()) {
            let of_rank = self.faults_of(rank, &lost, plan.is_told());
            faults.extend(
                of_rank
                    .into_iter()
                    .map(|what| format!("rank {number} {what}")),
            );
        }
        faults
    }

    /// What is not as it should be with a rank that can be reached, where there is a time limit.
    fn faults_of(&self, rank: &SeenRank, lost: &[usize], launcher_is_told: bool) -> Vec<String> {
        let mut faults = Vec::new();
        let most = self.limit.map(|limit| limit.time + limit.over);
        match rank.ended {
            None => faults.push("does not end".to_owned()),
            Some(after) if most.is_some_and(|most| after > most) => {
                faults.push(format!("ended after {}", seconds(after)));
            }
            Some(_) => {}
        }
        // Launchers that hear of a loss end the others before they have anything to say.
        if launcher_is_told {
            return faults;
        }
        if !rank.names(lost) {
            let said = rank.told().map_or(rank.said.as_str(), |(_, text)| text);
            faults.push(format!(
                "does not name the operation and a lost rank: {said}"
            ));
        }
        match &rank.dump {
            None => faults.push("has left no dump".to_owned()),
            Some(dump) if !dump.is_of_limit(OPERATION) => faults.push(format!(
                "has left a dump that is not of the time limit of {OPERATION}: {}",
                dump.line()
            )),
            Some(_) => {}
        }
        faults
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn list(ranks: &[usize]) -> String {
    let words: Vec<String> = ranks.iter().map(usize::to_string).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::What;

    fn seen(texts: [&str; RANKS], ended: [Option<u64>; RANKS], limit: u64) -> Seen {
        let ranks = texts.iter().zip(ended).map(|(said, ended)| SeenRank {
            ended: ended.map(Duration::from_millis),
            said: (*said).to_owned(),
            reported: None,
            dump: said.starts_with("error: ").then(|| dump("time limit")),
        });
        Seen {
            limit: (limit > 0).then(|| Limit {
                time: Duration::from_millis(limit),
                over: Duration::from_secs(1),
            }),
            launcher: None,
            ranks: ranks.enumerate().collect(),
            left: 0,
        }
    }

    fn dump(reason: &str) -> Dump {
        Dump {
            reason: reason.to_owned(),
            waits_in: Some("MPI_Allreduce of 1 u64 by Sum".to_owned()),
            last: Some("MPI_Allreduce of 1 u64 by Sum".to_owned()),
        }
    }

    const TOLD: &str = "error: MPI_Allreduce: timed out after 3s (RANKS_TIMEOUT) on rank 0 of 4 of world; waiting too: rank 1 in MPI_Allreduce for 3.0 s; silent: rank 2 (does not answer), rank 3 (does not answer)";

    #[track_caller]
    fn is_found(seen: &Seen, plan: &Plan, part: &str) {
        let faults = seen.faults(plan).join(";");
        assert!(faults.contains(part), "{faults}");
    }

    #[test]
    fn ranks_that_end_in_time_and_say_why_are_as_they_should_be() {
        let plan = Plan::parse("freeze:n1@1s").unwrap();
        let ended = [Some(3100), Some(3200), None, None];
        let mut good = seen([TOLD, TOLD, "at work", "at work"], ended, 3000);
        assert_eq!(good.faults(&plan), [""; 0]);
        assert_eq!(
            good.last_end(&plan.lost()),
            Some(Duration::from_millis(3200))
        );
        let line = good.line();
        let expected = "does not end | 0: 3.1 s, told: MPI_Allreduce";
        assert!(line.contains(expected), "{line}");
        let expected = "| 0 1: time limit, in MPI_Allreduce of 1 u64 by Sum | 2 3 |";
        assert!(line.ends_with(expected), "{line}");
        // A report on standard error is as good as an error.
        let rank = good.rank(1);
        rank.said = "at work".to_owned();
        rank.reported = TOLD.strip_prefix("error: ").map(str::to_owned);
        assert_eq!(good.faults(&plan), [""; 0]);
        assert!(good.line().contains("1: 3.2 s, reported: MPI_Allreduce"));
    }

    #[test]
    fn what_is_late_or_silent_or_hangs_is_seen() {
        let plan = Plan::parse("cut:n1").unwrap();
        let with =
            |texts: [&str; RANKS], second| seen(texts, [Some(3100), second, None, None], 3000);
        let late = with([TOLD, TOLD, "", ""], Some(4100));
        is_found(&late, &plan, "rank 1 ended after 4.1 s");
        let hangs = with([TOLD, TOLD, "", ""], None);
        is_found(&hangs, &plan, "rank 1 does not end");
        assert_eq!(hangs.last_end(&plan.lost()), None);
        let silent = with([TOLD, "at work", "", ""], Some(3100));
        is_found(&silent, &plan, "rank 1 does not name");
        let other = TOLD.replace("rank 2 (does", "rank 1 (does");
        let other = other.replace("rank 3 (does", "rank 0 (does");
        let wrong = with([&other, TOLD, "", ""], Some(3100));
        is_found(&wrong, &plan, "rank 0 does not name");
        let other = TOLD.replace("error: MPI_Allreduce", "error: MPI_Barrier");
        let wrong = with([&other, TOLD, "", ""], Some(3100));
        is_found(&wrong, &plan, "rank 0 does not name");
        // Without a limit nothing is promised.
        let nothing = seen([""; RANKS], [None; RANKS], 0);
        assert_eq!(nothing.faults(&plan), [""; 0]);
    }

    #[test]
    fn dumps_are_there_and_name_the_operation() {
        let plan = Plan::parse("cut:n1").unwrap();
        let ended = [Some(3100), Some(3100), None, None];
        let mut seen = seen([TOLD, TOLD, "", ""], ended, 3000);
        seen.rank(0).dump = None;
        is_found(&seen, &plan, "rank 0 has left no dump");
        seen.rank(0).dump = Some(dump("SIGTERM"));
        is_found(
            &seen,
            &plan,
            "rank 0 has left a dump that is not of the time limit",
        );
        seen.rank(0).dump = Some(dump("time limit"));
        // That of a lost rank need not be there.
        assert_eq!(seen.faults(&plan), [""; 0]);
        seen.rank(3).dump = Some(Dump::default());
        is_found(
            &seen,
            &plan,
            "the dump of rank 3 does not name MPI_Allreduce",
        );
        // Where the launcher ends all ranks, those that are left were in it or had just been.
        let killed = Plan::parse("kill:3").unwrap();
        seen.rank(3).dump = None;
        seen.rank(2).ended = Some(Duration::from_millis(300));
        seen.rank(1).dump = Some(Dump {
            waits_in: None,
            ..dump("SIGTERM")
        });
        assert_eq!(seen.faults(&killed), [""; 0]);
    }

    #[test]
    fn a_job_that_is_mended_goes_on() {
        let plan = Plan::parse("thaw:n1@5s+freeze:n1@1s").unwrap();
        assert_eq!(plan.faults[0].what, What::Freeze(1));
        let done = ["done"; RANKS];
        assert_eq!(seen(done, [Some(8000); RANKS], 0).faults(&plan), [""; 0]);
        let stuck = ["done", "done", "done", "at work"];
        assert_eq!(seen(stuck, [None; RANKS], 0).faults(&plan).len(), 1);
        // Without mending nobody can have done all its work.
        let plan = Plan::parse("cut:n1").unwrap();
        assert_eq!(seen(done, [Some(8000); RANKS], 0).faults(&plan).len(), 1);
    }
}
