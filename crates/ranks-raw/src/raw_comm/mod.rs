//! The trait over addresses, on any communicator.
#![allow(unsafe_code)]

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use ranks_collectives::backend::{is_predefined, is_root};
use ranks_collectives::{NonblockingCollectives, Number, Reduction};
use ranks_comm::backend::Backend;
use ranks_comm::{Communicator, Error, ErrorKind, Request, Result};

use super::{Dtype, RawCollectives, RawOp};
use crate::memory::elements::{Change, Elements, Places, PromisedMemory};
use crate::raw_comm::arguments::combines_device_memory;
use crate::raw_comm::in_flight::{InFlight, Operation, StartedOp};
use crate::raw_comm::numbers::{Task, multiply, with_number};
use crate::raw_comm::options::RawOptions;

mod arguments;
mod failure;
mod in_flight;
mod numbers;
mod operations;
pub(crate) mod options;

/// [`RawCollectives`] over MPI or in process.
///
/// It has a duplicate of a communicator to itself. Operations are those of
/// [`NonblockingCollectives`]; they go on while somebody waits or calls
/// [`progress`](RawCollectives::progress), or by a thread of their own
/// ([`RawOptions::progress_thread`]).
///
/// ```
/// use std::ffi::c_void;
/// use ranks::raw::{Dtype, RawCollectives, RawComm, RawOp, RawOptions};
///
/// fn total(world: &ranks::Communicator, data: &mut [f32]) -> ranks::Result<()> {
///     let comm = RawComm::new(world, RawOptions::new())?;
///     let address: *mut c_void = data.as_mut_ptr().cast();
///     // SAFETY: `data` is there, and nobody looks at it, until `sync` has returned.
///     unsafe { comm.allreduce(address, address, data.len(), Dtype::F32, RawOp::Sum) }?;
///     comm.sync()
/// }
/// ```
///
/// # Memory
///
/// Over MPI operations work on copies, unless [`RawOptions`] say otherwise: of what is sent when
/// they begin, and of what is received, which gets to its place when the operation is seen to be
/// over. What is sent may so be changed before `sync`, which other implementations do not allow. In
/// process there are no copies but the messages themselves.
///
/// # Numbers
///
/// Reductions compute with what [`Number`] is, `f16` and `bf16` with the feature `half`, complex
/// numbers with `num-complex`. 16-bit numbers are combined two at a time as `f32`.
/// [`PreMulSum`](RawOp::PreMulSum) multiplies a copy, in the precision of the elements but for
/// 16-bit numbers, for which it is `f32`. 8-bit floating-point numbers and `bool` are moved only.
///
/// # Failures
///
/// A rank that gives up, by [`abort`](RawCollectives::abort), a time limit or a failure of the
/// library, tells the others, who learn of it while they wait: within milliseconds, if they and the
/// library are alive. A rank that computes is not told before it comes back.
///
/// # Threads
///
/// Any thread may begin operations, one at a time; the order among threads is the program's
/// business, and must be the same on all ranks. `sync` waits for what all threads have begun, so
/// that two threads that each wait for messages of their own may wait for each other.
///
/// # When it is dropped
///
/// It waits for nothing. What is under way is left to the runtime, messages that were sent arrive,
/// and results of other operations go nowhere.
pub struct RawComm {
    shared: Arc<Shared>,
    options: RawOptions,
    /// Held while something is begun: libraries need the same order on all ranks.
    order: Mutex<()>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    // Dropped first: what is under way is on the communicator.
    under_way: InFlight,
    places: Places,
    comm: Communicator,
}

impl RawComm {
    /// For the ranks of `comm`, in a communicator of its own. Collective.
    ///
    /// # Errors
    /// Errors of the library; [`WrongThread`](ErrorKind::WrongThread) if there is to be a progress
    /// thread and the thread level does not allow one; [`Argument`](ErrorKind::Argument) if no
    /// thread can be started.
    pub fn new(comm: &Communicator, mut options: RawOptions) -> Result<Self> {
        options.time_limit = options.time_limit.or_else(|| comm.time_limit());
        Self::with_own(comm.dup_for("RawComm::new")?, options)
    }

    /// The same with a communicator that nobody else has.
    pub(super) fn with_own(comm: Communicator, options: RawOptions) -> Result<Self> {
        let in_process = matches!(comm.backend(), Backend::InProcess(_));
        let given = in_process || options.abort_job || options.direct;
        let under_way = InFlight::new(&comm, &options)?;
        // SAFETY: in process an operation works on memory only while it is asked; where failures
        // end the job nobody sees the end of one; `RawOptions::direct` has the promise of its
        // caller.
        let places = unsafe { Places::new(given) };
        let shared = Arc::new(Shared {
            under_way,
            places,
            comm,
        });
        let thread = match options.progress_thread {
            true => Some(looking_after(&shared)?),
            false => None,
        };
        Ok(Self {
            shared,
            options,
            order: Mutex::new(()),
            thread,
        })
    }

    pub(super) fn comm(&self) -> &Communicator {
        &self.shared.comm
    }

    pub(super) fn options(&self) -> &RawOptions {
        &self.options
    }

    pub(super) fn places(&self) -> &Places {
        &self.shared.places
    }

    pub(super) fn under_way(&self) -> &InFlight {
        &self.shared.under_way
    }

    /// Lets one thread begin something, unless nothing works any more.
    pub(super) fn enter(&self, operation: &'static str) -> Result<MutexGuard<'_, ()>> {
        self.under_way().failing.check(operation)?;
        Ok(self.order.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins what moves blocks from `send` to `recv`, told what they are.
    ///
    /// # Safety
    /// Both may be read and written as the trait says.
    pub(super) unsafe fn moving(
        &self,
        name: &'static str,
        send: &PromisedMemory,
        recv: PromisedMemory,
        begin: impl FnOnce(
            &Communicator,
            Elements<u8>,
            Elements<u8>,
        ) -> Result<Request<(Elements<u8>, Elements<u8>)>>,
    ) -> Result<()> {
        let _order = self.enter(name)?;
        // SAFETY: by this function's contract.
        let (from, to, out) = unsafe { self.places().both(send, recv, None) }?;
        let request = begin(self.comm(), from, to)?;
        // SAFETY: by this function's contract.
        let begun = unsafe { StartedOp::new(request, out) };
        self.under_way().push(name, begun, None)
    }

    /// Begins a reduction from `send` to `recv`.
    ///
    /// # Safety
    /// Both may be read and written as the trait says.
    pub(super) unsafe fn reducing(
        &self,
        name: &'static str,
        (dtype, op): (Dtype, RawOp),
        form: ResultRanks,
        send: &PromisedMemory,
        recv: PromisedMemory,
    ) -> Result<()> {
        let _order = self.enter(name)?;
        let scale = |factor| move |bytes: &mut [u8]| multiply(dtype, bytes, factor);
        let change = match op {
            RawOp::PreMulSum(factor) => Some(scale(factor)),
            _ => None,
        };
        let task = Reducing {
            raw: self,
            form,
            send,
            recv,
            change: change.as_ref().map(|change| change as &Change),
        };
        let begun = with_number(dtype, op, task).ok_or_else(|| unsupported(name, op, dtype))??;
        self.under_way().push(name, begun, None)
    }

    pub(super) fn supported(&self, name: &'static str, op: RawOp, dtype: Dtype) -> Result<()> {
        if self.supports(op, dtype) {
            return Ok(());
        }
        Err(unsupported(name, op, dtype))
    }

    /// Returns `true` if this rank is the root.
    pub(super) fn is_root(&self, name: &'static str, root: usize) -> Result<bool> {
        is_root(name, self.comm(), root)
    }

    pub(super) fn barrier_within(&self, name: &'static str) -> Result<()> {
        self.under_way().sync(name)?;
        let order = self.enter(name)?;
        let request = self.comm().ibarrier()?;
        // SAFETY: nothing is received.
        let begun = unsafe { StartedOp::new(request, None) };
        self.under_way().push(name, begun, None)?;
        drop(order);
        self.under_way().sync(name)
    }
}

/// The ranks that get the results of a reduction.
#[derive(Clone, Copy)]
pub(super) enum ResultRanks {
    All,
    Root(usize),
    Each,
}

/// Begins one of them.
struct Reducing<'a> {
    raw: &'a RawComm,
    form: ResultRanks,
    send: &'a PromisedMemory,
    recv: PromisedMemory,
    change: Option<&'a Change>,
}

impl Task for Reducing<'_> {
    type Outcome = Result<Box<dyn Operation>>;

    fn with<T: Number, O: Reduction<T> + Send + 'static>(self, op: O) -> Self::Outcome {
        let comm = self.raw.comm();
        let by_the_library = is_predefined::<T, O>() && !O::FINISHES && combines_device_memory();
        let (send, recv) = match by_the_library {
            true => (self.send.clone(), self.recv),
            false => (self.send.clone().seen_here(), self.recv.seen_here()),
        };
        // SAFETY: `RawComm::reducing`, which alone makes one, has the promise of its caller.
        let places = unsafe { self.raw.places().both::<T>(&send, recv, self.change) };
        let (from, to, out) = places?;
        let request = match self.form {
            ResultRanks::All => comm.iallreduce(from, to, op),
            ResultRanks::Root(root) => comm.ireduce(from, to, op, root),
            ResultRanks::Each => comm.ireduce_scatter_block(from, to, op),
        };
        // SAFETY: as above.
        Ok(unsafe { StartedOp::new(request?, out) })
    }
}

#[cold]
fn unsupported(name: &'static str, op: RawOp, dtype: Dtype) -> Error {
    Error::new(
        ErrorKind::Type,
        name,
        format_args!("{op:?} is not defined for elements of type {dtype:?} here"),
    )
}

/// A thread that looks after what is under way.
fn looking_after(shared: &Arc<Shared>) -> Result<JoinHandle<()>> {
    const NAME: &str = "RawComm::new";
    if !shared.comm.lets_threads_call() {
        return Err(Error::new(
            ErrorKind::WrongThread,
            NAME,
            "a progress thread needs MPI_THREAD_MULTIPLE",
        ));
    }
    let shared = Arc::clone(shared);
    thread::Builder::new()
        .name("ranks-raw".to_owned())
        .spawn(move || shared.under_way.look_after())
        .map_err(|reason| Error::new(ErrorKind::Argument, NAME, &reason).with_source(reason))
}

impl Drop for RawComm {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.under_way().stop();
            // It looks once more at most; and if it has panicked, nothing is left to be done.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for RawComm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawComm")
            .field("backend", &self.comm().library())
            .field("rank", &self.rank())
            .field("size", &self.size())
            .field("under_way", self.under_way())
            .finish_non_exhaustive()
    }
}
