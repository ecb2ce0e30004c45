//! numr's communicator.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ranks_comm::{Communicator, Error, ErrorKind, Result};
use ranks_nccl::{NcclCommunicator, RawNccl};
use ranks_raw::{RawCollectives, RawComm};

use crate::communicator::streams::Streams;
use crate::element::{Element, Operation};
use crate::options::NumrOptions;

pub(crate) mod streams;

/// numr's `Communicator`, and its `StreamSyncOps` where the backend has streams, over any
/// [`RawCollectives`].
///
/// It implements the traits of every version of numr whose feature is on. Its behaviour where numr
/// leaves a choice is described [at the top](crate).
///
/// A drop with operations in flight waits for them for a while ([`NumrOptions::drop_limit`]); it
/// logs what went wrong and neither panics nor waits for ever. Other holders of the
/// [`RawCollectives`] find it unusable after a drop that gave up.
pub struct NumrCommunicator {
    pub(crate) raw: Arc<dyn RawCollectives>,
    /// The same ranks, for exchanges about calls. Nothing is in flight on it between two calls.
    pub(crate) aside: Option<Box<dyn RawCollectives>>,
    pub(crate) compares: bool,
    pub(crate) options: NumrOptions,
    pub(crate) streams: Streams,
    /// Counts of the operations that were started, and of those that are certainly complete.
    pub(crate) begun: AtomicU64,
    pub(crate) over: AtomicU64,
}

impl NumrCommunicator {
    /// A communicator over `raw`. Collective if ranks are to compare their calls or to reduce in
    /// the order of ranks.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) if the order of ranks is asked for of a backend that takes
    /// no memory of the host; what the library reports.
    pub fn new(raw: Arc<dyn RawCollectives>, options: NumrOptions) -> Result<Self> {
        let host = raw.takes().host;
        if options.rank_order && !host {
            return Err(Error::new(
                ErrorKind::Argument,
                "NumrCommunicator::new",
                format_args!(
                    "{} does not reduce in the order of ranks; leave NumrOptions::rank_order out",
                    raw.backend()
                ),
            ));
        }
        let compares = options.compare_calls == Some(true) && host && raw.size() > 1;
        let aside = if compares || options.rank_order {
            raw.split(Some(0), 0)?
        } else {
            None
        };
        Ok(Self {
            raw,
            aside,
            compares,
            options,
            streams: Streams::default(),
            begun: AtomicU64::new(0),
            over: AtomicU64::new(0),
        })
    }

    /// A communicator of the ranks of `world`, over MPI or in process. Collective.
    ///
    /// # Errors
    /// The error of the library.
    pub fn over(world: &Communicator, mut options: NumrOptions) -> Result<Self> {
        let raw = RawComm::new(world, options.raw.clone())?;
        options.compare_calls.get_or_insert(world.compares_calls());
        Self::new(Arc::new(raw), options)
    }

    /// A communicator of GPUs, over NCCL, with a stream of its own. Local.
    ///
    /// # Errors
    /// [`Device`](ErrorKind::Device): what the driver reports; as [`new`](Self::new).
    pub fn over_nccl(comm: NcclCommunicator, options: NumrOptions) -> Result<Self> {
        Self::new(Arc::new(RawNccl::new(comm)?), options)
    }

    /// Returns `true` if a reduction with `op` computes with elements of that type. Both are numr's
    /// own, or of [`ranks_raw`].
    ///
    /// Every type can be moved.
    #[must_use]
    pub fn supports(&self, dtype: impl Into<Element>, op: impl Into<Operation>) -> bool {
        let Element(dtype) = dtype.into();
        dtype.is_some_and(|dtype| self.does_reduce(op.into().0, dtype))
    }

    /// The underlying collectives, for what numr's trait lacks: progress, groups of sends and
    /// receives, waits with a time limit.
    #[must_use]
    pub fn raw(&self) -> &Arc<dyn RawCollectives> {
        &self.raw
    }

    /// Aborts all pending operations, from any thread: every wait on this rank gets an error, and
    /// so does every later call.
    ///
    /// Other ranks learn of it by their time limits, or as their library tells them.
    ///
    /// # Errors
    /// The error of the library.
    pub fn abort(&self) -> Result<()> {
        let aborted = self.ending(|| self.raw.abort());
        match &self.aside {
            Some(aside) => aborted.and(aside.abort()),
            None => aborted,
        }
    }

    /// Checks whether a pending operation has failed, without waiting for it. Makes progress as
    /// well.
    ///
    /// # Errors
    /// The error of the operation that has failed.
    pub fn async_error(&self) -> Result<()> {
        self.raw.progress().map(|_| ())
    }

    /// The reason why the communicator is unusable, if it is.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let aside = self.aside.as_deref();
        self.raw
            .failure()
            .or_else(|| aside.and_then(RawCollectives::failure))
    }
}

impl NumrCommunicator {
    /// Runs `end`, which ends, one way or the other, all operations that were started before.
    pub(crate) fn ending<T>(&self, end: impl FnOnce() -> T) -> T {
        let begun = self.begun.load(Ordering::Acquire);
        let outcome = end();
        self.over.fetch_max(begun, Ordering::AcqRel);
        outcome
    }
}

impl Drop for NumrCommunicator {
    fn drop(&mut self) {
        if self.begun.get_mut() == self.over.get_mut() {
            return;
        }
        if let Err(error) = self.raw.wait(self.options.drop_limit) {
            let (rank, size) = (self.raw.rank(), self.raw.size());
            tracing::error!(
                rank,
                size,
                "numr communicator dropped on rank {rank} of {size} with operations in flight, which are given up: {error}"
            );
        }
    }
}

impl fmt::Debug for NumrCommunicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NumrCommunicator")
            .field("raw", &self.raw)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
