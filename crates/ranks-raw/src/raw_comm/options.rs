//! The options of a communicator over addresses.
#![allow(unsafe_code)]

use std::time::Duration;

use ranks_cuda::Cuda;

/// The ways in which a [`RawComm`](crate::RawComm) waits, copies and fails. The same on every rank.
#[derive(Debug, Clone)]
#[must_use]
pub struct RawOptions {
    pub(crate) time_limit: Option<Duration>,
    pub(crate) abort_job: bool,
    pub(crate) direct: bool,
    pub(crate) staged_sends: usize,
    pub(crate) progress_thread: bool,
    pub(crate) stage_device_memory: bool,
    pub(crate) cuda: Option<Cuda>,
}

impl Default for RawOptions {
    fn default() -> Self {
        Self {
            time_limit: None,
            abort_job: false,
            direct: false,
            staged_sends: 256 << 20,
            progress_thread: false,
            stage_device_memory: false,
            cuda: None,
        }
    }
}

impl RawOptions {
    /// No time limit, no thread, memory of the host alone, failures reported, 256 MiB of staged
    /// sends.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time that [`sync`](crate::RawCollectives::sync) and
    /// [`barrier`](crate::RawCollectives::barrier) wait. If this is not given: as long as
    /// operations of the communicator may when it is made (`RANKS_TIMEOUT`), or else for ever.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Sets whether a failure ends the job, as
    /// [`Communicator::abort`](ranks_comm::Communicator::abort) does, instead of being reported: a
    /// time limit that has passed, [`abort`](crate::RawCollectives::abort), or the same on another
    /// rank.
    ///
    /// Nobody sees memory after a failure then, so that libmpi works on the memory of the caller
    /// and nothing is copied (see [`direct`](Self::direct)).
    pub fn abort_job(mut self, abort: bool) -> Self {
        self.abort_job = abort;
        self
    }

    /// Has libmpi work on the memory of the caller instead of copies.
    ///
    /// MPI cannot take back a collective operation that was begun. So that no memory is in use
    /// after an error, what is sent is copied when an operation begins, and what is received when
    /// it is over, unless this is said; in process nothing needs to be copied.
    ///
    /// # Safety
    /// After an error of [`sync`](crate::RawCollectives::sync) and its kin, after
    /// [`abort`](crate::RawCollectives::abort), and if the communicator is dropped before a `sync`
    /// has returned `Ok`, all memory that was passed since the last such `sync` stays allocated,
    /// and is not used, until the runtime has ended.
    #[expect(
        unsafe_code,
        reason = "a promise of the caller's, which nothing here can check"
    )]
    pub unsafe fn direct(mut self) -> Self {
        self.direct = true;
        self
    }

    /// Sets the number of bytes of messages that were sent and not yet received that may wait in
    /// copies, so that `sync` does not wait for the receiver: two ranks that both send, `sync`, and
    /// receive then go on. What is sent beyond it is waited for by `sync` until the receiver takes
    /// it. With 0 every message is, and is not copied for that reason.
    pub fn staged_sends(mut self, bytes: usize) -> Self {
        self.staged_sends = bytes;
        self
    }

    /// Sets whether a thread looks after operations in flight while the program computes. Most
    /// libraries do nothing outside of calls, so that without it operations go on only while
    /// somebody waits or calls [`progress`](crate::RawCollectives::progress).
    ///
    /// It needs a core, or a part of the caller's, as long as something is under way, and sleeps
    /// otherwise.
    pub fn progress_thread(mut self, thread: bool) -> Self {
        self.progress_thread = thread;
        self
    }

    /// Sets whether memory of a GPU is copied to pinned memory of the host and back. The copies do
    /// not wait for streams of the program: what is sent must be there when an operation begins.
    ///
    /// It is not where libmpi works on the caller's memory ([`direct`](Self::direct),
    /// [`abort_job`](Self::abort_job)) and says that it takes that of GPUs
    /// (`MPIX_Query_cuda_support`), or `RANKS_GPU_AWARE=1` says so for it; averages, reductions of
    /// which it knows nothing, as of 16-bit floats, and with Open MPI all reductions go by copies
    /// then too. Otherwise an address of a GPU is an error of kind
    /// [`Argument`](ranks_comm::ErrorKind::Argument).
    pub fn stage_device_memory(mut self, stage: bool) -> Self {
        self.stage_device_memory = stage;
        self
    }

    /// The CUDA driver that knows which memory is a GPU's, if it is not the one that
    /// [`Cuda::loaded`] finds in this process.
    pub fn cuda(mut self, cuda: Cuda) -> Self {
        self.cuda = Some(cuda);
        self
    }
}
