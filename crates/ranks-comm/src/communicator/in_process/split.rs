//! Construction of in-process communicators: rank 0 of the old one makes the contexts.

use std::sync::Arc;

use crate::communicator::group::sorted;
use crate::result::Result;
use crate::transport::comparison::Comparison;
use crate::transport::in_process::agreements::Purpose;
use crate::transport::in_process::collective::Collective;
use crate::transport::in_process::comm::Comm;

const DUP: &str = "MPI_Comm_dup";
const CREATE: &str = "MPI_Comm_create";
const SPLIT: &str = "MPI_Comm_split";

impl Comm {
    /// Duplicates the communicator: the same members, with the same topology, in a context of their
    /// own. Collective.
    pub(crate) fn dup(&self) -> Result<Self> {
        if self.is_between() {
            return Ok(self.dup_between());
        }
        let context = self.context_of_first(DUP)?;
        let mut dup = self.child(context, Arc::clone(&self.members), self.rank);
        dup.shape.clone_from(&self.shape);
        Ok(dup)
    }

    /// Makes one communicator for each color, ordered by key and then by rank. Collective.
    pub(crate) fn split(&self, color: Option<i32>, key: i32) -> Result<Option<Self>> {
        let word = |number: i32| i64::from(number).cast_unsigned();
        let of = color.map_or([0; 3], |color| [1, word(color), word(key)]);
        let call = Collective::named(SPLIT);
        let Some(all) = self.gather_first(call, &of)? else {
            let words: Vec<u64> = bytemuck::pod_collect_to_vec(&self.coll_recv_vec(call, 0)?);
            return Ok(self.part(&words));
        };
        let (mut order, others): (Vec<usize>, Vec<usize>) =
            (0..self.size()).partition(|&rank| all[rank][0] == 1);
        order.sort_by_key(|&rank| (all[rank][1], all[rank][2].cast_signed()));
        let mut own = Vec::new();
        for part in order.chunk_by(|&a, &b| all[a][1] == all[b][1]) {
            let words = with_context(self.place.world.new_context(), part);
            for &rank in part.iter().filter(|&&rank| rank != 0) {
                self.coll_send(call, rank, bytemuck::cast_slice(&words))?;
            }
            if part.contains(&0) {
                own = words;
            }
        }
        for &rank in others.iter().filter(|&&rank| rank != 0) {
            self.coll_send(call, rank, &[])?;
        }
        Ok(self.part(&own))
    }

    /// Makes a communicator of `members` (world ranks), `None` on the ranks that are not among
    /// them. Collective over self.
    pub(crate) fn create(&self, members: &[usize]) -> Result<Option<Self>> {
        let context = self.context_of_first(CREATE)?;
        let rank = members.iter().position(|&rank| rank == self.place.rank);
        Ok(rank.map(|rank| self.child(context, members.into(), rank)))
    }

    /// Makes a communicator of `members` (world ranks), one of which is this rank. Collective over
    /// them.
    ///
    /// It does not block: the first of them makes the context, and the others find it.
    pub(crate) fn create_group(&self, members: &[usize], tag: i32) -> Option<Self> {
        let rank = members.iter().position(|&rank| rank == self.place.rank)?;
        let members: Arc<[usize]> = members.into();
        let purpose = Purpose::Group(Arc::clone(&members), tag);
        let context = self.agree(purpose, &members);
        Some(self.child(context, members, rank))
    }

    /// A context for a purpose on which `ranks` of the world agree, this one among them.
    pub(crate) fn agree(&self, purpose: Purpose, ranks: &[usize]) -> u64 {
        let world = &self.place.world;
        let new = || world.new_context();
        let me = self.place.rank;
        world
            .agreements
            .find((self.context, purpose), me, ranks, new)
    }

    /// Compares two communicators; local.
    pub(crate) fn compare(&self, other: &Self) -> Comparison {
        if !Arc::ptr_eq(&self.place.world, &other.place.world) {
            return Comparison::Unequal;
        }
        if self.context == other.context {
            return Comparison::Identical;
        }
        if self.members == other.members && self.peers == other.peers {
            return Comparison::Congruent;
        }
        let same = |mine: &[usize], theirs: &[usize]| sorted(mine) == sorted(theirs);
        if same(&self.members, &other.members) && same(&self.peers, &other.peers) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    /// The communicator of a part: its context and its ranks, in words; none if there are no words.
    fn part(&self, words: &[u64]) -> Option<Self> {
        let (context, ranks) = context_and_ranks(words)?;
        let rank = ranks.iter().position(|&rank| rank == self.rank)?;
        let members = ranks.iter().map(|&rank| self.members[rank]).collect();
        Some(self.child(context, members, rank))
    }

    pub(crate) fn child(&self, context: u64, members: Arc<[usize]>, rank: usize) -> Self {
        let common = self.common.children.find(context, &members);
        Self::of(Arc::clone(&self.place), common, context, members, rank)
    }

    /// A new context, which rank 0 makes and all ranks receive.
    fn context_of_first(&self, operation: &'static str) -> Result<u64> {
        let new = || Ok(vec![self.place.world.new_context()]);
        let told = self.told_by(Collective::named(operation), 0, new)?;
        Ok(told.first().copied().unwrap_or_default())
    }
}

/// A new context and the ranks that get it, in words.
pub(super) fn with_context(context: u64, ranks: &[usize]) -> Vec<u64> {
    let ranks = ranks.iter().map(|&rank| rank as u64);
    std::iter::once(context).chain(ranks).collect()
}

/// The content of such words; `None` if there are none.
pub(super) fn context_and_ranks(words: &[u64]) -> Option<(u64, Vec<usize>)> {
    let (&context, ranks) = words.split_first()?;
    let ranks = ranks.iter().filter_map(|&rank| usize::try_from(rank).ok());
    Some((context, ranks.collect()))
}
