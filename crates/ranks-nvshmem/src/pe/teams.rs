//! State of teams, and the teams that every heap has.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use super::Pe;
use super::team_id::{Origin, TeamId};
use super::team_use::TeamUse;
use crate::backend::TeamHandle;

/// The state of a team, wherever it is kept.
#[derive(Debug)]
pub struct TeamState {
    pub(crate) handle: TeamHandle,
    pub(crate) id: TeamId,
    pub(crate) my_pe: usize,
    pub(crate) n_pes: usize,
    /// True if every heap has it.
    pub(crate) lasting: bool,
    /// True if it was destroyed.
    pub(crate) gone: Cell<bool>,
    /// The number of splits so far.
    pub(crate) splits: Cell<u64>,
    /// Its PEs, by their numbers in the world; asked for once.
    pub(crate) members: OnceCell<Vec<usize>>,
    pub(crate) in_use: TeamUse,
}

/// The teams that a heap has while it lives, and what is remembered of others.
#[derive(Debug, Default)]
pub(crate) struct LastingTeams {
    pub(crate) world: OnceCell<Rc<TeamState>>,
    pub(crate) shared: OnceCell<Rc<TeamState>>,
    pub(crate) node: OnceCell<Rc<TeamState>>,
    /// The numbers of unique ids that teams were made with.
    ids: RefCell<Vec<u64>>,
}

impl LastingTeams {
    /// The number of teams made here with the unique id of this number.
    pub(crate) fn uses_of(&self, number: u64) -> u64 {
        let mut ids = self.ids.borrow_mut();
        let uses = ids.iter().filter(|id| **id == number).count();
        ids.push(number);
        uses as u64
    }
}

impl Pe {
    /// The team that [`Nvshmem::world`](crate::Nvshmem::world) refers to.
    pub(crate) fn world(&self) -> &Rc<TeamState> {
        let (my_pe, n_pes) = (self.my_pe, self.n_pes);
        let made = || TeamState::lasting(TeamHandle::WORLD, Origin::World, my_pe, n_pes);
        self.teams.world.get_or_init(made)
    }
}

impl TeamState {
    pub(crate) fn lasting(
        handle: TeamHandle,
        origin: Origin,
        my_pe: usize,
        n_pes: usize,
    ) -> Rc<Self> {
        let members = OnceCell::new();
        if origin == Origin::World {
            let _ = members.set((0..n_pes).collect());
        }
        Rc::new(Self {
            handle,
            id: origin.into(),
            my_pe,
            n_pes,
            lasting: true,
            gone: Cell::new(false),
            splits: Cell::new(0),
            members,
            in_use: TeamUse::default(),
        })
    }

    /// A team of these PEs that was made by the program.
    pub(crate) fn made(
        handle: TeamHandle,
        id: TeamId,
        my_pe: usize,
        members: Vec<usize>,
    ) -> Rc<Self> {
        Rc::new(Self {
            handle,
            id,
            my_pe,
            n_pes: members.len(),
            lasting: false,
            gone: Cell::new(false),
            splits: Cell::new(0),
            members: OnceCell::from(members),
            in_use: TeamUse::default(),
        })
    }

    /// The number of the next split.
    pub(crate) fn next_split(&self) -> u64 {
        self.splits.replace(self.splits.get() + 1)
    }
}
