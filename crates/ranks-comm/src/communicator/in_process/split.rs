//! Construction of in-process communicators: rank 0 of the old one makes the contexts.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::result::Result;
use crate::transport::comparison::Comparison;
use crate::transport::in_process::agreements::Purpose;
use crate::transport::in_process::collective::Collective;
use crate::transport::in_process::comm::Comm;

/// The context for a rank that belongs to no part.
const NOBODY: u64 = u64::MAX;

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
        let mine = [
            i64::from(color.is_some()),
            i64::from(color.unwrap_or(0)),
            i64::from(key),
        ];
        let call = Collective::named(SPLIT);
        let Some(all) = self.gather_first(call, &mine)? else {
            let mut context = [0u64];
            self.coll_recv(call, 0, bytemuck::cast_slice_mut(&mut context))?;
            let ranks = self.coll_recv_vec(call, 0)?;
            return Ok(self.part(context[0], &ranks));
        };
        let mut order: Vec<usize> = (0..self.size()).filter(|&rank| all[rank][0] == 1).collect();
        order.sort_unstable_by_key(|&rank| (all[rank][1], all[rank][2], rank));
        let mut replies = vec![(NOBODY, Vec::new()); self.size()];
        for part in order.chunk_by(|&a, &b| all[a][1].cmp(&all[b][1]) == Ordering::Equal) {
            let context = self.place.world.new_context();
            let ranks: Vec<u8> = part
                .iter()
                .flat_map(|&rank| (rank as u64).to_ne_bytes())
                .collect();
            for &rank in part {
                replies[rank] = (context, ranks.clone());
            }
        }
        for (rank, (context, ranks)) in replies.iter().enumerate().skip(1) {
            self.coll_send(call, rank, bytemuck::cast_slice(&[*context]))?;
            self.coll_send(call, rank, ranks)?;
        }
        let (context, ranks) = replies.swap_remove(0);
        Ok(self.part(context, &ranks))
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
        let sorted = |ranks: &[usize]| {
            let mut ranks = ranks.to_vec();
            ranks.sort_unstable();
            ranks
        };
        let same = |mine: &[usize], theirs: &[usize]| sorted(mine) == sorted(theirs);
        if same(&self.members, &other.members) && same(&self.peers, &other.peers) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    fn part(&self, context: u64, ranks: &[u8]) -> Option<Self> {
        if context == NOBODY {
            return None;
        }
        let ranks: Vec<usize> = ranks
            .chunks_exact(size_of::<u64>())
            .map(bytemuck::pod_read_unaligned::<u64>)
            .filter_map(|rank| usize::try_from(rank).ok())
            .collect();
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
        let call = Collective::named(operation);
        let mut number = [0u64];
        if self.rank == 0 {
            number[0] = self.place.world.new_context();
            for rank in 1..self.size() {
                self.coll_send(call, rank, bytemuck::cast_slice(&number))?;
            }
        } else {
            self.coll_recv(call, 0, bytemuck::cast_slice_mut(&mut number))?;
        }
        Ok(number[0])
    }

    /// Gathers three numbers of each rank at rank 0, `None` elsewhere.
    fn gather_first(&self, call: Collective, mine: &[i64; 3]) -> Result<Option<Vec<[i64; 3]>>> {
        if self.rank != 0 {
            self.coll_send(call, 0, bytemuck::cast_slice(mine))?;
            return Ok(None);
        }
        let mut all = vec![*mine; self.size()];
        for (rank, theirs) in all.iter_mut().enumerate().skip(1) {
            self.coll_recv(call, rank, bytemuck::cast_slice_mut(theirs))?;
        }
        Ok(Some(all))
    }
}
