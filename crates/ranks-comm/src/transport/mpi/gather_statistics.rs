//! Gathers the observations of the ranks of a job on rank 0, apart from the messages of the
//! program.
//!
//! Not all of them need observe: a launcher may not pass a variable on to other hosts. So the ranks
//! find out at the start, with a message to rank 0 and a limit on the wait. Only if all observe do
//! they exchange more, in `internal_comm`. A message to any other rank could be received by a
//! program that has begun there. Every later wait has a limit too: a rank that does not come is
//! reported as missing.
//!
//! At the end statistics are joined by a binomial tree: each rank receives from ranks after it,
//! joins what they send with its own, and sends it to a rank before it. Clocks are
//! compared down the same tree.

mod tree;

use std::ops::Range;
use std::time::{Duration, Instant};

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Comm;
use ranks_trace::{Clock, Home, Job, Part, Reading, Together, Who};

use self::tree::Tree;
use super::fault_tolerance;
use super::internal_comm::{self, ANSWERED, DUE, PART, QUESTION, READING};
use crate::call::limit::{Limit, OnTimeLimit, Pause};
use crate::data::source::Source;
use crate::result::Result;
use crate::transport::facts::Facts;

/// The time that ranks wait for each other at the start: they have all come through `MPI_Init` by
/// then.
const AT_START: Duration = Duration::from_secs(30);

/// The time that a rank waits at the end for ranks that are still at work, without a time limit.
const AT_END: Duration = Duration::from_secs(600);

/// The time for what a rank has so far to come to the next one in the tree.
const HOP: Duration = Duration::from_secs(1);

/// The longest time for an answer from a rank that waits for the question.
const ANSWER: Duration = Duration::from_secs(10);

/// The number of comparisons of clocks, of which the quickest answer counts.
const ROUNDS: usize = 20;

/// The remedy where ranks differ in whether they observe.
const FOR_ALL: &str =
    "pass them to all hosts (with Open MPI: mpiexec -x RANKS_STATS -x RANKS_TIMELINE)";

/// The ranks of a job that all observe.
#[derive(Debug)]
pub(crate) struct GatherStatistics {
    /// The communicator for their messages; `None` if there is but one rank or not all take part.
    comm: Option<MPI_Comm>,
    rank: usize,
    size: usize,
    together: Together,
}

impl GatherStatistics {
    /// Finds out which ranks take part, and compares their clocks. Called by all ranks that
    /// observe, before the program has the world.
    ///
    /// An MPI that another part of the program has initialised may be in use, so that each rank
    /// observes alone there.
    pub(crate) fn open(facts: &Facts, max_tag: i32, owner: bool) -> Result<Option<Self>> {
        let Some(mine) = ranks_trace::together() else {
            return Ok(None);
        };
        let (rank, size) = (facts.rank, facts.size);
        let mut gathering = Self {
            comm: None,
            rank,
            size,
            together: mine,
        };
        let mut job = ranks_trace::new_job();
        if size > 1 && !owner {
            job = 0;
        } else if size > 1 {
            let agreed = agree(rank, size, max_tag, mine, job)?;
            job = agreed.unwrap_or(0);
            if agreed.is_some() {
                gathering.comm = Some(internal_comm::open()?);
            }
        }
        let children = gathering.children();
        let first = gathering.compare_clocks(&children, AT_START)?;
        let library = facts.library.clone();
        let who = Who {
            rank,
            size,
            library,
            job,
        };
        let clock = Clock { first, last: None };
        ranks_trace::begin(Home::PROCESS, who, clock);
        Ok(Some(gathering))
    }

    /// Gathers the observations. Called by all ranks, at the end; waits up to the limit.
    pub(crate) fn close(self, limit: Option<Limit>) -> Result<()> {
        let outcome = self.bring_together(at_end(limit));
        ranks_trace::end(Home::PROCESS);
        outcome
    }

    /// Ends the observation of this rank alone, where the ranks do not all meet at the end.
    pub(crate) fn close_alone(self) {
        if self.together.statistics && self.rank == 0 {
            self.publish(self.alone("the ranks did not come to the end together"));
        }
        ranks_trace::end(Home::PROCESS);
    }

    /// The statistics of this rank, without those of the others.
    fn alone(&self, why: &str) -> Part {
        let mut part = own_part();
        if self.size > 1 {
            part.miss(1..=self.size - 1, why);
        }
        part
    }

    fn publish(&self, ranks: Part) {
        let library = ranks_mpi_sys::loaded().map_or("MPI", ranks_mpi_sys::Loaded::name);
        ranks_trace::publish(&Job::new(self.size, library, ranks));
    }

    fn bring_together(&self, limit: Duration) -> Result<()> {
        let begin = Instant::now();
        let left = || limit.saturating_sub(begin.elapsed());
        let mut children = self.children();
        if self.together.statistics {
            let part = self.join(limit)?;
            children.retain(|&child| !part.misses(child));
            if self.rank == 0 {
                self.publish(part);
            } else if let Some(comm) = self.comm {
                let parent = self.tree().parent(self.rank);
                if !post(comm, parent, PART, part.to_bytes(), left().max(HOP))? {
                    return Ok(());
                }
            }
        }
        ranks_trace::look_again(Home::PROCESS, self.compare_clocks(&children, left())?);
        Ok(())
    }

    /// The ranks that send to this one, from that with most ranks below it on.
    fn children(&self) -> Vec<usize> {
        let children = self.tree().children(self.rank);
        let mut children: Vec<usize> = children.map(|ranks| ranks.start).collect();
        children.reverse();
        children
    }

    fn tree(&self) -> Tree {
        Tree {
            size: self.size,
            is_flat: fault_tolerance::is_on(),
        }
    }

    /// The statistics of this rank, and of those that send theirs to it within the limit or until
    /// its own are due.
    fn join(&self, limit: Duration) -> Result<Part> {
        let tree = self.tree();
        let Some(comm) = self.comm else {
            return Ok(self.alone("ranks observe each for itself in this job"));
        };
        let mut part = own_part();
        let mut awaited: Vec<_> = tree.children(self.rank).collect();
        let mut receive = |awaited: &mut Vec<_>| {
            awaited.retain(|child| match part_of(comm, child) {
                None => true,
                Some(Ok(theirs)) => {
                    part.add(theirs);
                    false
                }
                Some(Err(why)) => {
                    miss(&mut part, child, &why);
                    false
                }
            });
            awaited.is_empty()
        };
        let parent = Source::Rank(tree.parent(self.rank));
        let is_due = || internal_comm::take(comm, parent, DUE).map(|due| due.is_some());
        Pause::until(limit, &mut || {
            Ok(receive(&mut awaited) || self.rank > 0 && is_due()?)
        })?;
        for child in &awaited {
            // One that it does not reach does not answer.
            let _ = post(comm, child.start, DUE, Vec::new(), HOP);
        }
        Pause::until(HOP * tree.height(self.rank), &mut || {
            Ok(receive(&mut awaited))
        })?;
        for child in awaited {
            miss(&mut part, &child, "it did not come to the end in time");
        }
        Ok(part)
    }

    /// Compares this rank's clock with that of the rank before it in the tree, and theirs with its
    /// own; `None` if that is not wanted, or has failed.
    fn compare_clocks(&self, children: &[usize], limit: Duration) -> Result<Option<Reading>> {
        if !self.together.clocks {
            return Ok(None);
        }
        if self.size == 1 {
            return Ok(Some(Reading::own()));
        }
        let Some(comm) = self.comm else {
            return Ok(None);
        };
        let mine = match self.rank {
            0 => Some(Reading::own()),
            _ => answer(comm, self.tree().parent(self.rank), limit)?,
        };
        let begin = Instant::now();
        for &child in children {
            let left = limit.saturating_sub(begin.elapsed()).max(HOP);
            match ask(comm, child, mine, left) {
                // The others wait for the question.
                Ok(()) => {}
                Err(error) if error.kind().is_loss() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(mine)
    }
}

/// The statistics of this rank.
fn own_part() -> Part {
    ranks_trace::part(Home::PROCESS).unwrap_or_default()
}

/// The statistics that the first of these ranks sends, or the reason why it never will; `None` if
/// they have not arrived.
fn part_of(comm: MPI_Comm, ranks: &Range<usize>) -> Option<Result<Part, String>> {
    let sent = match internal_comm::take(comm, Source::Rank(ranks.start), PART) {
        Ok(sent) => Ok(sent?.0),
        Err(error) if error.kind().is_loss() => Err("it is lost".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    Some(sent.and_then(|bytes| {
        let part = Part::from_bytes(&bytes);
        part.ok_or_else(|| "its message is no statistics".to_owned())
    }))
}

/// Notes that these ranks are missing, as the first of them sends nothing.
fn miss(part: &mut Part, ranks: &Range<usize>, why: &str) {
    let first = ranks.start;
    let why = match ranks.len() {
        1 => why.to_owned(),
        _ => format!("whose statistics rank {first} was to send: {why}"),
    };
    part.miss(first..=ranks.end - 1, why);
}

/// The time that the end may wait.
fn at_end(limit: Option<Limit>) -> Duration {
    match limit {
        Some(limit) if limit.then != OnTimeLimit::Warn => limit.duration,
        _ => AT_END,
    }
}

/// Asks a rank for its time, and tells it the resulting reading: none if this rank has none of its
/// `own`, or if it does not answer in time.
fn ask(comm: MPI_Comm, rank: usize, own: Option<Reading>, limit: Duration) -> Result<()> {
    let mut answers = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let asked = ranks_trace::now();
        if !post(comm, rank, QUESTION, Vec::new(), ANSWER)? {
            return Ok(());
        }
        // The first answer comes when the rank has come.
        let limit = if round == 0 { limit } else { ANSWER };
        let Some(there) = take(comm, rank, ANSWERED, limit)? else {
            return Ok(());
        };
        let back = ranks_trace::now();
        if let [there] = words(&there)[..] {
            answers.push([asked, there, back]);
        }
    }
    let reading = own.and_then(|own| Some(Reading::of(answers)?.beyond(own)));
    let told = reading.map(|Reading { at, ahead, error }| {
        [at, ahead, i64::try_from(error).unwrap_or(i64::MAX)].map(i64::to_le_bytes)
    });
    let told = told.map(|told| told.as_flattened().to_vec());
    post(comm, rank, READING, told.unwrap_or_default(), ANSWER)?;
    Ok(())
}

/// Answers each question of a rank with this one's time, and returns the reading that it is told.
fn answer(comm: MPI_Comm, parent: usize, limit: Duration) -> Result<Option<Reading>> {
    for round in 0..ROUNDS {
        let limit = if round == 0 { limit } else { ANSWER };
        if take(comm, parent, QUESTION, limit)?.is_none() {
            return Ok(None);
        }
        let now = ranks_trace::now().to_le_bytes().to_vec();
        if !post(comm, parent, ANSWERED, now, ANSWER)? {
            return Ok(None);
        }
    }
    let told = take(comm, parent, READING, ANSWER)?.unwrap_or_default();
    Ok(match words(&told)[..] {
        [at, ahead, error] => Some(Reading {
            at,
            ahead,
            error: u64::try_from(error).unwrap_or(u64::MAX),
        }),
        _ => None,
    })
}

/// Agrees that all ranks want the same, as rank 0 finds out and answers. Returns the number of the
/// job if so.
fn agree(rank: usize, size: usize, max_tag: i32, mine: Together, job: u64) -> Result<Option<u64>> {
    // The program does not have the world yet, so that no receive of it matches.
    let (comm, tag) = (sys::MPI_COMM_WORLD, max_tag);
    let wish = vec![u8::from(mine.statistics), u8::from(mine.clocks)];
    if rank > 0 {
        if !post(comm, 0, tag, wish, AT_START)? {
            return Ok(None);
        }
        let Some(told) = take(comm, 0, tag, AT_START * 2)? else {
            eprintln!(
                "ranks: rank 0 does not answer rank {rank}: it does not have its RANKS_STATS or RANKS_TIMELINE, so that each rank observes for \
                 itself; {FOR_ALL}"
            );
            return Ok(None);
        };
        return Ok(told.try_into().ok().map(u64::from_le_bytes));
    }
    let (mut asked, mut others) = (Vec::new(), Vec::new());
    let mut limit = AT_START;
    for rank in 1..size {
        match take(comm, rank, tag, limit)? {
            Some(theirs) => {
                asked.push(rank);
                if theirs != wish {
                    others.push(rank);
                }
            }
            None => {
                others.push(rank);
                // All had the same time to come.
                limit = Duration::ZERO;
            }
        }
    }
    let verdict = match others.first() {
        None => job.to_le_bytes().to_vec(),
        Some(first) => {
            eprintln!(
                "ranks: rank {first} does not have the RANKS_STATS and RANKS_TIMELINE of rank 0 (further ranks without them: {}), so that \
                 each rank observes for itself; {FOR_ALL}",
                others.len() - 1
            );
            Vec::new()
        }
    };
    for rank in asked {
        post(comm, rank, tag, verdict.clone(), ANSWER)?;
    }
    Ok(others.is_empty().then_some(job))
}

fn words(bytes: &[u8]) -> Vec<i64> {
    let (words, _) = bytes.as_chunks();
    words.iter().copied().map(i64::from_le_bytes).collect()
}

/// Sends, and waits until the send is complete; `false` if it was not in time. The bytes are leaked
/// then.
fn post(comm: MPI_Comm, dest: usize, tag: i32, bytes: Vec<u8>, limit: Duration) -> Result<bool> {
    let sending = internal_comm::send(comm, dest, tag, bytes)?;
    Ok(sending.wait(limit, || false)?.is_some())
}

/// Receives; `None` if nothing arrives in time.
fn take(comm: MPI_Comm, source: usize, tag: i32, limit: Duration) -> Result<Option<Vec<u8>>> {
    let mut found = None;
    Pause::until(limit, &mut || {
        found = internal_comm::take(comm, Source::Rank(source), tag)?;
        Ok(found.is_some())
    })?;
    Ok(found.map(|(bytes, _)| bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::limit::Origin;

    #[test]
    fn the_end_takes_as_long_as_the_limit_of_the_job() {
        let limit = |then| Limit {
            duration: Duration::from_secs(3),
            then,
            origin: Origin::Environment,
        };
        assert_eq!(at_end(None), AT_END);
        assert_eq!(at_end(Some(limit(OnTimeLimit::Error))).as_secs(), 3);
        assert_eq!(at_end(Some(limit(OnTimeLimit::Abort))).as_secs(), 3);
        // The operation goes on after a report.
        assert_eq!(at_end(Some(limit(OnTimeLimit::Warn))), AT_END);
    }
}
