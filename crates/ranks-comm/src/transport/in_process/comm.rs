//! One rank's side of an in-process communicator: point-to-point communication over the mailboxes.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ranks_launch::Count;

use super::channels::Channels;
use super::collective::Collective;
use super::common::Common;
use super::mailbox::{Envelope, Pattern, Receipt};
use super::membership::Membership;
use super::payload::{Payload, Sent};
use super::world::{Mailbox, WORLD_CONTEXT, World};
use crate::call::inside::Alone;
use crate::call::limit::{self, Limit};
use crate::call::lock::lock;
use crate::call::record::Recorder;
use crate::call::thread_level::ThreadLevel;
use crate::call::unreceived;

use crate::data::element::Pod;
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::result::{Error, ErrorKind, Result, Status};
use crate::transport::info::Info;
use crate::transport::shape::Shape;

/// A communicator among threads of this process.
pub struct Comm {
    pub(crate) place: Arc<Membership>,
    pub(crate) context: u64,
    /// The world ranks of the members, in rank order.
    pub(crate) members: Arc<[usize]>,
    /// The world ranks that messages go to and come from: the members, or the remote group.
    pub(crate) peers: Arc<[usize]>,
    pub(crate) rank: usize,
    /// The hints that were set; none has an effect here.
    pub(crate) info: Mutex<Info>,
    /// The number of nonblocking collectives that this rank has started.
    pub(crate) begun: AtomicU64,
    pub(crate) common: Arc<Common>,
    pub(crate) shape: Option<Arc<Shape>>,
    pub(crate) channels: Channels,
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Comm")
            .field("context", &self.context)
            .field("rank", &self.rank)
            .field("members", &self.members)
            .finish_non_exhaustive()
    }
}

impl Comm {
    /// The communicator of all ranks, seen from `place`.
    pub(crate) fn world(place: Arc<Membership>) -> Self {
        let members = Arc::clone(&place.world.ranks);
        let rank = place.rank;
        let common = place.world.commons.find(WORLD_CONTEXT, &members);
        Self::of(place, common, WORLD_CONTEXT, members, rank)
    }

    /// The communicator of these ranks of the world in that context, seen from `place`, which is
    /// rank `rank` of it.
    pub(crate) fn of(
        place: Arc<Membership>,
        common: Arc<Common>,
        context: u64,
        members: Arc<[usize]>,
        rank: usize,
    ) -> Self {
        Self {
            common,
            place,
            context,
            peers: Arc::clone(&members),
            members,
            rank,
            info: Mutex::default(),
            begun: AtomicU64::new(0),
            shape: None,
            channels: Channels::default(),
        }
    }

    /// The rank.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// The number of ranks that messages go to.
    #[must_use]
    pub fn peers(&self) -> usize {
        self.peers.len()
    }

    /// Returns `true` for an intercommunicator.
    #[must_use]
    pub fn is_between(&self) -> bool {
        !Arc::ptr_eq(&self.members, &self.peers)
    }

    /// The world ranks of the remote group.
    pub(crate) fn remote_world_ranks(&self) -> &[usize] {
        &self.peers
    }

    /// A new recorder for it.
    pub(crate) fn recorder(&self) -> Arc<Recorder> {
        let world = self.place.home().world;
        let members = Arc::clone(&self.members);
        if self.context == WORLD_CONTEXT {
            Recorder::of_world(world, self.rank, self.size())
        } else {
            let place = (self.place.rank, self.place.world.size());
            let is_world = members.iter().copied().eq(0..place.1);
            let own = (self.rank, self.size());
            Recorder::with(world, self.context, own, members, is_world, place)
        }
    }

    /// All ranks of the world.
    pub(crate) fn ranks(&self) -> &Arc<World> {
        &self.place.world
    }

    /// The time limit of operations, unless another one is set.
    pub(crate) fn limit_of_job(&self) -> Option<Limit> {
        self.place.world.limit()
    }

    /// The mailbox of this rank.
    pub(super) fn mailbox(&self) -> &Mailbox {
        &self.place.world.mailboxes[self.place.rank]
    }

    pub(crate) fn members(&self) -> &[usize] {
        &self.members
    }

    #[inline]
    pub(crate) fn enter(&self, operation: &'static str) -> Result<Option<Alone<'_>>> {
        if self.place.gate.is_open() {
            return Ok(None);
        }
        self.place.gate.enter(operation)
    }

    /// The thread level.
    pub(crate) fn thread_level(&self) -> ThreadLevel {
        self.place.gate.level()
    }

    /// Ends this rank's part in the world.
    pub(crate) fn close(&self) {
        self.place.gate.close();
        self.place.world.end(self.place.rank);
    }

    /// Returns `true` if this rank has failed.
    pub(crate) fn has_failed(&self) -> bool {
        let place = &self.place;
        place.world.failed_ranks(usize::MAX).contains(&place.rank)
    }

    /// The number of other communicators of this rank, and of what keeps one.
    pub(crate) fn other_holders(&self) -> usize {
        Arc::strong_count(&self.place).saturating_sub(1)
    }

    /// Returns `true` if it was the last one.
    pub(crate) fn end(self) -> bool {
        Arc::into_inner(self.place).is_some()
    }

    /// Sets the name for what is told of the run.
    pub(crate) fn set_name(&self, name: &str) {
        if unreceived::IS_TOLD {
            lock(&self.ranks().names).insert(self.context, name.to_owned());
        }
    }

    /// The hints that were set.
    pub(crate) fn info(&self) -> Info {
        lock(&self.info).clone()
    }

    /// Sets hints; earlier ones with other keys stay.
    pub(crate) fn set_info(&self, info: &Info) {
        let mut known = lock(&self.info);
        for (key, value) in info.iter() {
            known.put(key, value);
        }
    }

    /// Sends a copy of `bytes` and returns.
    pub(crate) fn send(&self, sent: Sent<'_>, dest: Destination, tag: i32) -> Result<()> {
        if let Destination::Rank(dest) = dest {
            self.deliver("MPI_Send", dest, self.context, tag, sent, None)?;
        }
        Ok(())
    }

    /// Sends a copy of `bytes` and returns when it has been matched.
    pub(crate) fn ssend(
        &self,
        operation: &'static str,
        sent: Sent<'_>,
        dest: Destination,
        tag: i32,
    ) -> Result<()> {
        let Destination::Rank(dest) = dest else {
            return Ok(());
        };
        let receipt = Receipt::new(self.place.rank, self.context);
        let signed = Some(receipt.clone());
        self.deliver(operation, dest, self.context, tag, sent, signed)?;
        self.place
            .world
            .await_receipt(operation, &receipt, self.peers[dest])
    }

    pub(crate) fn recv<T: Pod>(
        &self,
        operation: &'static str,
        buf: &mut [T],
        source: Source,
        tag: Tag,
    ) -> Result<Status> {
        match self.mprobe(operation, source, tag)? {
            Some(message) => message.copy_into(operation, buf),
            None => Ok(Status::null()),
        }
    }

    pub(crate) fn probe(
        &self,
        operation: &'static str,
        source: Source,
        tag: Tag,
    ) -> Result<Status> {
        let Some(pattern) = self.pattern(source, tag) else {
            return Ok(Status::null());
        };
        let place = &self.place;
        let (source, tag, bytes) =
            place
                .world
                .probe(operation, place.rank, &pattern, &self.peers)?;
        Ok(Status::local(source, tag, bytes))
    }

    pub(crate) fn iprobe(
        &self,
        operation: &'static str,
        source: Source,
        tag: Tag,
    ) -> Result<Option<Status>> {
        let Some(pattern) = self.pattern(source, tag) else {
            return Ok(Some(Status::null()));
        };
        let place = &self.place;
        let found = place.world.try_probe(operation, place.rank, &pattern)?;
        Ok(found.map(|(source, tag, bytes)| Status::local(source, tag, bytes)))
    }

    /// Matches a message and takes it out of the mailbox; `None` from [`Source::Null`].
    pub(crate) fn mprobe(
        &self,
        operation: &'static str,
        source: Source,
        tag: Tag,
    ) -> Result<Option<Envelope>> {
        let Some(pattern) = self.pattern(source, tag) else {
            return Ok(None);
        };
        let place = &self.place;
        let found = place
            .world
            .receive(operation, place.rank, &pattern, &self.peers)?;
        Ok(Some(found))
    }

    /// As [`Comm::mprobe`], but the outer `None` means that no message has arrived.
    pub(crate) fn improbe(
        &self,
        operation: &'static str,
        source: Source,
        tag: Tag,
    ) -> Result<Option<Option<Envelope>>> {
        let Some(pattern) = self.pattern(source, tag) else {
            return Ok(Some(None));
        };
        let place = &self.place;
        let found = place.world.try_receive(operation, place.rank, &pattern)?;
        Ok(found.map(Some))
    }

    /// Sends a copy of `bytes` to `dest` in the context of collectives, which no point-to-point
    /// receive can see.
    ///
    /// Messages of one call from one rank to another arrive in the order in which they were sent.
    /// Never blocks.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if there is no such rank.
    pub fn coll_send(&self, call: Collective, dest: usize, bytes: &[u8]) -> Result<()> {
        self.may_send_to(call, dest)?;
        let message = call.message(self.rank, Payload::copy(bytes));
        let world = &self.place.world;
        world.deliver(self.peers[dest], self.context + 1, message);
        Ok(())
    }

    /// Receives the next message that `source` sent with [`Comm::coll_send`].
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if it belongs to another call; [`ErrorKind::Length`] if it is not
    /// exactly as long as `into`; [`ErrorKind::PeerFailed`] if it can never come.
    pub(crate) fn coll_recv(&self, call: Collective, source: usize, into: &mut [u8]) -> Result<()> {
        let message = self.coll_take(call, source)?;
        if message.bytes() != into.len() {
            return Err(Error::new(
                ErrorKind::Length,
                call.operation(),
                format_args!(
                    "rank {source} sent {} to rank {} of {}, which expects {}; \
                     all ranks must pass lengths that agree",
                    Count(message.bytes(), "byte"),
                    self.rank,
                    self.size(),
                    into.len()
                ),
            ));
        }
        message.copy_to(into)
    }

    /// As [`Comm::coll_recv`], for a message of any length.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] and [`ErrorKind::PeerFailed`], as there.
    pub(crate) fn coll_recv_vec(&self, call: Collective, source: usize) -> Result<Vec<u8>> {
        let message = self.coll_take(call, source)?;
        let mut bytes = vec![0; message.bytes()];
        message.copy_to(&mut bytes)?;
        Ok(bytes)
    }

    /// The number of this rank's next nonblocking collective; the same on every rank, as all call
    /// them in the same order. Never 0.
    pub(super) fn next_number(&self) -> i32 {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        i32::try_from(number % 0x7fff_ffff).unwrap_or(0) + 1
    }

    /// The next message of a nonblocking call from `source`, once; `None` if it has not arrived.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if it belongs to another call; [`ErrorKind::PeerFailed`] if it can
    /// never come.
    pub fn coll_arrival(
        &self,
        call: Collective,
        source: usize,
        wait: bool,
    ) -> Result<Option<Vec<u8>>> {
        let Some(message) = self.coll_message(call, source, wait)? else {
            return Ok(None);
        };
        call.is_that_of(source, message.collective)?;
        Ok(Some(message.payload.into_vec()))
    }

    pub(super) fn coll_message(
        &self,
        call: Collective,
        source: usize,
        wait: bool,
    ) -> Result<Option<Envelope>> {
        self.check_member(call.operation(), source)?;
        let pattern = Pattern {
            context: self.context + 1,
            source: Some(source),
            tag: Some(call.number()),
        };
        let (world, me) = (&self.place.world, self.place.rank);
        if wait {
            let is_blocking = call.number() == 0;
            let message = world.wait(call.operation(), me, &pattern, &self.peers, |queues| {
                let never = || self.goes_on(call.operation(), limit::is_limited).err();
                let never = || is_blocking.then(never).flatten();
                queues.take(&pattern).map(Ok).or_else(|| never().map(Err))
            });
            if is_blocking
                && let Err(error) = &message
                && error.kind() == ErrorKind::TimedOut
            {
                self.break_off();
            }
            return message?.map(Some);
        }
        world.try_receive_from(call.operation(), me, &pattern, &self.peers)
    }

    pub(super) fn may_send_to(&self, call: Collective, dest: usize) -> Result<()> {
        self.check_member(call.operation(), dest)?;
        if call.number() == 0 {
            return self.goes_on(call.operation(), || false);
        }
        // A nonblocking one ends without who has left others.
        self.place.world.not_revoked(call.operation(), self.context)
    }

    fn check_member(&self, operation: &'static str, rank: usize) -> Result<()> {
        if rank < self.peers() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Rank,
            operation,
            format_args!("rank {rank} of a communicator of {}", self.peers()),
        ))
    }

    pub(crate) fn deliver(
        &self,
        operation: &'static str,
        dest: usize,
        context: u64,
        tag: i32,
        sent: Sent<'_>,
        receipt: Option<Receipt>,
    ) -> Result<()> {
        self.place.world.not_revoked(operation, context)?;
        let dest = self.peers[dest];
        let message = Envelope {
            source: self.rank,
            tag,
            payload: Payload::copy(sent.bytes),
            element: sent.element,
            collective: None,
            receipt,
        };
        self.place.world.deliver(dest, context, message);
        Ok(())
    }

    pub(crate) fn pattern(&self, source: Source, tag: Tag) -> Option<Pattern> {
        let source = match source {
            Source::Any => None,
            Source::Rank(rank) => Some(rank),
            Source::Null => return None,
        };
        let tag = match tag {
            Tag::Any => None,
            Tag::Value(tag) => Some(tag),
        };
        Some(Pattern {
            context: self.context,
            source,
            tag,
        })
    }
}
