//! Sets of pending operations, completed in any order.

mod pending;

use std::fmt;
use std::time::{Duration, Instant};

use crate::call::hold;
use crate::call::limit::{self, Pause};
use crate::communicator::Communicator;
use crate::op::mpi::any::wait_any;
use crate::op::mpi::request_copies::ROOMS;
use crate::op::ordered::Ordered;
use crate::result::{Error, ErrorKind, Result, Status};

pub use pending::Pending;

/// Operations that are completed together: [`Request`](crate::Request)s of one type of buffer, or
/// [`ScopedRequest`](crate::ScopedRequest)s of one scope.
///
/// Each has a key: the number of operations put in before it. A complete operation leaves the set;
/// `wait_any` and its kin return `None` or an empty list when none is left. Dropping the set drops
/// each operation as if it were alone.
///
/// If an operation that a call completes has failed, the call returns an error, of the kind of the
/// first failure. The error has the [statuses](crate::Error::statuses) of all that the call has
/// completed, [`take_ended`](Self::take_ended) their buffers:
///
/// ```
/// # use ranks::{Communicator, ErrorKind, Requests, Result};
/// # fn example(world: &Communicator) -> Result<()> {
/// let mut arriving: Requests<_> = [1, 3]
///     .map(|room| world.irecv(vec![0u8; room], world.rank(), room as i32))
///     .into_iter()
///     .collect::<Result<_>>()?;
/// world.isend(vec![7u8; 3], world.rank(), 1)?.wait()?; // into room for 1
/// world.isend(vec![7u8; 3], world.rank(), 3)?.wait()?;
/// let error = arriving.wait_all().expect_err("the first message is too long");
/// assert_eq!(error.kind(), ErrorKind::Truncated);
/// let failed: Vec<_> = error.statuses().iter().map(|(_, status)| status.is_err()).collect();
/// assert_eq!(failed, [true, false]);
/// let ended = arriving.take_ended();
/// assert_eq!((ended[1].key, &ended[1].buffer), (1, &vec![7; 3]));
/// # Ok(()) }
/// # ranks::run(|world| example(&world)).unwrap();
/// ```
///
/// ```
/// # use ranks::{Requests, Result};
/// # ranks::run(|world| -> Result<()> {
/// let mut arriving = Requests::new();
/// for source in 0..world.size() {
///     arriving.push(world.irecv_vec::<u32>(source, 0)?);
/// }
/// for dest in 0..world.size() {
///     world.isend(vec![world.rank() as u32; 10], dest, 0)?.wait()?;
/// }
/// while let Some(done) = arriving.wait_any()? {
///     assert_eq!(done.buffer, [done.key as u32; 10]);
/// }
/// # Ok(()) }).unwrap();
/// ```
///
/// MPI 5.0 §3.7.5.
#[must_use = "operations are over when they have been waited for"]
pub struct Requests<R: Pending> {
    pending: Ordered<R>,
    next: usize,
    /// The operations that were complete when a call failed.
    ended: Vec<Ended<R::Buffer>>,
}

/// A complete operation.
#[derive(Debug)]
#[must_use = "it has the buffer of the operation, and says how much of it was received"]
pub struct Completed<B, S = Status> {
    /// The number of operations that were put in before it.
    pub key: usize,
    /// Its buffer.
    pub buffer: B,
    /// Its status.
    pub status: S,
}

/// A complete operation; it has a status if it did not fail.
type Ended<B> = Completed<B, Option<Status>>;

impl<R: Pending> Requests<R> {
    /// An empty set.
    pub fn new() -> Self {
        Self {
            pending: Ordered::default(),
            next: 0,
            ended: Vec::new(),
        }
    }

    /// Adds an operation and returns its key.
    pub fn push(&mut self, request: R) -> usize {
        let key = self.next;
        self.next += 1;
        self.pending.push(key, request);
        key
    }

    /// The number of operations that are pending, as far as calls have found out.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Returns `true` if no operation is pending, as far as calls have found out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.len() == 0
    }

    /// Waits for all of them. They are returned in the order in which they were added.
    ///
    /// # Errors
    /// If one has failed, its error, when all are complete; [`Error::statuses`] has all of them,
    /// and [`take_ended`](Self::take_ended) their buffers. With [`ErrorKind::WrongThread`] and
    /// [`ErrorKind::Finalized`], operations that are not complete are still pending and owned by
    /// the runtime. At a time limit, with [`ErrorKind::TimedOut`], so are those that are not
    /// receives; receives are cancelled: they have taken no message.
    ///
    /// MPI 5.0 §3.7.5 (`MPI_Waitall`).
    #[doc(alias = "MPI_Waitall")]
    pub fn wait_all(&mut self) -> Result<Vec<Completed<R::Buffer>>> {
        const OPERATION: &str = "MPI_Waitall";
        let comm = self.listed();
        // One time limit for all of them. Each tells by itself that this thread may not wait.
        let _entered = comm.as_ref().and_then(|comm| comm.enter(OPERATION).ok());
        let count = self.pending.len();
        let ended = end_each(count, self.pending.take_all());
        self.tell(OPERATION, ended)
    }

    /// Takes the operations that were complete when a call failed: each with its buffer, and with
    /// its status if it did not fail.
    #[must_use = "it has the buffers of operations"]
    pub fn take_ended(&mut self) -> Vec<Completed<R::Buffer, Option<Status>>> {
        std::mem::take(&mut self.ended)
    }

    /// Waits until one of them is complete; `None` if the set is empty.
    ///
    /// # Errors
    /// If that one has failed. Otherwise as [`wait_all`](Self::wait_all), but no operation leaves
    /// the set then.
    ///
    /// MPI 5.0 §3.7.5 (`MPI_Waitany`).
    #[doc(alias = "MPI_Waitany")]
    pub fn wait_any(&mut self) -> Result<Option<Completed<R::Buffer>>> {
        self.any("MPI_Waitany")
    }

    /// Waits in `operation` until one is complete; `None` if the set is empty.
    fn any(&mut self, operation: &'static str) -> Result<Option<Completed<R::Buffer>>> {
        if self.is_empty() {
            return Ok(None);
        }
        let comm = self.listed();
        let entered = comm.as_ref().map(|comm| comm.enter(operation));
        let mut entered = entered.transpose()?;
        let key = match limit::in_time() {
            Some(call) => call.look(|| self.one_that_is_over()),
            None => self.wait_for_one(),
        };
        if let Some(entered) = &mut entered {
            entered.note(&key);
        }
        self.give(operation, key?).map(Some)
    }

    /// The communicator of the first of them, on which the wait for all is listed, if calls are.
    fn listed(&self) -> Option<Communicator> {
        let first = self.pending.first().filter(|_| hold::is_wanted())?;
        Some(first.comm().clone())
    }

    /// The key of a complete operation; waits for one.
    fn wait_for_one(&mut self) -> Result<usize> {
        let (mut pause, begun) = (Pause::default(), Instant::now());
        loop {
            if let Some(key) = self.one_that_is_over()? {
                return Ok(key);
            }
            if !self.library_waits()? {
                for (_, request) in self.pending.iter_mut() {
                    request.is_in_time(begun)?;
                }
                pause.rest();
            }
        }
    }

    /// Waits until at least one is complete, and returns all that are; empty if the set is empty.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    ///
    /// MPI 5.0 §3.7.5 (`MPI_Waitsome`).
    #[doc(alias = "MPI_Waitsome")]
    pub fn wait_some(&mut self) -> Result<Vec<Completed<R::Buffer>>> {
        match self.any("MPI_Waitsome")? {
            None => Ok(Vec::new()),
            Some(first) => self.some("MPI_Waitsome", Some(first)),
        }
    }

    /// Returns one that is complete; `None` if none is. Nonblocking.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    ///
    /// MPI 5.0 §3.7.5 (`MPI_Testany`).
    #[doc(alias = "MPI_Testany")]
    pub fn test_any(&mut self) -> Result<Option<Completed<R::Buffer>>> {
        let key = self.one_that_is_over()?;
        key.map(|key| self.give("MPI_Testany", key)).transpose()
    }

    /// Returns all that are complete. Nonblocking.
    ///
    /// # Errors
    /// If any of them has failed; [`Error::statuses`] has all of them, and
    /// [`take_ended`](Self::take_ended) their buffers. Otherwise as [`wait_all`](Self::wait_all).
    ///
    /// MPI 5.0 §3.7.5 (`MPI_Testsome`).
    #[doc(alias = "MPI_Testsome")]
    pub fn test_some(&mut self) -> Result<Vec<Completed<R::Buffer>>> {
        self.some("MPI_Testsome", None)
    }

    /// Returns all of them if all are complete; `None` if one is not, and none leaves the set then.
    /// Nonblocking.
    ///
    /// # Errors
    /// As [`wait_all`](Self::wait_all).
    ///
    /// MPI 5.0 §3.7.5 (`MPI_Testall`).
    #[doc(alias = "MPI_Testall")]
    pub fn test_all(&mut self) -> Result<Option<Vec<Completed<R::Buffer>>>> {
        let mut all = true;
        for (_, request) in self.pending.iter_mut() {
            all &= request.is_over()?;
        }
        if all {
            self.wait_all().map(Some)
        } else {
            Ok(None)
        }
    }

    /// The key of an operation that is complete, if any is.
    fn one_that_is_over(&mut self) -> Result<Option<usize>> {
        for (key, request) in self.pending.iter_mut() {
            if request.is_over()? {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// Removes and returns the operation of that key, which is complete.
    fn give(&mut self, operation: &'static str, key: usize) -> Result<Completed<R::Buffer>> {
        let ended = end_each(1, self.pending.take(key));
        let mut given = self.tell(operation, ended)?;
        given.pop().ok_or_else(|| gone(operation))
    }

    /// Removes and returns all that are complete, besides `first`.
    fn some(
        &mut self,
        operation: &'static str,
        first: Option<Completed<R::Buffer>>,
    ) -> Result<Vec<Completed<R::Buffer>>> {
        let mut over = Vec::new();
        let mut asked = Ok(());
        for (key, request) in self.pending.iter_mut() {
            match request.is_over() {
                Ok(true) => over.push(key),
                Ok(false) => {}
                Err(error) => {
                    asked = Err(error);
                    break;
                }
            }
        }
        let count = over.len();
        let over = over.into_iter();
        let over = over.filter_map(|key| self.pending.take(key));
        let mut ended = end_each(count, over);
        ended.otherwise = ended.otherwise.and(asked);
        if let Some(first) = first {
            ended.complete.insert(
                0,
                Completed {
                    key: first.key,
                    buffer: first.buffer,
                    status: Ok(first.status),
                },
            );
        }
        self.tell(operation, ended)
    }

    /// Returns the complete operations if none has failed and there is no other error; otherwise
    /// keeps them for `take_ended`.
    fn tell(
        &mut self,
        operation: &'static str,
        ended: EndedEach<R::Buffer>,
    ) -> Result<Vec<Completed<R::Buffer>>> {
        let EndedEach {
            complete,
            timed_out,
            otherwise,
        } = ended;
        let well = complete.iter().all(|one| one.status.is_ok());
        if well && timed_out.is_empty() && otherwise.is_ok() {
            let well = complete.into_iter().filter_map(|one| {
                let (key, buffer, status) = (one.key, one.buffer, one.status.ok()?);
                Some(Completed {
                    key,
                    buffer,
                    status,
                })
            });
            return Ok(well.collect());
        }
        let late = timed_out.into_iter().map(|(key, error)| (key, Err(error)));
        let mut statuses: Vec<_> = late.collect();
        for Completed {
            key,
            buffer,
            status,
        } in complete
        {
            self.ended.push(Completed {
                key,
                buffer,
                status: status.as_ref().ok().copied(),
            });
            statuses.push((key, status));
        }
        statuses.sort_unstable_by_key(|(key, _)| *key);
        Err(match otherwise {
            Ok(()) => Error::in_status(operation, statuses),
            Err(error) => error.with_statuses(statuses),
        })
    }

    /// Lets the library wait for one of them, if it has all of them and there are not too many.
    /// Returns `true` if it did.
    fn library_waits(&mut self) -> Result<bool> {
        if self.pending.len() > ROOMS {
            return Ok(false);
        }
        let flights = self
            .pending
            .iter_mut()
            .map(|(_, request)| request.flight().map(|flight| flight.0));
        match flights.collect::<Option<Vec<_>>>() {
            Some(flights) => wait_any(flights),
            None => Ok(false),
        }
    }
}

/// The ends of several operations.
struct EndedEach<B> {
    complete: Vec<Completed<B, Result<Status>>>,
    /// The operations that are owned by the runtime since their time limit.
    timed_out: Vec<(usize, Error)>,
    /// The reason for which others were not waited for.
    otherwise: Result<()>,
}

/// Completes each of so many in turn. Once the time limit of the call has passed, or one could not
/// be waited for, none is.
fn end_each<R: Pending>(
    count: usize,
    requests: impl IntoIterator<Item = (usize, R)>,
) -> EndedEach<R::Buffer> {
    let mut complete = Vec::with_capacity(count);
    let (mut timed_out, mut otherwise) = (Vec::new(), Ok(()));
    let mut late = false;
    for (key, mut request) in requests {
        // Those that are complete are told all the same.
        let may_wait = timed_out.is_empty() && otherwise.is_ok() && !late;
        let outcome = if may_wait || request.is_over().unwrap_or(false) {
            request.end()
        } else if late {
            request.end_late()
        } else {
            continue;
        };
        if let Ok((_, Err(error))) | Err(error) = &outcome {
            late |= error.kind() == ErrorKind::TimedOut && has_passed();
        }
        match outcome {
            Ok((buffer, status)) => complete.push(Completed {
                key,
                buffer,
                status,
            }),
            Err(error) if error.kind() == ErrorKind::TimedOut => timed_out.push((key, error)),
            Err(error) => otherwise = otherwise.and(Err(error)),
        }
    }
    EndedEach {
        complete,
        timed_out,
        otherwise,
    }
}

/// Returns `true` if this thread is in a call whose time limit has passed.
fn has_passed() -> bool {
    limit::may_end().is_some_and(|call| call.left() == Some(Duration::ZERO))
}

#[cold]
fn gone(operation: &'static str) -> Error {
    Error::new(
        ErrorKind::Argument,
        operation,
        "the operation is not pending",
    )
}

impl<R: Pending> Default for Requests<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Pending> Extend<R> for Requests<R> {
    fn extend<I: IntoIterator<Item = R>>(&mut self, requests: I) {
        for request in requests {
            self.push(request);
        }
    }
}

impl<R: Pending> FromIterator<R> for Requests<R> {
    fn from_iter<I: IntoIterator<Item = R>>(requests: I) -> Self {
        let mut all = Self::new();
        all.extend(requests);
        all
    }
}

impl<R: Pending> fmt::Debug for Requests<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests")
            .field("pending", &self.pending.len())
            .finish_non_exhaustive()
    }
}
