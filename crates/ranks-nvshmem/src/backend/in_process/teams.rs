//! Parts of the PEs, as one PE numbers them.

use std::collections::BTreeMap;
use std::sync::Arc;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

use super::meeting::{Gift, Key, Members, Met, PeCall};
use super::world::Waiting;
use super::{Heap, Pe};
use crate::backend::{TeamHandle, Teams};

/// As NVSHMEM numbers those of users.
const FIRST: i32 = 7;

/// A team, by what is the same for all its PEs: the number of the meeting that made it, and its
/// own among those made there.
type Name = (u64, usize);

/// Some PEs, in their order.
#[derive(Debug)]
pub(super) struct Team {
    name: Name,
    pub(super) pes: Vec<usize>,
    /// The number of this PE among them.
    pub(super) place: usize,
}

/// The teams of one PE.
#[derive(Debug)]
pub(super) struct Table {
    teams: BTreeMap<TeamHandle, Entry>,
    next: i32,
}

#[derive(Debug)]
struct Entry {
    team: Arc<Team>,
    /// The number of calls that this PE has started with it.
    calls: u64,
}

impl Table {
    /// With those that are there from the beginning.
    pub(super) fn of(size: usize, me: usize) -> Table {
        let mut table = Table {
            teams: BTreeMap::new(),
            next: FIRST,
        };
        for handle in [TeamHandle::WORLD, TeamHandle::SHARED, TeamHandle::NODE] {
            let team = Team {
                name: (0, table.teams.len()),
                pes: (0..size).collect(),
                place: me,
            };
            table.insert(handle, team);
        }
        table
    }

    fn insert(&mut self, handle: TeamHandle, team: Team) {
        let team = Arc::new(team);
        self.teams.insert(handle, Entry { team, calls: 0 });
    }

    /// Adds one of the PEs, if this one is among them.
    fn add(&mut self, name: Name, pes: Vec<usize>, me: usize) -> Option<TeamHandle> {
        let place = pes.iter().position(|&pe| pe == me)?;
        let handle = TeamHandle(self.next);
        self.next = self.next.checked_add(1)?;
        self.insert(handle, Team { name, pes, place });
        Some(handle)
    }

    pub(super) fn get(&self, operation: &'static str, team: TeamHandle) -> Result<&Arc<Team>> {
        let entry = self.teams.get(&team);
        entry
            .map(|entry| &entry.team)
            .ok_or_else(|| no_team(operation, team))
    }

    /// The team, and the number of this call among those of the team, the same on all its PEs.
    pub(super) fn next(
        &mut self,
        operation: &'static str,
        team: TeamHandle,
    ) -> Result<(Arc<Team>, u64)> {
        let entry = self
            .teams
            .get_mut(&team)
            .ok_or_else(|| no_team(operation, team))?;
        entry.calls += 1;
        Ok((Arc::clone(&entry.team), entry.calls))
    }
}

impl Team {
    /// Meets the others for a step of the call of this number.
    pub(super) fn meet(
        &self,
        pe: &Pe,
        waiting: Waiting,
        number: u64,
        step: u8,
        text: String,
    ) -> Result<Arc<Met>> {
        self.meet_with(pe, waiting, number, step, text, Gift::Nothing)
    }

    /// The same, with something for the others.
    pub(super) fn meet_with(
        &self,
        pe: &Pe,
        waiting: Waiting,
        number: u64,
        step: u8,
        text: String,
        gift: Gift,
    ) -> Result<Arc<Met>> {
        let call = PeCall {
            key: Key::Team {
                team: self.name,
                number,
                step,
            },
            members: Members::Known(&self.pes),
            place: self.place,
            me: pe.me,
            text,
            gift,
        };
        pe.world.meet(waiting, call)
    }
}

impl Heap {
    /// Meets the PEs of a team; what it is called with is the same on all.
    fn meet(&self, operation: &'static str, team: TeamHandle, text: String) -> Result<Arc<Met>> {
        let (team, number) = self.teams.borrow_mut().next(operation, team)?;
        let limit = self.limit;
        team.meet(&self.pe, Waiting { operation, limit }, number, 0, text)
    }
}

impl Teams for Heap {
    fn place_in(&self, team: TeamHandle) -> Result<(usize, usize)> {
        let teams = self.teams.borrow();
        let team = teams.get("nvshmem_team_my_pe", team)?;
        Ok((team.place, team.pes.len()))
    }

    fn translate(&self, team: TeamHandle, pe: usize, to: TeamHandle) -> Result<Option<usize>> {
        const OPERATION: &str = "nvshmem_team_translate_pe";
        let teams = self.teams.borrow();
        let (team, to) = (teams.get(OPERATION, team)?, teams.get(OPERATION, to)?);
        let of_world = team.pes.get(pe);
        Ok(of_world.and_then(|pe| to.pes.iter().position(|other| other == pe)))
    }

    fn split_strided(
        &self,
        parent: TeamHandle,
        start: usize,
        stride: usize,
        size: usize,
    ) -> Result<Option<TeamHandle>> {
        const OPERATION: &str = "nvshmem_team_split_strided";
        let text = format!(
            "{OPERATION} from {start}, stride {stride}, of {}",
            Count(size, "PE")
        );
        let met = self.meet(OPERATION, parent, text)?;
        let mut teams = self.teams.borrow_mut();
        let parent = teams.get(OPERATION, parent)?;
        let pe = |number: usize| {
            let place = number.checked_mul(stride)?.checked_add(start)?;
            parent.pes.get(place).copied()
        };
        let pes = (0..size.min(parent.pes.len() + 1)).map(pe);
        let pes: Option<Vec<usize>> = pes.collect();
        let pes = pes.ok_or_else(|| {
            let count = parent.pes.len();
            let why = format_args!(
                "{} from {start} with stride {stride}: not in a team of {count}",
                Count(size, "PE")
            );
            Error::new(ErrorKind::Argument, OPERATION, why)
        })?;
        Ok(teams.add((met.number, 0), pes, self.pe.me))
    }

    fn split_2d(&self, parent: TeamHandle, xrange: usize) -> Result<(TeamHandle, TeamHandle)> {
        const OPERATION: &str = "nvshmem_team_split_2d";
        let text = format!("{OPERATION} in rows of {xrange}");
        let met = self.meet(OPERATION, parent, text)?;
        let mut teams = self.teams.borrow_mut();
        let parent = Arc::clone(teams.get(OPERATION, parent)?);
        let xrange = xrange.clamp(1, parent.pes.len());
        let (x, y) = (parent.place % xrange, parent.place / xrange);
        let row = parent.pes.iter().skip(y * xrange).take(xrange).copied();
        let column = parent.pes.iter().skip(x).step_by(xrange).copied();
        let me = self.pe.me;
        let row = teams.add((met.number, 2 * y), row.collect(), me);
        let column = teams.add((met.number, 2 * x + 1), column.collect(), me);
        row.zip(column).ok_or_else(|| none_left(OPERATION))
    }

    fn team_unique_id(&self) -> Result<u64> {
        Ok(self.pe.world.draw())
    }

    fn team_init(&self, id: u64, my_pe: usize, n_pes: usize) -> Result<TeamHandle> {
        const OPERATION: &str = "nvshmemx_team_init";
        let world = &self.pe.world;
        if my_pe >= n_pes || n_pes > world.size() {
            let all = world.size();
            let why = format_args!(
                "number {my_pe} of {n_pes} in a world of {}",
                Count(all, "PE")
            );
            return Err(Error::new(ErrorKind::Argument, OPERATION, why));
        }
        let call = PeCall {
            key: Key::Unique(id),
            members: Members::Any(n_pes),
            place: my_pe,
            me: self.pe.me,
            text: format!("{OPERATION} of {}", Count(n_pes, "PE")),
            gift: Gift::Pe(self.pe.me),
        };
        let limit = self.limit;
        let waiting = Waiting {
            operation: OPERATION,
            limit,
        };
        let met = world.meet(waiting, call)?;
        let pe = |gift: &Gift| match gift {
            Gift::Pe(pe) => Some(*pe),
            _ => None,
        };
        let pes = met.gifts.iter().filter_map(pe).collect();
        let added = self
            .teams
            .borrow_mut()
            .add((met.number, 0), pes, self.pe.me);
        added.ok_or_else(|| none_left(OPERATION))
    }

    fn destroy(&self, team: TeamHandle) -> Result<()> {
        const OPERATION: &str = "nvshmem_team_destroy";
        if team.0 < FIRST {
            let why = "the teams of the world, of shared memory and of the node stay";
            return Err(Error::new(ErrorKind::Argument, OPERATION, why));
        }
        self.meet(OPERATION, team, OPERATION.to_owned())?;
        self.teams.borrow_mut().teams.remove(&team);
        Ok(())
    }
}

#[cold]
fn no_team(operation: &'static str, team: TeamHandle) -> Error {
    let why = format_args!("team {} is not one of this PE, or is gone", team.0);
    Error::new(ErrorKind::Argument, operation, why)
}

#[cold]
fn none_left(operation: &'static str) -> Error {
    let why = "this PE is not in the team, or has made as many as there can be";
    Error::new(ErrorKind::Library, operation, why)
}
