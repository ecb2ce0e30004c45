//! Options for making a symmetric heap.

use std::time::Duration;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::Cuda;
use ranks_launch::Ground;
use ranks_nvshmem_sys::NvshmemLibrary;

use crate::backend::in_process::Delivery;

/// The backend of a symmetric heap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeapBackend {
    /// Memory of the host, if `RANKS_BACKEND` is `inprocess`; else NVSHMEM. Where that is not
    /// there, there is no heap: nothing takes its place in silence.
    #[default]
    Auto,
    /// NVSHMEM: PEs are processes, and the memory is that of GPUs.
    Library,
    /// No library: PEs are threads of this process, and the memory is that of the host.
    InProcess,
}

/// Options for making a symmetric heap.
///
/// ```
/// use std::time::Duration;
/// use ranks::nvshmem::{HeapBackend, NvshmemOptions};
///
/// let options = NvshmemOptions::new()
///     .backend(HeapBackend::InProcess)
///     .time_limit(Duration::from_secs(60));
/// # drop(options);
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct NvshmemOptions {
    pub(crate) backend: HeapBackend,
    pub(crate) library: Option<&'static NvshmemLibrary>,
    pub(crate) cuda: Option<Cuda>,
    pub(crate) device: Option<usize>,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) delivery: Delivery,
}

impl NvshmemOptions {
    /// The backend that `RANKS_BACKEND` says, the library and the driver that are found, the device
    /// that the PE's place on its node says, no time limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the backend of the heap.
    pub fn backend(mut self, backend: HeapBackend) -> Self {
        self.backend = backend;
        self
    }

    /// This library instead of the one that is found.
    pub fn library(mut self, library: &'static NvshmemLibrary) -> Self {
        self.library = Some(library);
        self
    }

    /// This driver instead of the one that is found.
    pub fn cuda(mut self, cuda: Cuda) -> Self {
        self.cuda = Some(cuda);
        self
    }

    /// The number of this PE's GPU. Where it is not said, it is the PE's number modulo the number
    /// of GPUs that the process sees.
    pub fn device(mut self, ordinal: usize) -> Self {
        self.device = Some(ordinal);
        self
    }

    /// Sets the time limit of a wait of this PE for streams, or for other PEs.
    ///
    /// Messages of the PEs over the bootstrap have the time limit of the bootstrap. A call of
    /// NVSHMEM itself cannot be left: with a limit barriers and operations of teams are done on a
    /// stream, and what all PEs make, free or end together is called only after they have said that
    /// they come. Splits and the end of a team of fewer PEs, and teams that are made by an id, wait
    /// without a limit.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// In process, whether what is put is seen as late as the rules allow: at the PE's next `quiet`
    /// or barrier, or, by a fence, before its next signal; and whether what is put or gotten by
    /// forms with `nbi` is read no sooner. What no fence parts is delivered the last first.
    /// Programs that forget to ask for completion, or for order, are found out so.
    pub fn late_delivery(mut self, late: bool) -> Self {
        self.delivery = if late {
            Delivery::Late
        } else {
            Delivery::AtOnce
        };
        self
    }

    /// Returns whether the heap is to be in process.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if `RANKS_BACKEND` says nothing that is known.
    pub(crate) fn in_process(&self, operation: &'static str) -> Result<bool> {
        match self.backend {
            HeapBackend::Library => Ok(false),
            HeapBackend::InProcess => Ok(true),
            HeapBackend::Auto => Ground::asked()
                .map(|asked| asked == Some(Ground::InProcess))
                .map_err(|reason| Error::new(ErrorKind::Argument, operation, reason)),
        }
    }
}
