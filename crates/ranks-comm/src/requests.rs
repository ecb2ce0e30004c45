//! Many operations under way, completed in the order in which they end.

use std::fmt;

use crate::communicator::Communicator;
use crate::error::Result;
use crate::flight::{Flight, Pause};
use crate::limit;
use crate::mpi;
use crate::request::Request;
use crate::scope::{Borrowed, ScopedRequest};
use crate::status::Status;
use crate::under_way;

/// Operations that are waited for together: [`Request`]s of one type of buffer, or [`ScopedRequest`]s of one scope.
///
/// Each has a key: how many were put in before it. An operation that is over leaves; when none is left, `wait_any`
/// and its kin say so by `None` or an empty list. Dropped, each is treated as if it were dropped alone.
///
/// ```
/// # use ranks_comm::{Requests, Result};
/// # ranks_comm::run(|world| -> Result<()> {
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
pub struct Requests<R: Pending> {
    /// With their keys.
    pending: Vec<(usize, R)>,
    next: usize,
}

/// An operation that has ended.
#[derive(Debug)]
pub struct Completed<B> {
    /// How many operations were put in before it.
    pub key: usize,
    /// Its buffer.
    pub buffer: B,
    /// How it went.
    pub status: Result<Status>,
}

/// What can be put into [`Requests`]: [`Request`] and [`ScopedRequest`].
pub trait Pending: sealed::Sealed<Memory = Self::Buffer> {
    /// What comes back when it is over.
    type Buffer;
}

mod sealed {
    use super::{Communicator, Flight, Result, Status};

    pub trait Sealed: Sized {
        type Memory;

        /// Whether it is over.
        fn is_over(&mut self) -> Result<bool>;

        /// Waits, and takes it apart; an error means that this thread may not.
        fn end(self) -> Result<(Self::Memory, Result<Status>)>;

        /// The communicator that it is on.
        fn comm(&self) -> &Communicator;

        /// What is under way, if it is kept in the request itself.
        fn flight(&mut self) -> Option<UnderWay<'_>>;
    }

    /// What the crate alone looks into.
    #[derive(Debug)]
    pub struct UnderWay<'a>(pub(crate) &'a mut Flight);
}

impl<B: Send + 'static> Pending for Request<B> {
    type Buffer = B;
}

impl<B: Send + 'static> sealed::Sealed for Request<B> {
    type Memory = B;

    fn is_over(&mut self) -> Result<bool> {
        self.test()
    }

    fn end(self) -> Result<(B, Result<Status>)> {
        self.complete()
    }

    fn comm(&self) -> &Communicator {
        Request::comm(self)
    }

    fn flight(&mut self) -> Option<sealed::UnderWay<'_>> {
        Some(sealed::UnderWay(self.flight_mut()))
    }
}

impl<B: Borrowed> Pending for ScopedRequest<'_, B> {
    type Buffer = Option<B>;
}

impl<B: Borrowed> sealed::Sealed for ScopedRequest<'_, B> {
    type Memory = Option<B>;

    fn is_over(&mut self) -> Result<bool> {
        self.test()
    }

    fn end(self) -> Result<(Option<B>, Result<Status>)> {
        // With an error the slice stays in use until the scope ends.
        Ok(match self.wait() {
            Ok((buffer, status)) => (Some(buffer), Ok(status)),
            Err(error) => (None, Err(error)),
        })
    }

    fn comm(&self) -> &Communicator {
        ScopedRequest::comm(self)
    }

    fn flight(&mut self) -> Option<sealed::UnderWay<'_>> {
        None
    }
}

impl<R: Pending> Requests<R> {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            pending: Vec::new(),
            next: 0,
        }
    }

    /// Puts one in, and gives its key.
    pub fn push(&mut self, request: R) -> usize {
        let key = self.next;
        self.next += 1;
        self.pending.push((key, request));
        key
    }

    /// How many have not been given back.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether all have been given back.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Waits for all of them; they come in the order in which they were put in.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`](crate::ErrorKind::WrongThread) and
    /// [`ErrorKind::Finalized`](crate::ErrorKind::Finalized); what was not waited for goes on by itself. How each operation
    /// went is told with it.
    ///
    /// MPI 5.0 §3.7.5 (`MPI_Waitall`).
    #[doc(alias = "MPI_Waitall")]
    pub fn wait_all(&mut self) -> Result<Vec<Completed<R::Buffer>>> {
        let mut all = Vec::with_capacity(self.pending.len());
        for (key, request) in std::mem::take(&mut self.pending) {
            all.push(completed(key, request)?);
        }
        Ok(all)
    }

    /// Waits for one of them, whichever ends first; `None` if there is none.
    ///
    /// # Errors
    /// As [`wait_all`](Self::wait_all), but nothing leaves.
    ///
    /// MPI 5.0 §3.7.5 (`MPI_Waitany`).
    #[doc(alias = "MPI_Waitany")]
    pub fn wait_any(&mut self) -> Result<Option<Completed<R::Buffer>>> {
        if self.pending.is_empty() {
            return Ok(None);
        }
        let comm = under_way::is_wanted().then(|| self.pending[0].1.comm().clone());
        let entered = comm.as_ref().map(|comm| comm.enter("MPI_Waitany"));
        let mut entered = entered.transpose()?;
        let done = match limit::in_time() {
            Some(call) => call.look(|| self.test_any()),
            None => self.wait_for_one(),
        };
        if let Some(entered) = &mut entered {
            entered.note(&done);
        }
        done.map(Some)
    }

    fn wait_for_one(&mut self) -> Result<Completed<R::Buffer>> {
        let mut pause = Pause::default();
        loop {
            if let Some(done) = self.test_any()? {
                return Ok(done);
            }
            if !self.library_waits()? {
                pause.rest();
            }
        }
    }

    /// Waits until at least one of them is over, and gives all that are; empty if there is none.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    ///
    /// MPI 5.0 §3.7.5 (`MPI_Waitsome`).
    #[doc(alias = "MPI_Waitsome")]
    pub fn wait_some(&mut self) -> Result<Vec<Completed<R::Buffer>>> {
        let mut some: Vec<_> = self.wait_any()?.into_iter().collect();
        if !some.is_empty() {
            some.extend(self.test_some()?);
        }
        Ok(some)
    }

    /// One of them that is over; `None` if none is. Does not wait.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    ///
    /// MPI 5.0 §3.7.5 (`MPI_Testany`).
    #[doc(alias = "MPI_Testany")]
    pub fn test_any(&mut self) -> Result<Option<Completed<R::Buffer>>> {
        for index in 0..self.pending.len() {
            if self.pending[index].1.is_over()? {
                let (key, request) = self.pending.remove(index);
                return completed(key, request).map(Some);
            }
        }
        Ok(None)
    }

    /// All that are over. Does not wait.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    ///
    /// MPI 5.0 §3.7.5 (`MPI_Testsome`).
    #[doc(alias = "MPI_Testsome")]
    pub fn test_some(&mut self) -> Result<Vec<Completed<R::Buffer>>> {
        let mut some = Vec::new();
        let mut index = 0;
        while index < self.pending.len() {
            if self.pending[index].1.is_over()? {
                let (key, request) = self.pending.remove(index);
                some.push(completed(key, request)?);
            } else {
                index += 1;
            }
        }
        Ok(some)
    }

    /// All of them, if all are over; `None` if one is not, and nothing leaves then. Does not wait.
    ///
    /// # Errors
    /// As [`wait_all`](Self::wait_all).
    ///
    /// MPI 5.0 §3.7.5 (`MPI_Testall`).
    #[doc(alias = "MPI_Testall")]
    pub fn test_all(&mut self) -> Result<Option<Vec<Completed<R::Buffer>>>> {
        let mut all = true;
        for (_, request) in &mut self.pending {
            all &= request.is_over()?;
        }
        if all {
            self.wait_all().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Has the library wait for one of them, if it has all of them; whether it did.
    fn library_waits(&mut self) -> Result<bool> {
        let flights = self
            .pending
            .iter_mut()
            .map(|(_, request)| request.flight().map(|flight| flight.0));
        match flights.collect::<Option<Vec<_>>>() {
            Some(flights) => mpi::wait_any(flights),
            None => Ok(false),
        }
    }
}

fn completed<R: Pending>(key: usize, request: R) -> Result<Completed<R::Buffer>> {
    let (buffer, status) = request.end()?;
    Ok(Completed {
        key,
        buffer,
        status,
    })
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
