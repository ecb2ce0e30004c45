//! The report on an operation that has timed out: its name, the ranks that wait too, and those that
//! are silent.

use std::fmt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Limit, lock};
use crate::call::inflight_calls::CallInFlight;
use crate::call::rank_list::RankList;
use crate::call::record::{ANY, Class, NONE};

/// The state of another rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RankState {
    /// In an operation (the C name), for so long.
    Waits(String, Duration),
    /// In no operation, while its process lives.
    Idle,
    /// Ended.
    Ended,
    /// It does not answer.
    Unheard,
    /// It could not be asked.
    Unknown,
}

/// An operation that has timed out.
pub(super) struct Report<'a> {
    pub(super) of: &'a CallInFlight,
    pub(super) limit: Limit,
    /// The states of the other ranks, by their ranks in the world.
    pub(super) states: &'a [(usize, RankState)],
}

/// The number of ranks that are named one by one.
const MOST: usize = 8;

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, limit, .. } = self;
        let about = &of.recorder;
        f.write_str(of.what.operation())?;
        if let Some(other) = *lock(&of.end_of) {
            write!(f, " (of {other})")?;
        }
        let (duration, origin) = (limit.duration, limit.origin);
        write!(
            f,
            ": timed out after {duration:?} ({origin}) on rank {}",
            about.rank
        )?;
        write!(f, " of {} of {}", about.size, about.named())?;
        if let (Some(number), Class::Collective) = (of.number, of.what.kind.class) {
            write!(f, ", whose collective number {number} it is")?;
        }
        let others = Others(Some(of), self.states);
        others.whose(f)?;
        self.awaited(f)?;
        others.waiting(f)?;
        others.silent(f)?;
        others.unasked(f)?;
        match ranks_mpi_sys::loaded() {
            Some(library) if of.world.is_none() => write!(f, " ({})", library.name()),
            _ => Ok(()),
        }
    }
}

impl Report<'_> {
    /// Warns of a call that goes on.
    pub(super) fn warn(&self) {
        self.of.is_reported.store(true, Ordering::Relaxed);
        eprintln!("ranks: {self}; it goes on");
    }

    /// The rank and the tag of the message that it waits for.
    fn awaited(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (of, what) = (self.of, &self.of.what);
        match of.peer() {
            Some(peer) => {
                let rank = of.recorder.world_rank(peer).unwrap_or(peer);
                let role = match of.waits_for() {
                    Some(_) => "it waits for",
                    None => "its target is",
                };
                write!(f, "; {role} rank {rank}")?;
            }
            None if what.kind.class == Class::Message && what.peer == ANY => {
                f.write_str("; it waits for any rank")?;
            }
            None => return self.begun_last(f),
        }
        tag(f, what.tag)
    }

    /// The messages that this rank has begun last by the operation that a wait completes.
    fn begun_last(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LAST: usize = 3;
        let (about, operation) = (&self.of.recorder, *lock(&self.of.end_of));
        let entries = about.messages.entries();
        let begun = entries.iter().rev().map(|entry| entry.call);
        let begun = begun.filter(|call| Some(call.operation()) == operation && call.peer != NONE);
        for (index, call) in begun.take(LAST).enumerate() {
            f.write_str(if index == 0 { "; begun last: " } else { "; " })?;
            match usize::try_from(call.peer) {
                Ok(peer) => write!(f, "rank {}", about.world_rank(peer).unwrap_or(peer))?,
                Err(_) => f.write_str("any rank")?,
            }
            tag(f, call.tag)?;
        }
        Ok(())
    }
}

/// The tag of a message, after its rank.
fn tag(f: &mut fmt::Formatter<'_>, tag: i32) -> fmt::Result {
    match tag {
        NONE => Ok(()),
        ANY => f.write_str(", any tag"),
        tag => write!(f, ", tag {tag}"),
    }
}

/// The states of the other ranks, by their ranks in the world, while this one is in a call; each
/// part with a separator before it.
pub(crate) struct Others<'a>(
    pub(crate) Option<&'a CallInFlight>,
    pub(crate) &'a [(usize, RankState)],
);

impl fmt::Display for Others<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.whose(f)?;
        self.waiting(f)?;
        self.silent(f)?;
        self.unasked(f)
    }
}

impl Others<'_> {
    /// Says so if they are not the ranks of the communicator.
    fn whose(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(of) = self.0 else { return Ok(()) };
        if !of.recorder.is_renumbered() {
            return Ok(());
        }
        f.write_str(" (ranks that follow are those of the world)")
    }

    fn waiting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.1.iter().filter_map(|(rank, state)| match state {
            RankState::Waits(operation, since) => Some(format!(
                "rank {rank} in {operation} for {:.1} s",
                since.as_secs_f64()
            )),
            _ => None,
        });
        list(f, "; waiting too: ", waiting.collect())
    }

    fn silent(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.1.iter().any(|(_, state)| *state == RankState::Unknown) {
            return f.write_str(
                "; what the other ranks do is not known: they answer where a time limit is set for the job (RANKS_TIMEOUT), until MPI_Finalize",
            );
        }
        let silent = self.1.iter().filter_map(|(rank, state)| match state {
            RankState::Waits(..) | RankState::Unknown => None,
            RankState::Idle => Some(format!("rank {rank} (alive, in no operation)")),
            RankState::Ended => Some(format!("rank {rank} (has ended)")),
            RankState::Unheard => Some(format!("rank {rank} (does not answer)")),
        });
        let mut silent: Vec<String> = silent.collect();
        if silent.is_empty() && !self.1.is_empty() {
            return f.write_str("; no rank is silent: all of them are in a call");
        }
        if silent.len() > MOST {
            silent = self.silent_in_runs();
        }
        list(f, "; silent: ", silent)
    }

    /// Ranks that are silent in the same way, together.
    fn silent_in_runs(&self) -> Vec<String> {
        let ways = [
            (RankState::Idle, "alive, in no operation"),
            (RankState::Ended, "have ended"),
            (RankState::Unheard, "do not answer"),
        ];
        let runs = ways.map(|(way, words)| {
            let ranks = self.1.iter().filter(|(_, state)| *state == way);
            let ranks: RankList = ranks.map(|(rank, _)| *rank).collect();
            (ranks.count() > 0).then(|| format!("{ranks} ({words})"))
        });
        runs.into_iter().flatten().collect()
    }

    /// Says so if not all were asked.
    fn unasked(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(of), asked) = (self.0, self.1.len()) else {
            return Ok(());
        };
        let others = of.recorder.size.saturating_sub(1);
        if asked <= 1 || asked >= others {
            return Ok(());
        }
        write!(
            f,
            "; {asked} of the {others} other ranks were asked, which are 1, 2, 4 … ranks away: the reports of other ranks name the others"
        )
    }
}

fn list(f: &mut fmt::Formatter<'_>, title: &str, items: Vec<String>) -> fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    f.write_str(title)?;
    let named = items.len().min(MOST);
    f.write_str(&items[..named].join(", "))?;
    match items.len() - named {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}
