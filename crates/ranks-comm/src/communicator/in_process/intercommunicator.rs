//! In-process intercommunicators: two groups that share a context.
//!
//! A message belongs to its context and its receiver. The groups have no rank in common, so that
//! one context serves both directions.

use std::sync::Arc;

use crate::data::raw_slice::Element;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::in_process::agreements::Purpose;
use crate::transport::in_process::collective::Collective;
use crate::transport::in_process::comm::Comm;
use crate::transport::in_process::contexts;
use crate::transport::in_process::mailbox::{Envelope, Pattern};
use crate::transport::in_process::payload::Payload;

impl Comm {
    /// Makes an intercommunicator of the ranks of this communicator and those of another one, whose
    /// leader is `remote_leader` of `peer`.
    pub(crate) fn intercomm_create(
        &self,
        operation: &'static str,
        local_leader: usize,
        peer: &Self,
        remote_leader: usize,
        tag: i32,
    ) -> Result<Self> {
        let call = Collective::named(operation);
        let words = if self.rank == local_leader {
            let words = self.meet(operation, peer, remote_leader, tag)?;
            for rank in (0..self.size()).filter(|&rank| rank != self.rank) {
                self.coll_send(call, rank, bytemuck::cast_slice(&words))?;
            }
            words
        } else {
            to_words(&self.coll_recv_vec(call, local_leader)?)
        };
        let Some((&context, theirs)) = words.split_first() else {
            return Err(Error::new(
                ErrorKind::PeerFailed,
                operation,
                "the leader has not heard of the other group",
            ));
        };
        let theirs: Arc<[usize]> = theirs
            .iter()
            .filter_map(|&rank| usize::try_from(rank).ok())
            .collect();
        if let Some(both) = theirs.iter().find(|rank| self.members.contains(rank)) {
            return Err(Error::new(
                ErrorKind::Argument,
                operation,
                format_args!(
                    "rank {both} of the world is in both groups, which must have none in common"
                ),
            ));
        }
        let mut new = self.child(context, Arc::clone(&self.members), self.rank);
        new.peers = theirs;
        Ok(new)
    }

    /// Exchanges between leaders: the context of the new communicator, and the world ranks of the
    /// remote group.
    fn meet(
        &self,
        operation: &'static str,
        peer: &Self,
        remote_leader: usize,
        tag: i32,
    ) -> Result<Vec<u64>> {
        let world = &self.place.world;
        if !Arc::ptr_eq(world, &peer.place.world) {
            return Err(Error::new(
                ErrorKind::Argument,
                operation,
                "the two communicators belong to runs that know nothing of each other",
            ));
        }
        let mine = world.new_context();
        let members = self.members.iter().map(|&rank| rank as u64);
        let words: Vec<u64> = std::iter::once(mine).chain(members).collect();
        let context = contexts::of_leaders(peer.context);
        let card = Envelope {
            source: peer.rank,
            tag,
            payload: Payload::copy(bytemuck::cast_slice(&words)),
            element: Element::of::<u64>(),
            collective: None,
            receipt: None,
        };
        world.deliver(peer.members[remote_leader], context, card);
        let pattern = Pattern {
            context,
            source: Some(remote_leader),
            tag: Some(tag),
        };
        let found = world.receive(operation, self.place.rank, &pattern, &peer.members)?;
        let mut theirs = to_words(found.payload.bytes());
        if let Some(context) = theirs.first_mut() {
            *context = mine.min(*context);
        }
        Ok(theirs)
    }

    /// Makes an intercommunicator of the same two groups in a context of its own. Collective over
    /// both.
    pub(crate) fn dup_between(&self) -> Self {
        let context = self.agree(Purpose::Dup, &self.of_both());
        let mut new = self.child(context, Arc::clone(&self.members), self.rank);
        new.peers = Arc::clone(&self.peers);
        new
    }

    /// Makes one communicator of both groups; the one that passes `high` comes second. Collective
    /// over both.
    pub(crate) fn intercomm_merge(&self, high: bool) -> Result<Self> {
        let call = Collective::named("MPI_Intercomm_merge");
        if self.rank == 0 {
            for rank in 0..self.peers() {
                self.coll_send(call, rank, &[u8::from(high)])?;
            }
        }
        let mut theirs = [0u8];
        self.coll_recv(call, 0, &mut theirs)?;
        let first = match (high, theirs[0] != 0) {
            (false, true) => true,
            (true, false) => false,
            _ => self.members.first() < self.peers.first(),
        };
        let (before, after) = if first {
            (&self.members, self.rank)
        } else {
            (&self.peers, self.peers() + self.rank)
        };
        let last = if first { &self.peers } else { &self.members };
        let members: Arc<[usize]> = before.iter().chain(last.iter()).copied().collect();
        let context = self.agree(Purpose::Merge, &members);
        // The groups have nothing in common but the world.
        let common = self.ranks().commons.find(context, &members);
        let place = Arc::clone(&self.place);
        Ok(Self::of(place, common, context, members, after))
    }

    fn of_both(&self) -> Vec<usize> {
        self.members
            .iter()
            .chain(self.peers.iter())
            .copied()
            .collect()
    }
}

fn to_words(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks_exact(size_of::<u64>())
        .map(bytemuck::pod_read_unaligned)
        .collect()
}
