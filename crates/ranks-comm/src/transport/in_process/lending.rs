//! Messages of collectives. Short ones are copied; the bytes of a long one stay where they are, and
//! the sender waits until the receiver has read them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::collective::Collective;
use super::comm::Comm;
use super::loan::{Loan, in_pieces};
use super::payload::Payload;
use crate::result::{Error, ErrorKind, Result};

/// From this length on bytes are lent; a shorter message is copied, and its sender does not wait.
const LONG: usize = 32 * 1024;

/// Memory that is lent by messages, with the ranks that have still to read it.
#[derive(Debug)]
struct Lent {
    loan: Loan,
    /// The number of messages, by rank of the receiver.
    unread_by: Box<[AtomicUsize]>,
    unread: AtomicUsize,
    /// The rank in the world that waits.
    owner: usize,
}

/// A part of it, under way to one receiver.
#[derive(Debug)]
pub(crate) struct LentPart {
    lent: Arc<Lent>,
    range: Range<usize>,
    receiver: usize,
}

impl LentPart {
    pub(crate) fn len(&self) -> usize {
        self.range.len()
    }
}

/// The means to send parts of a slice in one collective.
#[derive(Debug)]
pub struct Lending<'a> {
    comm: &'a Comm,
    call: Collective,
    whole: &'a [u8],
    /// `None` if the whole is short.
    lent: Option<Arc<Lent>>,
}

impl Comm {
    /// Calls `send`, which sends parts of `whole` in the context of collectives, and returns when
    /// the long ones are read.
    ///
    /// # Errors
    /// Those of `send`; [`PeerFailed`](ErrorKind::PeerFailed) if a receiver will never read.
    pub fn coll_lending(
        &self,
        call: Collective,
        whole: &[u8],
        send: impl FnOnce(&Lending<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut lending = Lending {
            comm: self,
            call,
            whole,
            lent: None,
        };
        if whole.len() < LONG {
            return send(&lending);
        }
        let lent = Arc::new(Lent {
            loan: Loan::default(),
            unread_by: (0..self.peers()).map(|_| AtomicUsize::new(0)).collect(),
            unread: AtomicUsize::new(0),
            owner: self.place.rank,
        });
        lending.lent = Some(Arc::clone(&lent));
        lent.loan.lend(whole, || {
            let sent = send(&lending);
            let read = self.wait_for_readers(call.operation(), &lent);
            sent.and(read)
        })
    }

    fn wait_for_readers(&self, operation: &'static str, lent: &Lent) -> Result<()> {
        let world = &self.place.world;
        let is_read = || lent.unread.load(Ordering::Acquire) == 0;
        if world.patience.look(|| is_read().then_some(())).is_some() {
            return Ok(());
        }
        world.wait_for(operation, self.place.rank, || {
            if is_read() {
                return Ok(());
            }
            let unread = |&rank: &usize| lent.unread_by[rank].load(Ordering::Acquire) > 0;
            let mut readers = (0..self.peers()).filter(unread);
            let awaited = readers.next().map(|first| {
                let mut all = std::iter::once(first).chain(readers);
                let ended = all.find(|&rank| world.has_ended(self.peers[rank]));
                ended.unwrap_or(first)
            });
            // The last one is read right now if there is none.
            awaited.map_or(Ok(()), |rank| Err((rank, self.peers[rank])))
        })
    }

    /// Takes the next message that `source` sent with [`Lending::send`] or
    /// [`coll_send`](Self::coll_send).
    ///
    /// # Errors
    /// [`Mismatch`](ErrorKind::Mismatch) if it belongs to another call;
    /// [`PeerFailed`](ErrorKind::PeerFailed) if it can never come.
    pub fn coll_take(&self, call: Collective, source: usize) -> Result<Taken<'_>> {
        // A blocking call has it.
        let message = self.coll_message(call, source, true)?;
        let (theirs, payload) = match message {
            Some(message) => (message.collective, message.payload),
            None => (None, Payload::copy(&[])),
        };
        let taken = Taken {
            comm: self,
            operation: call.operation(),
            source,
            payload,
        };
        call.is_that_of(source, theirs)?;
        Ok(taken)
    }
}

impl Lending<'_> {
    /// Sends a part to `dest`. Never blocks.
    ///
    /// # Errors
    /// [`Rank`](ErrorKind::Rank) if there is no such rank.
    pub fn send(&self, dest: usize, part: Range<usize>) -> Result<()> {
        let lent = match &self.lent {
            Some(lent) if part.len() >= LONG => lent,
            _ => return self.comm.coll_send(self.call, dest, &self.whole[part]),
        };
        self.comm.may_send_to(self.call, dest)?;
        lent.unread_by[dest].fetch_add(1, Ordering::Relaxed);
        lent.unread.fetch_add(1, Ordering::Relaxed);
        let part = LentPart {
            lent: Arc::clone(lent),
            range: part,
            receiver: dest,
        };
        let message = self.call.message(self.comm.rank, Payload::Lent(part));
        let world = &self.comm.place.world;
        world.deliver(self.comm.peers[dest], self.comm.context + 1, message);
        Ok(())
    }
}

/// A message of a collective that has been taken out of the mailbox; dropping it tells the sender
/// that it is read.
#[derive(Debug)]
pub struct Taken<'a> {
    comm: &'a Comm,
    operation: &'static str,
    source: usize,
    payload: Payload,
}

impl Taken<'_> {
    /// Its length in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.payload.len()
    }

    /// Reads a part of it, which it must have. What `read` does must end by itself.
    ///
    /// # Errors
    /// [`PeerFailed`](ErrorKind::PeerFailed) if the sender has left its operation.
    pub fn read<R>(&self, range: Range<usize>, read: impl FnOnce(&[u8]) -> R) -> Result<R> {
        let Payload::Lent(part) = &self.payload else {
            return Ok(read(&self.payload.bytes()[range]));
        };
        let start = part.range.start;
        let found = part
            .lent
            .loan
            .read(start + range.start..start + range.end, read);
        found.map_err(|_| self.comm.has_left(self.operation, self.source))
    }

    /// Copies it to `place`, which is as long.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn copy_to(&self, place: &mut [u8]) -> Result<()> {
        in_pieces(0, place, |range, place| {
            self.read(range, |bytes| place.copy_from_slice(bytes))
        })
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let Payload::Lent(part) = &self.payload else {
            return;
        };
        let lent = &part.lent;
        lent.unread_by[part.receiver].fetch_sub(1, Ordering::Release);
        if lent.unread.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.comm.place.world.wake(lent.owner);
        }
    }
}

impl Comm {
    /// The error of a rank whose peer has taken back what it lent.
    #[cold]
    pub(crate) fn has_left(&self, operation: &'static str, rank: usize) -> Error {
        let detail = format_args!(
            "rank {rank} of {} left the operation with an error before this rank had read what it sends",
            self.peers()
        );
        Error::new(ErrorKind::PeerFailed, operation, detail)
    }
}
