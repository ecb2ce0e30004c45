//! Deferred free: dropped allocations and teams, freed once all PEs that have them have dropped
//! them.

use std::cmp::Ordering;

use crate::backend::TeamHandle;
use crate::backend::block::Block;

/// Something whose end is collective.
#[derive(Debug)]
pub(crate) enum Dropped {
    Block(Block),
    Team(DroppedTeam),
}

/// A team that is to be destroyed.
#[derive(Debug)]
pub(crate) struct DroppedTeam {
    pub(crate) handle: TeamHandle,
    pub(crate) name: TeamName,
}

/// The name of a team, the same on all its PEs.
///
/// A team's children are numbered in the order in which they are made, on all its PEs, also those
/// that are in none of them: the path from the world's is the same wherever the team is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TeamName {
    /// The numbers, from the world's child on.
    pub(crate) path: Vec<u64>,
    /// The PEs that are in it, by their numbers in the world.
    pub(crate) members: Vec<u64>,
}

impl PartialOrd for TeamName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TeamName {
    /// Children before their parents, else in the order in which they were made.
    fn cmp(&self, other: &Self) -> Ordering {
        let deep = other.path.len().cmp(&self.path.len());
        deep.then_with(|| self.path.cmp(&other.path))
            .then_with(|| self.members.cmp(&other.members))
    }
}
