//! Operations of all PEs of a team.
//!
//! In each, PEs meet, take what they need from the parts of the others, meet again, and only then
//! write to their own part: source and destination may be the same, and nobody's source changes
//! while others read it.

use std::sync::Arc;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

use super::Heap;
use super::reduce::Combine;
use crate::backend::in_process::kept_place::{KeptPlace, room};
use crate::backend::{Moved, Movement, Movements, Order, TeamHandle};

/// The bytes that a PE takes: as many from each of these, one behind the other or combined.
#[derive(Debug)]
struct Taken {
    sources: Vec<KeptPlace>,
    bytes: usize,
    combine: Option<Combine>,
}

impl Movements for Heap {
    fn moves(
        &self,
        team: TeamHandle,
        movement: Movement,
        moved: Option<Moved<'_>>,
        order: Order<'_>,
    ) -> Result<()> {
        let operation = match movement {
            Movement::Reduce(..) => "nvshmem_reduce",
            Movement::Reducescatter(..) => "nvshmem_reducescatter",
            _ => movement.name(Order::Now),
        };
        let Some(moved) = moved else {
            return match movement {
                Movement::Barrier => self.come_together(operation, team, order, true),
                Movement::Sync => self.come_together(operation, team, order, false),
                _ => Ok(()),
            };
        };
        let combine = match movement {
            Movement::Reduce(kind, op) | Movement::Reducescatter(kind, op) => {
                Some(Combine::of(operation, kind, op)?)
            }
            _ => None,
        };
        let bytes = size(operation, moved.amount, combine.map_or(1, Combine::size))?;
        let text = said(operation, movement, moved, bytes, combine);
        let handle = team;
        let team = Arc::clone(self.teams.borrow().get(operation, handle)?);
        let dest = KeptPlace::of(operation, moved.dest, self.pe.me)?;
        // Which of the team's PEs are taken from, and which of their blocks.
        let (first, count, block) = match movement {
            Movement::Broadcast(root) => (root, 1, 0),
            Movement::Alltoall | Movement::Reducescatter(..) => (0, team.pes.len(), team.place),
            _ => (0, team.pes.len(), 0),
        };
        let before = size(operation, block, bytes)?;
        let part = |&pe: &usize| Ok(KeptPlace::of(operation, moved.source, pe)?.after(before));
        let sources = team.pes.iter().skip(first).take(count).map(part);
        let taken = Taken {
            sources: sources.collect::<Result<_>>()?,
            bytes,
            combine,
        };
        self.own(operation, order)?;
        let (_, number) = self.teams.borrow_mut().next(operation, handle)?;
        self.carry_out(operation, order, move |pe, waiting| {
            team.meet(pe, waiting, number, 0, text)?;
            let taken = taken.read();
            // The others are not kept waiting for one that has no room.
            team.meet(pe, waiting, number, 1, operation.to_owned())?;
            dest.write(&taken?)
        })
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
        self.own(operation, order)?;
        let (team, number) = self.teams.borrow_mut().next(operation, team)?;
        self.carry_out(operation, order, move |pe, waiting| {
            if quiet {
                pe.late.complete()?;
            }
            let text = operation.to_owned();
            team.meet(pe, waiting, number, 0, text).map(|_| ())
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

/// The call with all that must be the same on all PEs.
fn said(
    operation: &str,
    movement: Movement,
    moved: Moved<'_>,
    bytes: usize,
    combine: Option<Combine>,
) -> String {
    let combined = combine.map_or_else(String::new, |combine| format!(" ({combine})"));
    let root = match movement {
        Movement::Broadcast(root) => format!(" of PE {root} of the team"),
        _ => String::new(),
    };
    let (from, to) = (moved.source, moved.dest);
    format!(
        "{operation} of {}{combined}{root} from byte {} of block {} to byte {} of block {}",
        Count(bytes, "byte"),
        from.offset,
        from.block.number,
        to.offset,
        to.block.number
    )
}

/// A product of sizes, if there is one.
fn size(operation: &'static str, count: usize, each: usize) -> Result<usize> {
    count.checked_mul(each).ok_or_else(|| {
        let why = format_args!("{count} times {each} bytes are more than there can be");
        Error::new(ErrorKind::Length, operation, why)
    })
}
