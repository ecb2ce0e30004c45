//! Exchange of bytes among all ranks, with a limit on the wait.

use std::ffi::c_int;
use std::fmt;
use std::time::Duration;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Comm, MPI_Request, MPI_Status};

use super::communicator::Comm;
use super::error::check;
use super::pending_op::Cell;
use crate::call::limit::{Limit, Pause};
use crate::data::in_flight::{InFlight, Keep, Over};
use crate::data::raw_slice::OpInfo;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::StartedOp;
use crate::transport::pending_op;

static EXCHANGE: OpInfo = OpInfo::of("MPI_Iallgather");

/// The bytes that are sent and received.
struct Memory {
    mine: Vec<u8>,
    all: Vec<u8>,
}

/// A nonblocking exchange, and the use of its result.
struct Exchanging<F> {
    /// The memory, until completion.
    memory: Option<InFlight<Memory>>,
    then: F,
}

impl<F: Fn(&[u8]) -> Result<()> + Send> Keep for Exchanging<F> {
    fn ended(&mut self, _operation: &'static str) -> Result<()> {
        let memory = self.memory.take();
        // SAFETY: this is called when the library has said that it is over.
        let all = memory.map(|memory| memory.give_back(unsafe { Over::new() }).all);
        (self.then)(&all.unwrap_or_default())
    }
}

impl<F> fmt::Debug for Exchanging<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchanging").finish_non_exhaustive()
    }
}

impl Comm {
    /// Returns `true` if ranks compare their calls.
    pub(crate) fn compares(&self) -> bool {
        self.compares
    }

    /// The time that ranks wait for each other then.
    pub(crate) fn check_limit(&self) -> Duration {
        self.session.comparing.limit
    }

    pub(crate) fn limit_of_job(&self) -> Option<Limit> {
        self.session.limit
    }

    /// Returns `true` if the library may write past a slice in collectives whose ranks pass
    /// different lengths.
    pub(crate) fn may_overrun(&self) -> bool {
        self.session.receives.overrun()
    }

    /// Gathers the bytes of all ranks, which are `size`, in rank order, as many from each; `None`
    /// if not all of them came within the limit of comparisons, or in the time `left`. Collective.
    pub(crate) fn exchange(
        &self,
        mine: &[u8],
        size: usize,
        left: Duration,
    ) -> Result<Option<Vec<u8>>> {
        let (cell, memory) = self.start_exchange(mine, size)?;
        let pending_op::PendingOp::Mpi(mut flight) = self.native(cell, &EXCHANGE, 0) else {
            return Ok(None);
        };
        let mut outcome = None;
        Pause::until(self.session.comparing.limit.min(left), || {
            outcome = flight.test()?;
            Ok(outcome.is_some())
        })?;
        match outcome {
            // SAFETY: the library has said that it is over.
            Some(outcome) => outcome.map(|_| Some(memory.give_back(unsafe { Over::new() }).all)),
            None => {
                self.abandon(flight, memory.into_keep_alive());
                Ok(None)
            }
        }
    }

    /// Starts a nonblocking exchange, and calls `then` with the bytes of all ranks. Collective.
    pub(crate) fn begin_exchange(
        &self,
        mine: &[u8],
        size: usize,
        then: impl Fn(&[u8]) -> Result<()> + Send + 'static,
    ) -> Result<StartedOp> {
        let (cell, memory) = self.start_exchange(mine, size)?;
        let memory = Some(memory);
        let keep = InFlight::new(Box::new(Exchanging { memory, then }) as Box<dyn Keep>);
        Ok(StartedOp::MpiKeeping(cell, keep))
    }

    /// Starts the exchange; the memory must stay until it is complete.
    fn start_exchange(&self, mine: &[u8], size: usize) -> Result<(Cell, InFlight<Memory>)> {
        let (request, memory) = start(self.canonical, mine, size)?;
        // SAFETY: the library is loaded, as there is a `Comm`.
        let cell = unsafe { Cell::holding(request) };
        Ok((cell, memory))
    }
}

/// An exchange of all ranks of the world, without a handle of it. Dropped before it is complete, it
/// leaks its memory.
#[must_use = "it goes on until it was waited for"]
pub(crate) struct OfWorld {
    request: MPI_Request,
    memory: InFlight<Memory>,
}

impl OfWorld {
    /// Starts it, as [`Comm::exchange`] does. Collective.
    pub(crate) fn begin(mine: &[u8], size: usize) -> Result<Self> {
        let (request, memory) = start(sys::MPI_COMM_WORLD, mine, size)?;
        Ok(Self { request, memory })
    }

    /// Waits for it until the limit, or until `is_enough`, which is polled, says that it will not
    /// complete.
    pub(crate) fn wait(
        mut self,
        limit: Duration,
        mut is_enough: impl FnMut() -> bool,
    ) -> Result<Option<Vec<u8>>> {
        let mut is_over = false;
        Pause::until(limit, || {
            is_over = test(&mut self.request)?;
            Ok(is_over || is_enough())
        })?;
        // SAFETY: the library has said that it is over.
        Ok(is_over.then(|| self.memory.give_back(unsafe { Over::new() }).all))
    }
}

/// Tests a request for completion.
pub(crate) fn test(request: &mut MPI_Request) -> Result<bool> {
    let mut flag: c_int = 0;
    let mut status = MPI_Status::EMPTY;
    // SAFETY: the request was begun and is not over, or is null; flag and status are ours.
    let code = unsafe { sys::MPI_Test(request, &raw mut flag, &raw mut status) };
    check(code, "MPI_Test")?;
    Ok(flag != 0)
}

/// Starts the exchange of the same number of bytes from each rank.
fn start(comm: MPI_Comm, mine: &[u8], size: usize) -> Result<(MPI_Request, InFlight<Memory>)> {
    let operation = EXCHANGE.operation();
    let length = mine.len().checked_mul(size);
    let (Some(length), Ok(count)) = (length, c_int::try_from(mine.len())) else {
        let why = format_args!("{} bytes of {size} ranks are too many", mine.len());
        return Err(Error::new(ErrorKind::Length, operation, why));
    };
    let memory = Memory {
        mine: mine.to_vec(),
        all: vec![0; length],
    };
    let bytes = sys::MPI_BYTE;
    let (memory, request) = InFlight::begun(memory, |memory| {
        let (from, to) = (memory.mine.as_ptr().cast(), memory.all.as_mut_ptr().cast());
        let mut request = sys::MPI_REQUEST_NULL;
        // SAFETY: `count` bytes of each rank, for which there is room; both stay until the request
        // is over, or for ever.
        let code = unsafe {
            sys::MPI_Iallgather(from, count, bytes, to, count, bytes, comm, &raw mut request)
        };
        check(code, operation).map(|()| request)
    })?;
    Ok((request, memory))
}
