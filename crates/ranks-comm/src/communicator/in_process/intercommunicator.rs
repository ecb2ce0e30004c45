//! In-process intercommunicators: two groups that share a context.
//!
//! A message belongs to its context and its receiver. The groups have no rank in common, so that
//! one context serves both directions.

use std::sync::Arc;

use crate::communicator::in_process::split::{context_and_ranks, with_context};
use crate::result::{Error, ErrorKind, Result};
use crate::transport::in_process::agreements::Purpose;
use crate::transport::in_process::collective::Collective;
use crate::transport::in_process::comm::Comm;
use crate::transport::in_process::contexts;
use crate::transport::in_process::mailbox::Pattern;
use crate::transport::in_process::payload::Sent;

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
        let meet = || self.meet(operation, peer, remote_leader, tag);
        let words = self.told_by(call, local_leader, meet)?;
        let Some((context, theirs)) = context_and_ranks(&words) else {
            let why = "the leader has not heard of the other group";
            return Err(Error::new(ErrorKind::PeerFailed, operation, why));
        };
        if let Some(both) = theirs.iter().find(|rank| self.members.contains(rank)) {
            let why = format_args!(
                "rank {both} of the world is in both groups, which must have none in common"
            );
            return Err(Error::new(ErrorKind::Argument, operation, why));
        }
        let mut new = self.child(context, Arc::clone(&self.members), self.rank);
        new.peers = theirs.into();
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
            let why = "the two communicators belong to runs that know nothing of each other";
            return Err(Error::new(ErrorKind::Argument, operation, why));
        }
        let mine = world.new_context();
        let words = with_context(mine, &self.members);
        let context = contexts::of_leaders(peer.context);
        peer.deliver(
            operation,
            remote_leader,
            context,
            tag,
            Sent::of(&words),
            None,
        )?;
        let pattern = Pattern {
            context,
            source: Some(remote_leader),
            tag: Some(tag),
        };
        let found = world.receive(operation, self.place.rank, &pattern, &peer.members)?;
        let mut theirs: Vec<u64> = bytemuck::pod_collect_to_vec(found.payload.bytes());
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
        let (members, rank) = if first {
            (self.of_both(), self.rank)
        } else {
            let members = [&*self.peers, &*self.members].concat();
            (members, self.peers() + self.rank)
        };
        let context = self.agree(Purpose::Merge, &members);
        let members: Arc<[usize]> = members.into();
        // The groups have nothing in common but the world.
        let common = self.ranks().commons.find(context, &members);
        let place = Arc::clone(&self.place);
        Ok(Self::of(place, common, context, members, rank))
    }

    fn of_both(&self) -> Vec<usize> {
        [&*self.members, &*self.peers].concat()
    }
}
