//! All that the driver knows, and how a call begins.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::events::Event;
use crate::memory::Blocks;
use crate::modules::Modules;
use crate::streams::Stream;

/// `CUresult`.
pub(crate) type Code = c_int;
pub(crate) type Answer<T = ()> = Result<T, Code>;

pub(crate) const SUCCESS: Code = 0;
pub(crate) const INVALID_VALUE: Code = 1;
pub(crate) const OUT_OF_MEMORY: Code = 2;
pub(crate) const NOT_INITIALIZED: Code = 3;
pub(crate) const NO_DEVICE: Code = 100;
pub(crate) const INVALID_DEVICE: Code = 101;
pub(crate) const INVALID_CONTEXT: Code = 201;
pub(crate) const INVALID_HANDLE: Code = 400;
pub(crate) const INVALID_IMAGE: Code = 200;
pub(crate) const NOT_FOUND: Code = 500;
pub(crate) const NOT_READY: Code = 600;
pub(crate) const NOT_PERMITTED: Code = 800;
pub(crate) const NOT_SUPPORTED: Code = 801;

/// The names of codes and what they say.
pub(crate) const CODES: [(Code, &str, &str); 14] = [
    (SUCCESS, "CUDA_SUCCESS\0", "no error\0"),
    (
        INVALID_VALUE,
        "CUDA_ERROR_INVALID_VALUE\0",
        "invalid argument\0",
    ),
    (
        OUT_OF_MEMORY,
        "CUDA_ERROR_OUT_OF_MEMORY\0",
        "out of memory\0",
    ),
    (
        NOT_INITIALIZED,
        "CUDA_ERROR_NOT_INITIALIZED\0",
        "initialization error\0",
    ),
    (
        NO_DEVICE,
        "CUDA_ERROR_NO_DEVICE\0",
        "no CUDA-capable device is detected\0",
    ),
    (
        INVALID_DEVICE,
        "CUDA_ERROR_INVALID_DEVICE\0",
        "invalid device ordinal\0",
    ),
    (
        INVALID_CONTEXT,
        "CUDA_ERROR_INVALID_CONTEXT\0",
        "invalid device context\0",
    ),
    (
        INVALID_HANDLE,
        "CUDA_ERROR_INVALID_HANDLE\0",
        "invalid resource handle\0",
    ),
    (
        INVALID_IMAGE,
        "CUDA_ERROR_INVALID_IMAGE\0",
        "device kernel image is invalid\0",
    ),
    (
        NOT_FOUND,
        "CUDA_ERROR_NOT_FOUND\0",
        "named symbol not found\0",
    ),
    (NOT_READY, "CUDA_ERROR_NOT_READY\0", "device not ready\0"),
    (
        700,
        "CUDA_ERROR_ILLEGAL_ADDRESS\0",
        "an illegal memory access was encountered\0",
    ),
    (
        NOT_PERMITTED,
        "CUDA_ERROR_NOT_PERMITTED\0",
        "operation not permitted\0",
    ),
    (
        NOT_SUPPORTED,
        "CUDA_ERROR_NOT_SUPPORTED\0",
        "operation not supported\0",
    ),
];

pub(crate) struct State {
    pub(crate) initialised: AtomicBool,
    pub(crate) devices: AtomicUsize,
    /// How often each primary context is retained.
    pub(crate) retained: Mutex<BTreeMap<usize, usize>>,
    pub(crate) blocks: Mutex<Blocks>,
    pub(crate) streams: Mutex<BTreeMap<usize, Arc<Stream>>>,
    /// Streams that were destroyed, and have something to do still.
    pub(crate) leaving: Mutex<Vec<Arc<Stream>>>,
    /// The default stream of each device that has used it.
    pub(crate) defaults: Mutex<BTreeMap<usize, Arc<Stream>>>,
    pub(crate) events: Mutex<BTreeMap<usize, Arc<Event>>>,
    pub(crate) modules: Mutex<Modules>,
    /// The next handle; none is used twice.
    pub(crate) next: AtomicUsize,
    pub(crate) uses_after_free: AtomicUsize,
    /// How long each enqueued operation takes, in microseconds.
    pub(crate) delay: AtomicU64,
    /// Set while all streams are said to be captured; what is enqueued runs all the same.
    pub(crate) capturing: AtomicBool,
    /// What every call answers from now on, unless it is 0.
    pub(crate) broken: AtomicI32,
    pub(crate) failures: Mutex<Failures>,
}

#[derive(Default)]
pub(crate) struct Failures {
    /// What the next call of this name answers.
    pub(crate) next: BTreeMap<String, Code>,
    /// How often each was called.
    pub(crate) calls: BTreeMap<&'static str, usize>,
}

pub(crate) static STATE: LazyLock<State> = LazyLock::new(|| State {
    initialised: AtomicBool::new(false),
    devices: AtomicUsize::new(devices()),
    retained: Mutex::default(),
    blocks: Mutex::default(),
    streams: Mutex::default(),
    leaving: Mutex::default(),
    defaults: Mutex::default(),
    events: Mutex::default(),
    modules: Mutex::default(),
    next: AtomicUsize::new(0x10_000),
    uses_after_free: AtomicUsize::new(0),
    delay: AtomicU64::new(0),
    capturing: AtomicBool::new(false),
    broken: AtomicI32::new(SUCCESS),
    failures: Mutex::default(),
});

fn devices() -> usize {
    std::env::var("CUDA_DOUBLE_DEVICES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(4)
}

thread_local! {
    /// Whether this thread is in a host function, which may call nothing.
    pub(crate) static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One call of the driver, unless it is to fail.
pub(crate) fn call(name: &'static str, body: impl FnOnce(&State) -> Answer) -> Code {
    let state = &*STATE;
    match allowed(state, name).and_then(|()| body(state)) {
        Ok(()) => SUCCESS,
        Err(code) => code,
    }
}

fn allowed(state: &State, name: &'static str) -> Answer {
    if IN_HOST_FUNCTION.get() {
        return Err(NOT_PERMITTED);
    }
    let mut failures = lock(&state.failures);
    *failures.calls.entry(name).or_default() += 1;
    if let Some(code) = failures.next.remove(name) {
        return Err(code);
    }
    drop(failures);
    match state.broken.load(Ordering::SeqCst) {
        SUCCESS => {}
        code => return Err(code),
    }
    if name != "cuInit" && !state.initialised.load(Ordering::SeqCst) {
        return Err(NOT_INITIALIZED);
    }
    Ok(())
}

impl State {
    /// A handle that was never used.
    pub(crate) fn fresh(&self) -> usize {
        self.next.fetch_add(16, Ordering::SeqCst)
    }
}

/// Writes an answer, to a caller who wants one.
pub(crate) fn put<T>(place: Option<&mut T>, value: T) -> Answer {
    *place.ok_or(INVALID_VALUE)? = value;
    Ok(())
}
