//! One rank's part in one collective call: whom it talks to, and what it makes of a block of the
//! wrong length.

use bytemuck::Pod;
use ranks_comm::backend::{Collective, InProcessComm as Comm, Lending, Taken};
use ranks_comm::{Error, ErrorKind, Result};

/// A collective call of this rank.
pub(super) struct RankCall<'a> {
    pub(super) comm: &'a Comm,
    pub(super) collective: Collective,
}

impl<'a> RankCall<'a> {
    /// A call for elements of `T`.
    pub(super) fn of<T: Pod>(comm: &'a Comm, operation: &'static str) -> Self {
        Self {
            comm,
            collective: Collective::of::<T>(operation),
        }
    }

    /// A nonblocking call, which begins here, for elements of `T`.
    pub(super) fn begun<T: Pod>(comm: &'a Comm, operation: &'static str) -> Self {
        Self {
            comm,
            collective: Collective::of::<T>(operation).begun(comm),
        }
    }

    /// The C name.
    pub(super) fn operation(&self) -> &'static str {
        self.collective.operation()
    }

    /// Bytes of an element.
    pub(super) fn width(&self) -> usize {
        self.collective.width()
    }

    pub(super) fn rank(&self) -> usize {
        self.comm.rank()
    }

    pub(super) fn size(&self) -> usize {
        self.comm.size()
    }

    /// The ranks that blocks go to and come from, from 0 up: all but this one, or the other group.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = (!self.comm.is_between()).then_some(self.rank());
        (0..self.comm.peers()).filter(move |&rank| Some(rank) != me)
    }

    /// Sends a copy of `block` to `rank`. Never blocks.
    pub(super) fn send(&self, rank: usize, block: &[u8]) -> Result<()> {
        self.comm.coll_send(self.collective, rank, block)
    }

    /// Sends `block` to `rank`, and returns when it is read unless it is short.
    pub(super) fn send_whole(&self, rank: usize, block: &[u8]) -> Result<()> {
        self.lending(block, |lending| lending.send(rank, 0..block.len()))
    }

    /// Calls `send`, which sends parts of `whole`, and returns when the long ones are read.
    pub(super) fn lending(
        &self,
        whole: &[u8],
        send: impl FnOnce(&Lending<'_>) -> Result<()>,
    ) -> Result<()> {
        self.comm.coll_lending(self.collective, whole, send)
    }

    /// Takes the next block of `rank`, which is of so many bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if it is not. The block is gone all the same.
    pub(super) fn take(&self, rank: usize, length: usize) -> Result<Taken<'a>> {
        let block = self.comm.coll_take(self.collective, rank)?;
        if block.bytes() == length {
            Ok(block)
        } else {
            Err(self.wrong_length(rank, block.bytes(), length))
        }
    }

    /// Receives the next block of `rank`.
    ///
    /// # Errors
    /// As [`take`](Self::take), if it is not as long as `place`, which is then left as it was.
    pub(super) fn receive(&self, rank: usize, place: &mut [u8]) -> Result<()> {
        self.take(rank, place.len())?.copy_to(place)
    }

    /// Says that the block of `rank` has `theirs` bytes and not `ours`.
    pub(super) fn wrong_length(&self, rank: usize, theirs: usize, ours: usize) -> Error {
        self.lengths_differ((rank, theirs), (self.rank(), ours))
    }

    /// Says that the blocks of two ranks differ in their bytes; between two groups the first is of
    /// the other one.
    #[cold]
    pub(super) fn lengths_differ(&self, one: (usize, usize), other: (usize, usize)) -> Error {
        let ((rank, bytes), (another, others)) = (one, other);
        let [theirs, ours] = match self.comm.is_between() {
            true => [" of the other group", " of this group"],
            false => ["", ""],
        };
        let (unit, width) = match self.width() {
            width if width > 0 && bytes.is_multiple_of(width) => ("elements", width),
            _ => ("bytes", 1),
        };
        let detail = format!(
            "rank {rank}{theirs} passed a block of {} {unit}, rank {another}{ours} one of {}",
            bytes / width,
            others / width
        );
        Error::new(
            ErrorKind::Length,
            self.operation(),
            format_args!("{detail}; all ranks must pass the same length and type"),
        )
    }
}

/// The outcome of parts all of which are done, whatever becomes of one: the first error, if any.
pub(super) fn all(parts: impl Iterator<Item = Result<()>>) -> Result<()> {
    parts.fold(Ok(()), Result::and)
}
