//! Operations of all PEs of a team.
//!
//! In each, PEs meet, take what they need from the parts of the others, meet again, and only then write to their own part: source
//! and destination may be the same, and nobody's source changes while others read it.

use std::fmt;

use ranks_comm::{Error, ErrorKind, Result};

use super::Heap;
use super::reduce::Combine;
use super::spot::{Spot, room};
use crate::backend::{Kind, Movements, Order, Reduce, TeamHandle};
use crate::block::Place;

/// The bytes that a PE takes: as many from each of these, one behind the other or combined.
#[derive(Debug)]
struct Taken {
    sources: Vec<Spot>,
    bytes: usize,
    combine: Option<Combine>,
}

/// Which of a team's PEs is taken from, and where.
#[derive(Debug, Clone, Copy)]
enum From {
    /// This one, from the beginning.
    Root(usize),
    /// All, from the beginning.
    All,
    /// All, what they have for this PE.
    AllForMe,
}

/// One collective, as it is called.
#[derive(Debug, Clone, Copy)]
struct Moved<'a> {
    operation: &'static str,
    team: TeamHandle,
    dest: Place<'a>,
    source: Place<'a>,
    /// From each PE that is taken from.
    bytes: usize,
    from: From,
    combine: Option<Combine>,
}

impl Movements for Heap {
    fn barrier(&self, team: TeamHandle, order: Order<'_>) -> Result<()> {
        self.come_together("nvshmem_barrier", team, order, true)
    }

    fn sync(&self, team: TeamHandle, order: Order<'_>) -> Result<()> {
        self.come_together("nvshmem_team_sync", team, order, false)
    }

    fn broadcast(
        &self,
        team: TeamHandle,
        dest: Place<'_>,
        source: Place<'_>,
        bytes: usize,
        root: usize,
        order: Order<'_>,
    ) -> Result<()> {
        let moved = Moved {
            operation: "nvshmem_broadcastmem",
            team,
            dest,
            source,
            bytes,
            from: From::Root(root),
            combine: None,
        };
        self.take(moved, order)
    }

    fn fcollect(
        &self,
        team: TeamHandle,
        dest: Place<'_>,
        source: Place<'_>,
        bytes: usize,
        order: Order<'_>,
    ) -> Result<()> {
        let moved = Moved {
            operation: "nvshmem_fcollectmem",
            team,
            dest,
            source,
            bytes,
            from: From::All,
            combine: None,
        };
        self.take(moved, order)
    }

    fn alltoall(
        &self,
        team: TeamHandle,
        dest: Place<'_>,
        source: Place<'_>,
        bytes: usize,
        order: Order<'_>,
    ) -> Result<()> {
        let moved = Moved {
            operation: "nvshmem_alltoallmem",
            team,
            dest,
            source,
            bytes,
            from: From::AllForMe,
            combine: None,
        };
        self.take(moved, order)
    }

    fn reduce(
        &self,
        team: TeamHandle,
        dest: Place<'_>,
        source: Place<'_>,
        count: usize,
        kind: Kind,
        op: Reduce,
        order: Order<'_>,
    ) -> Result<()> {
        const OPERATION: &str = "nvshmem_reduce";
        let combine = Combine::of(OPERATION, kind, op)?;
        let moved = Moved {
            operation: OPERATION,
            team,
            dest,
            source,
            bytes: size(OPERATION, count, combine.size())?,
            from: From::All,
            combine: Some(combine),
        };
        self.take(moved, order)
    }

    fn reducescatter(
        &self,
        team: TeamHandle,
        dest: Place<'_>,
        source: Place<'_>,
        count: usize,
        kind: Kind,
        op: Reduce,
        order: Order<'_>,
    ) -> Result<()> {
        const OPERATION: &str = "nvshmem_reducescatter";
        let combine = Combine::of(OPERATION, kind, op)?;
        let moved = Moved {
            operation: OPERATION,
            team,
            dest,
            source,
            bytes: size(OPERATION, count, combine.size())?,
            from: From::AllForMe,
            combine: Some(combine),
        };
        self.take(moved, order)
    }
}

impl Heap {
    /// All PEs of a team come, and what they have put is delivered if asked for.
    pub(super) fn come_together(
        &self,
        operation: &'static str,
        team: TeamHandle,
        order: Order<'_>,
        quiet: bool,
    ) -> Result<()> {
        let (team, number) = self.teams.borrow_mut().next(operation, team)?;
        self.carry_out(operation, order, move |pe, waiting| {
            if quiet {
                pe.late.complete()?;
            }
            let text = operation.to_owned();
            team.meet(pe, waiting, number, 0, text).map(|_| ())
        })
    }

    fn take(&self, moved: Moved<'_>, order: Order<'_>) -> Result<()> {
        let operation = moved.operation;
        let text = moved.to_string();
        let (team, number) = self.teams.borrow_mut().next(operation, moved.team)?;
        let dest = Spot::of(operation, moved.dest, self.pe.me)?;
        let part = |&pe: &usize| Spot::of(operation, moved.source, pe);
        let all = || team.pes.iter().map(part).collect::<Result<Vec<_>>>();
        let sources = match moved.from {
            From::Root(root) => team
                .pes
                .iter()
                .skip(root)
                .take(1)
                .map(part)
                .collect::<Result<_>>()?,
            From::All => all()?,
            From::AllForMe => {
                let before = size(operation, team.place, moved.bytes)?;
                all()?.iter().map(|spot| spot.after(before)).collect()
            }
        };
        let taken = Taken {
            sources,
            bytes: moved.bytes,
            combine: moved.combine,
        };
        self.carry_out(operation, order, move |pe, waiting| {
            team.meet(pe, waiting, number, 0, text)?;
            let taken = taken.read();
            // The others are not kept waiting for one that has no room.
            team.meet(pe, waiting, number, 1, operation.to_owned())?;
            dest.write(&taken?)
        })
    }
}

impl Taken {
    /// Reads it, in the order of PEs.
    fn read(&self) -> Result<Vec<u8>> {
        let Some(combine) = self.combine else {
            let all = size("a collective", self.bytes, self.sources.len())?;
            let mut bytes = room(all)?;
            let parts = bytes.chunks_mut(self.bytes.max(1));
            for (part, source) in parts.zip(&self.sources) {
                source.read(part)?;
            }
            return Ok(bytes);
        };
        let mut result = room(self.bytes)?;
        let mut next = room(self.bytes)?;
        for (number, source) in self.sources.iter().enumerate() {
            if number == 0 {
                source.read(&mut result)?;
            } else {
                source.read(&mut next)?;
                combine.apply(&mut result, &next);
            }
        }
        Ok(result)
    }
}

impl fmt::Display for Moved<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Moved {
            operation, bytes, ..
        } = self;
        write!(f, "{operation} of {bytes} bytes")?;
        if let Some(combine) = self.combine {
            write!(f, " ({combine})")?;
        }
        if let From::Root(root) = self.from {
            write!(f, " of PE {root} of the team")?;
        }
        let (from, to) = (self.source, self.dest);
        write!(
            f,
            " from byte {} of block {} to byte {} of block {}",
            from.offset, from.block.number, to.offset, to.block.number
        )
    }
}

/// A product of sizes, if there is one.
fn size(operation: &'static str, count: usize, each: usize) -> Result<usize> {
    count.checked_mul(each).ok_or_else(|| {
        let why = format_args!("{count} times {each} bytes are more than there can be");
        Error::new(ErrorKind::Length, operation, why)
    })
}
