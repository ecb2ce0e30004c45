//! Errors of NCCL, in words that say what to do.
#![allow(unsafe_code)]

use std::ffi::c_char;
use std::fmt;
use std::ptr;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_nccl_sys::{
    Nccl, ncclInProgress, ncclInternalError, ncclInvalidArgument, ncclInvalidUsage,
    ncclRemoteError, ncclResult_t, ncclSuccess, ncclSystemError, ncclTimeout,
    ncclUnhandledCudaError,
};
pub(super) use ranks_raw::backend::of_driver;

/// The longest text that is taken from the library's buffer, which has so many bytes.
const LONGEST: usize = 1024;

/// The rank that made a call, for the text of its error.
#[derive(Debug, Clone, Copy)]
pub(super) enum Caller {
    /// No rank yet.
    Nobody,
    /// A rank of a communicator that exists or is being made.
    Rank(RankOnDevice),
}

/// A rank, the number of ranks, and the device of this one.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankOnDevice {
    pub(super) rank: usize,
    pub(super) size: usize,
    pub(super) device: usize,
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => Ok(()),
            Self::Rank(place) => write!(f, "; {place}"),
        }
    }
}

impl fmt::Display for RankOnDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, size, device } = self;
        write!(f, "rank {rank} of {size}, device {device}")
    }
}

/// Returns an error if a call failed: one that is still in progress has not.
pub(super) fn check(
    nccl: &Nccl,
    call: &'static str,
    code: ncclResult_t,
    caller: Caller,
) -> Result<()> {
    if code == ncclSuccess || code == ncclInProgress {
        Ok(())
    } else {
        Err(failure(nccl, call, code, caller))
    }
}

/// Returns `true` if only the one call was refused, so that the communicator can be used as before.
pub(super) fn is_refusal(code: ncclResult_t) -> bool {
    code == ncclInvalidArgument || code == ncclInvalidUsage
}

/// The error for a code that is neither success nor progress.
#[cold]
pub(super) fn failure(
    nccl: &Nccl,
    call: &'static str,
    code: ncclResult_t,
    caller: Caller,
) -> Error {
    #[expect(non_upper_case_globals, reason = "the names are NCCL's")]
    let kind = match code {
        ncclRemoteError => ErrorKind::PeerFailed,
        ncclTimeout => ErrorKind::TimedOut,
        _ => ErrorKind::Library,
    };
    let (name, advice) = name_of(code);
    let meaning = error_string(nccl, code).unwrap_or_else(|| "a failure".to_owned());
    let (version, path) = (nccl.version_text(), nccl.path().display());
    let mut text = format!("{meaning} ({name}, code {code}; NCCL {version}, {path}{caller})");
    let last = last_error(nccl).map(|last| format!("the last error was: {last}"));
    for more in last.iter().map(String::as_str).chain(advice) {
        text.push_str("; ");
        text.push_str(more);
    }
    Error::new(kind, call, text).with_code(code, code)
}

/// The error of a call of a function that the library does not have.
#[cold]
pub(super) fn missing(nccl: &Nccl, name: &'static str) -> Error {
    Error::with_text(ErrorKind::NotInLibrary, name, nccl.lacks(name))
}

/// The same for a field of a struct.
#[cold]
pub(super) fn not_in_library(nccl: &Nccl, name: &'static str, since: &str) -> Error {
    let (version, path) = (nccl.version_text(), nccl.path().display());
    let text =
        format!("{name} is not in this NCCL library ({version}, {path}); it needs NCCL {since}");
    Error::with_text(ErrorKind::NotInLibrary, name, text)
}

/// The name of a code, and what can be done about it besides what the library's own text says.
fn name_of(code: ncclResult_t) -> (&'static str, Option<&'static str>) {
    const DEBUG: Option<&str> = Some("set NCCL_DEBUG=INFO to see more");
    #[expect(non_upper_case_globals, reason = "the names are NCCL's")]
    match code {
        ncclUnhandledCudaError => (
            "ncclUnhandledCudaError",
            Some("see that the driver is recent enough for this NCCL and that the GPU works"),
        ),
        ncclSystemError => (
            "ncclSystemError",
            Some(
                "a socket, a file or memory of the host could not be had: see NCCL_SOCKET_IFNAME, ulimit and /dev/shm",
            ),
        ),
        ncclInternalError => ("ncclInternalError", DEBUG),
        ncclInvalidArgument => ("ncclInvalidArgument", None),
        ncclInvalidUsage => (
            "ncclInvalidUsage",
            Some(
                "each rank needs a GPU of its own, and all ranks make the same calls in the same order",
            ),
        ),
        ncclRemoteError => (
            "ncclRemoteError",
            Some("another rank ended or cannot be reached: its own error says more"),
        ),
        ncclTimeout => ("ncclTimeout", DEBUG),
        _ => ("a code that is not known here", DEBUG),
    }
}

/// The library's meaning of a code.
fn error_string(nccl: &Nccl, code: ncclResult_t) -> Option<String> {
    let function = nccl.table().ncclGetErrorString?;
    // SAFETY: the function takes any code and gives a text of the library's that stays.
    let text = unsafe { function(code) };
    copied(text)
}

/// The library's text about the last error of this process. It is overwritten by the next one, so
/// it is copied at once.
fn last_error(nccl: &Nccl) -> Option<String> {
    let function = nccl.table().ncclGetLastError?;
    // SAFETY: the function takes a null communicator (it does not look at the argument) and gives a
    // buffer of the library's.
    let text = unsafe { function(ptr::null_mut()) };
    copied(text)
}

/// A text of the library's, at most [`LONGEST`] bytes of it, none if it is empty.
///
/// The buffer of the last error is written by whichever thread of the library fails, under a lock
/// that nobody else can take: one that fails meanwhile races with this, and the text is then mixed
/// of both. No way of reading prevents that. Volatile, each byte is read once: what was found to be
/// no zero is what is taken.
fn copied(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    let mut bytes = Vec::new();
    for at in 0..LONGEST {
        // SAFETY: it lies within the buffer of the last error, which has so many bytes; any other
        // text is constant and ends with a zero, and no byte before this one was it.
        let place = unsafe { text.add(at) };
        // SAFETY: as above. That the buffer may be written to meanwhile is the library's interface.
        let byte = unsafe { place.read_volatile() };
        if byte == 0 {
            break;
        }
        bytes.push(byte.to_ne_bytes()[0]);
    }
    let text = String::from_utf8_lossy(&bytes).trim().replace('\n', " ");
    (!text.is_empty()).then_some(text)
}

/// The error for memory of another device.
#[cold]
#[inline(never)]
pub(crate) fn elsewhere(operation: &'static str, memory: usize, device: usize) -> Error {
    Error::new(
        ErrorKind::Argument,
        operation,
        format_args!("the memory is of device {memory}, and the communicator's is device {device}"),
    )
}
