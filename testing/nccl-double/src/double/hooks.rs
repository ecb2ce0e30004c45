//! What tests ask for: failures, delays, deaths, and what is allowed. Each can be said in the
//! environment as well.

use std::env;
use std::ffi::{CString, c_int};
use std::fs;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::abi::Code;
use super::lock;

fn variable<T: FromStr>(name: &str) -> Option<T> {
    env::var(name).ok()?.parse().ok()
}

/// Which function fails at its next call, and with which code: `NCCL_DOUBLE_FAIL=ncclAllReduce=2`.
static FAILURE: LazyLock<Mutex<Option<(String, Code)>>> = LazyLock::new(|| {
    let asked: Option<String> = variable("NCCL_DOUBLE_FAIL");
    let parsed = asked.and_then(|text| {
        let (name, code) = text.split_once('=')?;
        Some((name.to_owned(), code.parse().ok()?))
    });
    Mutex::new(parsed)
});

/// Asks that the next call of a function fails.
pub(crate) fn fail_next(name: String, code: Code) {
    *lock(&FAILURE) = Some((name, code));
}

/// The code that the call of a function is to fail with, once.
pub(crate) fn failure_asked_of(name: &str) -> Option<Code> {
    let mut asked = lock(&FAILURE);
    let (_, code) = asked.take_if(|(function, _)| function == name)?;
    Some(code)
}

/// How long a group of communicators that are not blocking waits before it begins:
/// `NCCL_DOUBLE_DELAY_US`.
pub(crate) static DELAY: LazyLock<AtomicU64> =
    LazyLock::new(|| AtomicU64::new(variable("NCCL_DOUBLE_DELAY_US").unwrap_or(0)));

/// Waits that long, or until it is told to stop. A test that sets another time is heard at once.
pub(crate) fn delay(stop: &AtomicBool) {
    let since = Instant::now();
    while since.elapsed() < Duration::from_micros(DELAY.load(Ordering::Relaxed))
        && !stop.load(Ordering::Acquire)
    {
        thread::sleep(Duration::from_micros(500));
    }
}

/// Makes all communicators blocking ones, or none, against the wishes of their makers:
/// `NCCL_COMM_BLOCKING`, as in the library (`init.cc`), which sets it from its file of settings
/// (`param.cc`) unless it is set.
static BLOCKING: LazyLock<Option<bool>> = LazyLock::new(|| {
    set_by_file();
    match variable("NCCL_COMM_BLOCKING") {
        Some(0) => Some(false),
        Some(1) => Some(true),
        _ => None,
    }
});

pub(crate) fn blocking() -> Option<bool> {
    *BLOCKING
}

/// Sets the variables that the file of settings names: `NCCL_CONF_FILE`.
fn set_by_file() {
    let Some(path) = env::var_os("NCCL_CONF_FILE") else {
        return;
    };
    for line in fs::read_to_string(path).unwrap_or_default().lines() {
        let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        if let (Ok(name), Ok(value)) = (CString::new(name), CString::new(value)) {
            // SAFETY: two C strings; tests that have such a file read no variable at this time.
            unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 0) };
        }
    }
}

/// Whether the end of another process is an asynchronous error: `NCCL_DOUBLE_NOTICES_DEATH=1`.
/// Between GPUs of one node it is none in the library either.
pub(crate) static NOTICES_DEATH: LazyLock<AtomicBool> =
    LazyLock::new(|| AtomicBool::new(variable("NCCL_DOUBLE_NOTICES_DEATH") == Some(1)));

pub(crate) fn notices_death() -> bool {
    NOTICES_DEATH.load(Ordering::Relaxed)
}

/// Whether ranks may share a device: `NCCL_MULTI_RANK_GPU_ENABLE=1`, since 2.30 (`init.cc` of
/// 2.30.7; "Duplicate GPU detected" in that of 2.28.9).
pub(crate) static DUPLICATES: LazyLock<AtomicBool> = LazyLock::new(|| {
    let enabled = variable("NCCL_MULTI_RANK_GPU_ENABLE") == Some(1);
    AtomicBool::new(enabled && version() >= 23000)
});

pub(crate) fn allows_duplicates() -> bool {
    DUPLICATES.load(Ordering::Relaxed)
}

/// After how many steps of exchanges this process dies, in the middle of one:
/// `NCCL_DOUBLE_DIES_IN`. Negative: never.
pub(crate) static DIES_IN: LazyLock<AtomicI64> =
    LazyLock::new(|| AtomicI64::new(variable("NCCL_DOUBLE_DIES_IN").unwrap_or(-1)));

/// A step of an exchange.
pub(crate) fn die_if_asked() {
    if DIES_IN.load(Ordering::Relaxed) < 0 {
        return;
    }
    if DIES_IN.fetch_sub(1, Ordering::Relaxed) == 0 {
        // SAFETY: it does not come back, and runs nothing.
        unsafe { libc::_exit(137) };
    }
}

/// The version that `ncclGetVersion` tells: that of this library, or `NCCL_DOUBLE_VERSION=2.20.5`.
/// No symbol goes away by it.
pub(crate) fn version() -> c_int {
    let asked: Option<String> = variable("NCCL_DOUBLE_VERSION");
    let code = asked.and_then(|text| {
        let mut parts = text.split('.').map(str::parse::<c_int>);
        let mut part = || parts.next()?.ok();
        let (x, y, z) = (part()?, part()?, part()?);
        let old = x <= 2 && y <= 8;
        Some(if old { 1000 * x } else { 10000 * x } + 100 * y + z)
    });
    code.unwrap_or(crate::VERSION)
}
