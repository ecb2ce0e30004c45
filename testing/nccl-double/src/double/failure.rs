//! What a call reports: a code, and a text that `ncclGetLastError` tells.

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};

use super::abi::{self, Code};
use super::hooks;

/// Why a call does not return `ncclSuccess`.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) text: String,
}

/// What the parts of this library return to each other.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { code, text }
    }

    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::new(abi::INVALID_ARGUMENT, text)
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(abi::INVALID_USAGE, text)
    }

    pub(crate) fn system(what: &str) -> Self {
        let error = std::io::Error::last_os_error();
        Self::new(abi::SYSTEM_ERROR, format!("{what} failed: {error}"))
    }

    /// No failure: the call goes on in the background.
    pub(crate) fn in_progress() -> Self {
        Self::new(abi::IN_PROGRESS, "")
    }

    /// What those who wait return once their communicator is aborted.
    pub(crate) fn aborted() -> Self {
        Self::new(abi::INTERNAL_ERROR, "the communicator was aborted")
    }
}

/// Runs what an exported function does: no panic leaves it, its failure is told to
/// `ncclGetLastError`, and a test may have asked that it fails.
pub(crate) fn entry(name: &'static str, body: impl FnOnce() -> Outcome) -> Code {
    if let Some(code) = hooks::failure_asked_of(name) {
        tell(&format!("{name} : failed because a test asked for it"));
        return code;
    }
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let outcome = outcome.unwrap_or_else(|_| {
        let text = "the double itself has failed; its panic is on stderr";
        Err(Failure::new(abi::INTERNAL_ERROR, text))
    });
    match outcome {
        Ok(()) => abi::SUCCESS,
        Err(failure) => {
            if failure.code != abi::IN_PROGRESS {
                tell(&format!("{name} : {}", failure.text));
            }
            failure.code
        }
    }
}

/// Room for one text, of which the next failure makes another, as in the library.
static LAST: [AtomicU8; 1024] = [const { AtomicU8::new(0) }; 1024];

/// Says what `ncclGetLastError` tells from now on.
pub(crate) fn tell(text: &str) {
    let bytes = text.bytes().filter(|&byte| byte != 0);
    let room = &LAST[..LAST.len() - 1];
    let mut length = 0;
    for (place, byte) in room.iter().zip(bytes) {
        place.store(byte, Ordering::Relaxed);
        length += 1;
    }
    LAST[length].store(0, Ordering::Relaxed);
}

/// The text of the last failure in this process.
pub(crate) fn last_text() -> *const c_char {
    LAST.as_ptr().cast()
}

/// What `ncclGetErrorString` says.
pub(crate) fn text_of(code: Code, knows_timeout: bool) -> &'static CStr {
    match code {
        abi::SUCCESS => c"no error",
        abi::UNHANDLED_CUDA_ERROR => c"unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        abi::SYSTEM_ERROR => c"unhandled system error (run with NCCL_DEBUG=INFO for details)",
        abi::INTERNAL_ERROR => c"internal error - please report this issue to the NCCL developers",
        abi::INVALID_ARGUMENT => c"invalid argument (run with NCCL_DEBUG=WARN for details)",
        abi::INVALID_USAGE => c"invalid usage (run with NCCL_DEBUG=WARN for details)",
        abi::REMOTE_ERROR => c"remote process exited or there was a network error",
        abi::IN_PROGRESS => c"NCCL operation in progress",
        8 if knows_timeout => c"operation timed out",
        _ => c"unknown result code",
    }
}
