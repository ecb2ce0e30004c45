//! Gathers the observations of the ranks of a job on rank 0, apart from the messages of the
//! program.
//!
//! Not all of them need observe: a launcher may not pass a variable on to other hosts. So the ranks
//! find out at the start, with a message to rank 0 and a limit on the wait. Only if all observe do
//! they exchange more, in `internal_comm`. Every later wait has a limit too: a rank that does not
//! come is reported as missing.

use std::time::{Duration, Instant};

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Comm;
use ranks_trace::{Clock, Home, Job, Part, Reading, Together, Who};

use super::exchange::test;
use super::internal_comm::{self, ANSWERED, PART, QUESTION, READING};
use crate::call::limit::{Limit, OnTimeLimit, Pause};
use crate::data::in_flight::Over;
use crate::data::source::Source;
use crate::result::Result;
use crate::transport::facts::Facts;

/// The time that ranks wait for each other at the start: they have all come through `MPI_Init` by
/// then.
const AT_START: Duration = Duration::from_secs(30);

/// The time that rank 0 waits at the end for ranks that are still at work, without a time limit.
const AT_END: Duration = Duration::from_secs(600);

/// The longest time for an answer from a rank that waits for the question.
const ANSWER: Duration = Duration::from_secs(10);

/// The number of comparisons of clocks, of which the quickest answer counts.
const ROUNDS: usize = 20;

/// The remedy where ranks differ in whether they observe.
const FOR_ALL: &str =
    "pass them to all hosts (with Open MPI: mpiexec -x RANKS_STATS -x RANKS_TIMELINE)";

/// The reason why a rank is missing.
enum Missing {
    /// It does not answer in time.
    Late,
    For(String),
}

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
        let others: Vec<usize> = (1..size).collect();
        let first = gathering.compare_clocks(&others, AT_START)?;
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
            let mut job = self.job();
            for rank in 1..self.size {
                job.miss(rank, "the ranks did not come to the end together");
            }
            ranks_trace::publish(&job);
        }
        ranks_trace::end(Home::PROCESS);
    }

    /// A table with the observations of this rank.
    fn job(&self) -> Job {
        let library = ranks_mpi_sys::loaded().map_or("MPI", ranks_mpi_sys::Loaded::name);
        let mut job = Job::new(self.size, library);
        if let Some(part) = ranks_trace::part(Home::PROCESS) {
            job.add(self.rank, part);
        }
        job
    }

    fn bring_together(&self, limit: Duration) -> Result<()> {
        let begin = Instant::now();
        let left = || limit.saturating_sub(begin.elapsed());
        let mut others: Vec<usize> = (1..self.size).collect();
        if self.together.statistics && self.rank == 0 {
            let mut job = self.job();
            others.retain(|&rank| {
                let part = self.part_of(rank, left()).map_err(|why| match why {
                    Missing::Late => format!("it did not come to the end within {limit:?}"),
                    Missing::For(why) => why,
                });
                part.map(|part| job.add(rank, part))
                    .map_err(|why| job.miss(rank, why))
                    .is_ok()
            });
            ranks_trace::publish(&job);
        } else if self.together.statistics
            && let Some(comm) = self.comm
        {
            let part = ranks_trace::part(Home::PROCESS).map(|part| part.to_bytes());
            if !post(comm, 0, PART, part.unwrap_or_default(), left())? {
                return Ok(());
            }
        }
        ranks_trace::look_again(Home::PROCESS, self.compare_clocks(&others, left())?);
        Ok(())
    }

    /// Receives the statistics of a rank.
    fn part_of(&self, rank: usize, limit: Duration) -> Result<Part, Missing> {
        let why = |why: &str| Missing::For(why.to_owned());
        let comm = self.comm;
        let comm = comm.ok_or_else(|| why("ranks observe each for itself in this job"))?;
        let bytes = match take(comm, rank, PART, limit) {
            Ok(bytes) => bytes.ok_or(Missing::Late)?,
            Err(error) if error.kind().is_loss() => return Err(why("it is lost")),
            Err(error) => return Err(why(&error.to_string())),
        };
        Part::from_bytes(&bytes).ok_or_else(|| why("its message is no statistics"))
    }

    /// Compares this rank's clock with rank 0's, which asks the `others`; `None` if that is not
    /// wanted, or has failed.
    fn compare_clocks(&self, others: &[usize], limit: Duration) -> Result<Option<Reading>> {
        if !self.together.clocks {
            return Ok(None);
        }
        if self.size == 1 {
            return Ok(Some(Reading::own()));
        }
        let Some(comm) = self.comm else {
            return Ok(None);
        };
        if self.rank > 0 {
            return answer(comm, limit);
        }
        for &rank in others {
            match ask(comm, rank, limit) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                // The others wait for the question.
                Err(error) if error.kind().is_loss() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(Reading::own()))
    }
}

/// The time that the end may wait.
fn at_end(limit: Option<Limit>) -> Duration {
    match limit {
        Some(limit) if limit.then != OnTimeLimit::Warn => limit.duration,
        _ => AT_END,
    }
}

/// On rank 0: asks a rank for its time, and sends it the resulting reading. Returns `true` if it
/// answered.
fn ask(comm: MPI_Comm, rank: usize, limit: Duration) -> Result<bool> {
    let mut answers = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let asked = ranks_trace::now();
        if !post(comm, rank, QUESTION, Vec::new(), ANSWER)? {
            return Ok(false);
        }
        // The first answer comes when the rank has come.
        let limit = if round == 0 { limit } else { ANSWER };
        let Some(there) = take(comm, rank, ANSWERED, limit)? else {
            return Ok(false);
        };
        let back = ranks_trace::now();
        if let [there] = words(&there)[..] {
            answers.push([asked, there, back]);
        }
    }
    let reading = Reading::of(answers);
    let told = reading.map(|Reading { at, ahead, error }| {
        [at, ahead, i64::try_from(error).unwrap_or(i64::MAX)].map(i64::to_le_bytes)
    });
    let told = told.map(|told| told.as_flattened().to_vec());
    post(comm, rank, READING, told.unwrap_or_default(), ANSWER)
}

/// On any other rank: answers each question with its time, and returns the reading that rank 0
/// sends.
fn answer(comm: MPI_Comm, limit: Duration) -> Result<Option<Reading>> {
    for round in 0..ROUNDS {
        let limit = if round == 0 { limit } else { ANSWER };
        if take(comm, 0, QUESTION, limit)?.is_none() {
            return Ok(None);
        }
        let now = ranks_trace::now().to_le_bytes().to_vec();
        if !post(comm, 0, ANSWERED, now, ANSWER)? {
            return Ok(None);
        }
    }
    let told = take(comm, 0, READING, ANSWER)?.unwrap_or_default();
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
    let (bytes, mut request) = internal_comm::send(comm, dest, tag, bytes)?;
    let sent = Pause::until(limit, || test(&mut request));
    if let Ok(true) = sent {
        // SAFETY: the library has said that they are sent.
        drop(bytes.give_back(unsafe { Over::new() }));
    }
    sent
}

/// Receives; `None` if nothing arrives in time.
fn take(comm: MPI_Comm, source: usize, tag: i32, limit: Duration) -> Result<Option<Vec<u8>>> {
    let mut found = None;
    Pause::until(limit, || {
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
