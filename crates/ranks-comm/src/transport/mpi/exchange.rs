//! Exchange of bytes among all ranks, and of words that are joined, with a limit on the wait.

use std::ffi::{c_int, c_void};
use std::time::Duration;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Comm, MPI_Op, MPI_Request};

use super::begun::Begun;
use super::communicator::Comm;
use super::pending_op::Cell;
use crate::call::limit::Pause;
use crate::data::in_flight::{InFlight, Keep, Over};
use crate::data::raw_slice::OpInfo;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::StartedOp;
use crate::transport::join::Join;

static EXCHANGE: OpInfo = OpInfo::of("MPI_Iallgather");
static JOINING: OpInfo = OpInfo::of("MPI_Iallreduce");

/// The operator of the library.
pub(crate) fn op(join: Join) -> MPI_Op {
    match join {
        Join::And => sys::MPI_BAND,
        Join::Or => sys::MPI_BOR,
        Join::Min => sys::MPI_MIN,
        Join::Sum => sys::MPI_SUM,
    }
}

/// The bytes, or the words, that are sent and received.
pub(crate) struct Memory<E> {
    mine: Vec<E>,
    pub(super) all: Vec<E>,
}

/// A nonblocking exchange or joining, and the use of its result.
struct Exchanging<E, F> {
    /// The memory, until completion.
    memory: Option<InFlight<Memory<E>>>,
    then: F,
}

impl<E: Send, F: Fn(&[E]) -> Result<()> + Send> Keep for Exchanging<E, F> {
    fn ended(&mut self, _operation: &'static str) -> Result<()> {
        let memory = self.memory.take();
        // SAFETY: this is called when the library has said that it is over.
        let all = memory.map(|memory| memory.give_back(unsafe { Over::new() }).all);
        (self.then)(&all.unwrap_or_default())
    }
}

impl Comm {
    /// Waits up to `limit` until the detached operations of that name are complete; returns which.
    pub(crate) fn settle(&self, operation: &str, limit: Duration) -> Result<bool> {
        let detached = &self.session.detached;
        Pause::until(limit, &mut || {
            let is_over = !detached.any_of(operation, self.canonical);
            if !is_over {
                detached.sweep();
            }
            Ok(is_over)
        })
    }

    /// The outcome of an operation of all ranks; `None` if not all of them came within the limit of
    /// comparisons, or in the time `left`, or if detached operations have shown that they
    /// `never_come`.
    pub(crate) fn finish<E: Send + 'static>(
        &self,
        begun: Begun<Memory<E>>,
        left: Duration,
        never_come: impl Fn() -> bool,
    ) -> Result<Option<Vec<E>>> {
        let Begun {
            request,
            memory,
            role,
        } = begun;
        // SAFETY: the library is loaded, as there is a `Comm`.
        let cell = unsafe { Cell::holding(request) };
        let mut flight = self.request(cell, role, 0);
        let limit = self.session.comparing.limit.min(left);
        let detached = &self.session.detached;
        let any_detached = detached.any_on(self.canonical);
        let mut outcome = None;
        if limit == Duration::MAX && !any_detached {
            // The library makes progress all the time then, for what others do to windows here too.
            outcome = Some(flight.wait()?);
        } else {
            Pause::until(limit, &mut || {
                outcome = flight.test()?;
                if outcome.is_some() || !any_detached {
                    return Ok(outcome.is_some());
                }
                detached.sweep();
                Ok(never_come())
            })?;
        }
        match outcome {
            // SAFETY: the library has said that it is over.
            Some(outcome) => outcome.map(|_| Some(memory.give_back(unsafe { Over::new() }).all)),
            None => {
                self.session
                    .adopt(self.canonical, flight, memory.into_keep_alive());
                Ok(None)
            }
        }
    }
}

impl<E: Send + 'static> Begun<Memory<E>> {
    /// The operation, and the use of its result.
    pub(crate) fn then(self, then: impl Fn(&[E]) -> Result<()> + Send + 'static) -> StartedOp {
        let memory = Some(self.memory);
        let keep = InFlight::new(Box::new(Exchanging { memory, then }) as Box<dyn Keep>);
        // SAFETY: the library is loaded, as it has begun the request.
        let cell = unsafe { Cell::holding(self.request) };
        StartedOp::MpiKeeping(cell, keep)
    }
}

/// Starts to gather the bytes of all ranks, which are `size`, in rank order, as many from each.
/// Collective.
pub(crate) fn gather(comm: MPI_Comm, mine: &[u8], size: usize) -> Result<Begun<Memory<u8>>> {
    let length = mine.len().checked_mul(size);
    let (Some(length), Ok(count)) = (length, c_int::try_from(mine.len())) else {
        let why = format_args!("{} bytes of {size} ranks are too many", mine.len());
        return Err(Error::new(ErrorKind::Length, EXCHANGE.operation, why));
    };
    let bytes = sys::MPI_BYTE;
    start(&EXCHANGE, mine, length, |from, to, request| {
        // SAFETY: `count` bytes of each rank, for which there is room; both stay until the request
        // is over, or for ever.
        unsafe { sys::MPI_Iallgather(from, count, bytes, to, count, bytes, comm, request) }
    })
}

/// Starts to join the words of all ranks, which pass as many. Collective.
pub(crate) fn join(comm: MPI_Comm, words: &[u64], by: Join) -> Result<Begun<Memory<u64>>> {
    let Ok(count) = c_int::try_from(words.len()) else {
        let many = words.len();
        let why = format_args!("{many} words are too many");
        return Err(Error::new(ErrorKind::Length, JOINING.operation, why));
    };
    start(&JOINING, words, words.len(), |from, to, request| {
        // SAFETY: `count` words each way; both stay until the request is over, or for ever.
        unsafe { sys::MPI_Iallreduce(from, to, count, sys::MPI_UINT64_T, op(by), comm, request) }
    })
}

/// Starts an operation on memory that it gets the addresses of.
fn start<E: Copy + Default>(
    role: &'static OpInfo,
    mine: &[E],
    length: usize,
    begin: impl FnOnce(*const c_void, *mut c_void, *mut MPI_Request) -> c_int,
) -> Result<Begun<Memory<E>>> {
    let memory = Memory {
        mine: mine.to_vec(),
        all: vec![E::default(); length],
    };
    Begun::new(role, memory, |memory, request| {
        let (from, to) = (memory.mine.as_ptr().cast(), memory.all.as_mut_ptr().cast());
        begin(from, to, request)
    })
}
