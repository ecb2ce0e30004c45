//! Sends that do not wait for their receiver, up to a limit of memory.

use std::collections::VecDeque;
use std::fmt;

use crate::call::limit;
use crate::communicator::Communicator;
use crate::data::element::Pod;
use crate::data::source::Destination;
use crate::op::request::Request;
use crate::result::{Error, ErrorKind, Result};

const OPERATION: &str = "MPI_Isend";

/// The name of the wait for memory in errors.
const SEND: &str = "Outbox::send";

/// Nonblocking sends of copies, so that the caller has its buffer back immediately; holds a limited
/// number of bytes of them.
///
/// For programs in which every rank sends before it receives: neighbours in a pipeline whose stages
/// pass activations to the right and gradients to the left, say. With [`Communicator::send`] such
/// ranks deadlock as soon as the messages are longer than the library's own buffers; with `isend`
/// each needs a place to keep its requests. If the receives can be posted first,
/// [`Communicator::scope`] needs no copy.
///
/// [`send`](Self::send) blocks only while copies of pending messages leave no room under the limit.
/// A rank that must send more than the limit before its neighbour receives deadlocks, as it would
/// without: set the limit to what a rank sends between two receives.
///
/// ```
/// # use ranks::{Communicator, Result, p2p::Outbox};
/// fn exchange(world: &Communicator, mine: &[f64], theirs: &mut [f64]) -> Result<()> {
///     let (rank, size) = (world.rank(), world.size());
///     let mut outbox = Outbox::new(world, 64 << 20);
///     outbox.send(mine, (rank + 1) % size, 0)?;
///     world.recv(theirs, (rank + size - 1) % size, 0)?;
///     outbox.finish()
/// }
/// # ranks::run(|world| exchange(&world, &[1.0; 1000], &mut [0.0; 1000])).unwrap();
/// ```
///
/// Messages that are pending when an outbox is dropped stay pending, as a dropped [`Request`] does.
#[must_use = "messages are sent by it; `finish` tells whether they were"]
pub struct Outbox {
    comm: Communicator,
    limit: usize,
    held: usize,
    /// In the order in which they were started.
    staged: VecDeque<Staged>,
}

/// A copy that is in flight.
struct Staged {
    bytes: usize,
    request: Box<dyn Pending>,
}

/// A send of elements of any type.
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
    /// An outbox for messages on `comm` that holds at most `limit` bytes of copies; a single
    /// message may be longer, alone.
    pub fn new(comm: &Communicator, limit: usize) -> Self {
        Self {
            comm: comm.clone(),
            limit,
            held: 0,
            staged: VecDeque::new(),
        }
    }

    /// Starts a nonblocking send of a copy of `data`; waits until there is room for it under the
    /// limit.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`], [`ErrorKind::Tag`], [`ErrorKind::Length`] if there is no memory for the
    /// copy, or the error of an earlier message; [`ErrorKind::TimedOut`] if there is no room at the
    /// time limit. This message was not sent then.
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

    /// Frees the copies of messages that are complete, and returns the number of those that are
    /// pending. Nonblocking.
    ///
    /// # Errors
    /// The error of a message, [`ErrorKind::WrongThread`] or [`ErrorKind::Finalized`]; the others
    /// stay pending.
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

    /// The number of bytes of copies that are held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held
    }

    /// Waits until all sends are complete.
    ///
    /// # Errors
    /// The first error of the messages; all are waited for.
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
