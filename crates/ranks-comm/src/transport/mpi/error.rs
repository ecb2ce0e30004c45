//! Conversion of a return code to an [`Error`]: its class, its text, the library and the rank.

use std::ffi::{c_char, c_int};
use std::fmt::Display;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::fault_tolerance::{Loss, loss};

use super::info::to_text;
use super::{fault_tolerance, session};
use crate::call::last_words::{MEMORY_IN_FLIGHT, last_words};
use crate::call::limit::abort_for_sure;
use crate::call::record::dump::{self, Reason};
use crate::result::{Error, ErrorKind, Result};

/// The size of the text of an error: far more than any library may write, and all zeros, because
/// some libraries look for the end of the text beyond the length that they promise.
const TEXT: usize = 8192;

/// Classes without information: an operation returns them whose peer fails in the midst of it
/// (`MPI_Barrier` and `MPI_Neighbor_alltoall`, Open MPI 5.0.11).
const INEXPLICIT: [c_int; 4] = [
    sys::MPI_ERR_IN_STATUS,
    sys::MPI_ERR_OTHER,
    sys::MPI_ERR_INTERN,
    sys::MPI_ERR_UNKNOWN,
];

/// `Ok` if `code`, returned by `operation` (the C name), means success.
///
/// # Errors
/// The meaning of the code, as the library reports it.
#[inline(always)]
pub fn check(code: c_int, operation: &'static str) -> Result<()> {
    if code == sys::MPI_SUCCESS {
        Ok(())
    } else {
        Err(failed(code, operation, &""))
    }
}

/// As [`check`], of a blocking collective on memory that its caller lends.
///
/// Open MPI ends such a call when one of its messages has failed, and leaves the others in flight
/// (4.1 and 5.0: those that wait for several at once). The memory that they arrive in cannot be
/// given back, so the job is aborted. Where ranks may be lost, those alone are blocking calls of
/// the library that cannot be begun
/// ([`begins_collectives`](crate::Communicator::begins_collectives)).
///
/// # Errors
/// The meaning of the code, as the library reports it.
#[inline(always)]
pub fn check_collective(code: c_int, operation: &'static str) -> Result<()> {
    if code == sys::MPI_SUCCESS {
        Ok(())
    } else {
        Err(failed_collective(code, operation))
    }
}

const SAME_LENGTHS: &str = "Pass the same lengths on all ranks; with RANKS_CHECK=collective they are compared before anything is sent, and \
    all ranks get an error";
const NONBLOCKING: &str = "Begin it and wait for it (iallreduce, ireduce, iscan …), which returns an error where a rank is lost";

#[cold]
#[inline(never)]
fn failed_collective(code: c_int, operation: &'static str) -> Error {
    let error = failed(code, operation, &"");
    let leaves_messages = sys::loaded().is_some_and(sys::Loaded::is_openmpi);
    let remedy = match error.kind() {
        ErrorKind::Truncated | ErrorKind::Library => SAME_LENGTHS,
        ErrorKind::ProcFailed | ErrorKind::Revoked if leaves_messages => NONBLOCKING,
        _ => return error,
    };
    if leaves_messages {
        dump::write(Reason::Error, Some(&error), None);
        last_words(format_args!(
            "{error}: messages of this collective are still in flight, and memory that they arrive in cannot be given back; the job is \
             aborted. {remedy}"
        ));
        abort_for_sure(MEMORY_IN_FLIGHT);
    }
    error.with_remedy(remedy)
}

/// As [`check`], with a description of the attempt.
///
/// # Errors
/// The meaning of the code, as the library reports it.
#[inline(always)]
pub fn check_with<D: Display>(
    code: c_int,
    operation: &'static str,
    attempt: impl FnOnce() -> D,
) -> Result<()> {
    if code == sys::MPI_SUCCESS {
        Ok(())
    } else {
        Err(attempted(code, operation, attempt))
    }
}

#[cold]
#[inline(never)]
fn attempted<D: Display>(
    code: c_int,
    operation: &'static str,
    attempt: impl FnOnce() -> D,
) -> Error {
    failed(code, operation, &attempt())
}

/// The error for a code that is not success.
#[cold]
#[inline(never)]
pub(crate) fn failed(code: c_int, operation: &'static str, attempt: &dyn Display) -> Error {
    let library = library();
    if let Some(function) = sys::missing(code) {
        let file = sys::loaded().map_or(String::new(), |loaded| {
            format!(", {}", loaded.path().display())
        });
        let text = format!(
            "{} is not in this MPI library ({library}{file}); it needs MPI {}",
            function.name(),
            function.since()
        );
        return Error::with_text(ErrorKind::NotInLibrary, operation, text);
    }
    let class = class(code);
    let said = text(code);
    let first = said.lines().next().unwrap_or_default().trim();
    let first = first
        .trim_end_matches(", error stack:")
        .trim_end_matches(':');
    let mut detail = if first.is_empty() {
        format!("failed with code {code}")
    } else {
        first.to_owned()
    };
    let attempt = attempt.to_string();
    if !attempt.is_empty() {
        detail = format!("{detail}, {attempt}");
    }
    let lost = match loss(class) {
        Some(_) => fault_tolerance::lost(),
        None if INEXPLICIT.contains(&class) => fault_tolerance::lost_meanwhile(),
        None => Vec::new(),
    };
    if !lost.is_empty() {
        detail = format!("{detail}; ranks of the world that are known to be lost: {lost:?}");
    }
    let name = name(class);
    let place = session::whoami().map_or(String::new(), |(rank, size)| {
        format!("; rank {rank} of {size}")
    });
    let kind = match kind(class) {
        ErrorKind::Library if !lost.is_empty() => ErrorKind::ProcFailed,
        kind => kind,
    };
    Error::new(
        kind,
        operation,
        format_args!("{detail} ({name}, {library}{place})"),
    )
    .with_code(code, class)
}

/// The library's name and version.
pub(crate) fn library() -> &'static str {
    sys::loaded().map_or("no MPI library", sys::Loaded::name)
}

/// The class of a code, in the standard's numbers.
pub(crate) fn class(code: c_int) -> c_int {
    let mut class = sys::MPI_ERR_UNKNOWN;
    // SAFETY: the code comes from the library, which is initialised (see the module), and the class
    // is ours.
    let asked = unsafe { sys::MPI_Error_class(code, &raw mut class) };
    if asked == sys::MPI_SUCCESS {
        class
    } else {
        sys::MPI_ERR_UNKNOWN
    }
}

/// Returns `true` if an operation for which a completing call has returned this code is still
/// pending: a receive from any source, one of whose ranks has failed (ULFM).
#[cold]
pub(crate) fn is_pending(code: c_int) -> bool {
    fault_tolerance::is_on() && loss(class(code)) == Some(Loss::Pending)
}

/// The library's text for a code; with the stack of calls, if it keeps one.
pub(crate) fn text(code: c_int) -> String {
    let mut text = [0u8; TEXT];
    let mut length: c_int = 0;
    let pointer = text.as_mut_ptr().cast::<c_char>();
    // SAFETY: the text has sixteen times the room that any library asks for, and is zeroed (see
    // `TEXT`).
    let asked = unsafe { sys::MPI_Error_string(code, pointer, &raw mut length) };
    if asked != sys::MPI_SUCCESS {
        return String::new();
    }
    to_text(&text)
}

fn kind(class: c_int) -> ErrorKind {
    match class {
        sys::MPI_ERR_TRUNCATE => ErrorKind::Truncated,
        sys::MPI_ERR_RANK => ErrorKind::Rank,
        sys::MPI_ERR_ROOT => ErrorKind::Root,
        sys::MPI_ERR_TAG => ErrorKind::Tag,
        sys::MPI_ERR_TYPE => ErrorKind::Type,
        sys::MPI_ERR_COUNT => ErrorKind::Length,
        sys::MPI_ERR_PROC_ABORTED => ErrorKind::PeerFailed,
        sys::MPI_ERR_ARG
        | sys::MPI_ERR_BUFFER
        | sys::MPI_ERR_COMM
        | sys::MPI_ERR_GROUP
        | sys::MPI_ERR_INFO_KEY
        | sys::MPI_ERR_INFO_VALUE
        | sys::MPI_ERR_OP => ErrorKind::Argument,
        _ => match loss(class) {
            Some(Loss::Failed | Loss::Pending) => ErrorKind::ProcFailed,
            Some(Loss::Revoked) => ErrorKind::Revoked,
            None => ErrorKind::Library,
        },
    }
}

macro_rules! names {
    ($($class:ident)*) => {
        [$((sys::$class, stringify!($class))),*]
    };
}

/// The name of a class; a class of the library's own has none, and keeps its number.
fn name(class: c_int) -> String {
    const NAMES: &[(c_int, &str)] = &names![
        MPI_ERR_BUFFER MPI_ERR_COUNT MPI_ERR_TYPE MPI_ERR_TAG MPI_ERR_COMM MPI_ERR_RANK
        MPI_ERR_REQUEST MPI_ERR_ROOT MPI_ERR_GROUP MPI_ERR_OP MPI_ERR_TOPOLOGY MPI_ERR_DIMS
        MPI_ERR_ARG MPI_ERR_UNKNOWN MPI_ERR_TRUNCATE MPI_ERR_OTHER MPI_ERR_INTERN MPI_ERR_PENDING
        MPI_ERR_IN_STATUS MPI_ERR_INFO MPI_ERR_INFO_KEY MPI_ERR_INFO_NOKEY MPI_ERR_INFO_VALUE
        MPI_ERR_KEYVAL MPI_ERR_NO_MEM MPI_ERR_PROC_ABORTED MPI_ERR_UNSUPPORTED_OPERATION
        MPI_ERR_VALUE_TOO_LARGE MPI_ERR_ERRHANDLER MPI_ERR_WIN
    ];
    let known = NAMES.iter().find(|(value, _)| *value == class);
    let name = match loss(class) {
        Some(Loss::Failed) => Some("MPIX_ERR_PROC_FAILED"),
        Some(Loss::Pending) => Some("MPIX_ERR_PROC_FAILED_PENDING"),
        Some(Loss::Revoked) => Some("MPIX_ERR_REVOKED"),
        None => known.map(|(_, name)| *name),
    };
    name.map_or_else(|| format!("error class {class}"), str::to_owned)
}
