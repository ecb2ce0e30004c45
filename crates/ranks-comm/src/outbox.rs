//! Sends that need not wait for their receiver, within a limit of memory.

use std::collections::VecDeque;
use std::fmt;

use crate::communicator::Communicator;
use crate::element::Pod;
use crate::error::{Error, ErrorKind, Result};
use crate::limit;
use crate::request::Request;
use crate::source::Destination;

const OPERATION: &str = "MPI_Isend";

/// What errors call the wait for room.
const SEND: &str = "Outbox::send";

/// Sends copies, so that the caller goes on at once and has its buffer back, and holds at most so many bytes of them.
///
/// For programs in which every rank sends before it receives: neighbours in a pipeline whose stages pass activations
/// to the right and gradients to the left, say. With [`Communicator::send`] such ranks wait for each other for ever as soon as
/// the messages are longer than the library's own buffers; with `isend` each needs a place to keep its requests. If the
/// receives can be begun first, [`Communicator::scope`] does without the copy.
///
/// [`send`](Self::send) waits only while the copies of earlier messages that are still needed leave no room under the limit.
/// A rank that must send more than the limit before its neighbour receives waits for ever, as it would without: let the
/// limit be what a rank sends between two receives.
///
/// ```
/// # use ranks_comm::{Communicator, Outbox, Result};
/// fn exchange(world: &Communicator, mine: &[f64], theirs: &mut [f64]) -> Result<()> {
///     let (rank, size) = (world.rank(), world.size());
///     let mut outbox = Outbox::new(world, 64 << 20);
///     outbox.send(mine, (rank + 1) % size, 0)?;
///     world.recv(theirs, (rank + size - 1) % size, 0)?;
///     outbox.finish()
/// }
/// # ranks_comm::run(|world| exchange(&world, &[1.0; 1000], &mut [0.0; 1000])).unwrap();
/// ```
///
/// What is not over when an outbox is dropped goes on, as a dropped [`Request`] does.
#[must_use = "messages are sent by it; `finish` tells whether they were"]
pub struct Outbox {
    comm: Communicator,
    limit: usize,
    held: usize,
    /// In the order in which they were begun.
    staged: VecDeque<Staged>,
}

/// A copy that is under way.
struct Staged {
    bytes: usize,
    request: Box<dyn Pending>,
}

/// A send, whatever the type of its elements.
trait Pending: Send {
    fn is_over(&mut self) -> Result<bool>;
    fn finish(self: Box<Self>) -> Result<()>;
}

impl<T: Pod + Send> Pending for Request<Vec<T>> {
    fn is_over(&mut self) -> Result<bool> {
        self.test()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.wait().map(drop)
    }
}

impl Outbox {
    /// An outbox for messages on `comm` that holds at most `limit` bytes of copies; a single message may be longer, alone.
    pub fn new(comm: &Communicator, limit: usize) -> Self {
        Self {
            comm: comm.clone(),
            limit,
            held: 0,
            staged: VecDeque::new(),
        }
    }

    /// Copies `data` and begins to send the copy; waits until there is room for it under the limit.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`], [`ErrorKind::Tag`], [`ErrorKind::Length`] if there is no memory for the copy, or what became
    /// of an earlier message; [`ErrorKind::TimedOut`] if there is no room at the time limit. This one was not sent then.
    ///
    /// MPI 5.0 §3.7.2 (`MPI_Isend`).
    pub fn send<T: Pod + Send>(
        &mut self,
        data: &[T],
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        let bytes = size_of_val(data);
        if !self.has_room(bytes)? {
            let comm = self.comm.clone();
            let _entered = comm.enter(SEND)?;
            limit::look(|| Ok(self.has_room(bytes)?.then_some(())))?;
        }
        let mut copy = Vec::new();
        copy.try_reserve_exact(data.len()).map_err(|reason| {
            let text = format_args!(
                "no memory for a copy of {bytes} bytes ({reason}); send it with `scope`"
            );
            Error::new(ErrorKind::Length, OPERATION, text)
        })?;
        copy.extend_from_slice(data);
        let request = Box::new(self.comm.isend(copy, dest, tag)?);
        self.held += bytes;
        self.staged.push_back(Staged { bytes, request });
        Ok(())
    }

    fn has_room(&mut self, bytes: usize) -> Result<bool> {
        Ok(self.sync()? == 0 || self.held.saturating_add(bytes) <= self.limit)
    }

    /// Lets go of the copies that are no longer needed, and says how many messages are still under way. Waits for none.
    ///
    /// # Errors
    /// What became of a message, [`ErrorKind::WrongThread`] or [`ErrorKind::Finalized`]; the others go on.
    pub fn sync(&mut self) -> Result<usize> {
        let mut index = 0;
        while let Some(staged) = self.staged.get_mut(index) {
            if !staged.request.is_over()? {
                index += 1;
            } else if let Some(over) = self.staged.remove(index) {
                self.held -= over.bytes;
                over.request.finish()?;
            }
        }
        Ok(self.staged.len())
    }

    /// How many bytes of copies are held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held
    }

    /// Waits until all messages are on their way to their receivers.
    ///
    /// # Errors
    /// The first of what became of the messages; all are waited for.
    ///
    /// MPI 5.0 §3.7.5 (`MPI_Waitall`).
    pub fn finish(mut self) -> Result<()> {
        let mut outcome = Ok(());
        for staged in self.staged.drain(..) {
            outcome = outcome.and(staged.request.finish());
        }
        outcome
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox")
            .field("limit", &self.limit)
            .field("held", &self.held)
            .field("under_way", &self.staged.len())
            .finish_non_exhaustive()
    }
}
