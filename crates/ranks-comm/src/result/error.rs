//! The one error type: pointer-sized, with a kind to match on and a text that a user can act on.

use std::error::Error as StdError;
use std::fmt;

use ranks_launch::Count;

use crate::result::{Status, parts_of};

/// The result of every fallible operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why an operation failed.
///
/// One pointer wide, so that a `Result<()>` travels in a register. The text begins with the C name
/// of the operation and ends, where MPI was asked, with the error class and the library.
///
/// `Debug` gives the same text as `Display`, because `main` prints it for an `Err`, and `unwrap`
/// for a failure.
#[derive(thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Details>);

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Details {
    kind: ErrorKind,
    operation: &'static str,
    code: Option<i32>,
    class: Option<i32>,
    text: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
    /// The statuses of operations that were completed together, with their numbers.
    statuses: Vec<(usize, Result<Status>)>,
}

/// The kinds of failure that a program may want to tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No MPI library could be opened.
    Load,
    /// The launcher, the MPI library and the settings do not fit together.
    Launch,
    /// The library in use has no such function.
    NotInLibrary,
    /// A message is longer than the buffer it was to be received into.
    Truncated,
    /// Two lengths that must agree do not.
    Length,
    /// A rank that is not in the communicator.
    Rank,
    /// A tag below zero or above the library's limit.
    Tag,
    /// A root that is not in the communicator.
    Root,
    /// A message that is not a whole number of elements of the type asked for.
    Type,
    /// A value that cannot be serialised, or bytes that are no value of the type asked for.
    Value,
    /// A call that this thread may not make now: the thread level forbids it, another thread is in
    /// a collective of the same communicator, or the thread is inside a user-defined reduction
    /// operation.
    WrongThread,
    /// The runtime has been finalized.
    Finalized,
    /// The runtime was to end while handles of it exist.
    InUse,
    /// Ranks call a collective with different arguments, or call different collectives.
    Mismatch,
    /// Another rank failed, or ended without taking part.
    PeerFailed,
    /// A process has failed, and the job goes on: see
    /// [`Communicator::shrink`](crate::Communicator::shrink).
    ProcFailed,
    /// The communicator was revoked, by this rank or another one: see
    /// [`Communicator::revoke`](crate::Communicator::revoke).
    Revoked,
    /// An operation timed out, or collectives of this communicator no longer match, since one
    /// before timed out or was begun by some ranks alone.
    TimedOut,
    /// A node has less memory, or less shared memory, than was asked for.
    Memory,
    /// A library or a device that is needed is not here: no CUDA driver, no NCCL, no GPU.
    NotAvailable,
    /// A communicator was aborted, by this program or because an operation on it had failed.
    Aborted,
    /// The CUDA driver reported a failure.
    Device,
    /// Any other argument that cannot be used.
    Argument,
    /// An error of the program's own: see [`Error::other`].
    Other,
    /// The MPI library, or NCCL, reported a failure of its own.
    Library,
}

impl ErrorKind {
    /// Returns `true` if a rank was lost, or the communicator was revoked by a rank that saw a
    /// loss; a program answers that with [`Communicator::shrink`](crate::Communicator::shrink).
    #[must_use]
    pub fn is_loss(self) -> bool {
        matches!(self, Self::ProcFailed | Self::Revoked | Self::PeerFailed)
    }

    /// The kind in a few words.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Load => "no MPI library",
            Self::Launch => "launcher and library do not fit",
            Self::NotInLibrary => "not in this MPI library",
            Self::Truncated => "message truncated",
            Self::Length => "lengths differ",
            Self::Rank => "no such rank",
            Self::Tag => "no such tag",
            Self::Root => "no such root",
            Self::Type => "element type does not fit",
            Self::Value => "not a value",
            Self::WrongThread => "call from a forbidden thread",
            Self::Finalized => "runtime finalized",
            Self::InUse => "runtime still in use",
            Self::Mismatch => "collective calls mismatched",
            Self::PeerFailed => "a peer failed",
            Self::ProcFailed => "a process was lost",
            Self::Revoked => "communicator revoked",
            Self::TimedOut => "timed out",
            Self::Memory => "not enough memory",
            Self::NotAvailable => "not available here",
            Self::Aborted => "communicator aborted",
            Self::Device => "failure in the CUDA driver",
            Self::Argument => "argument not usable",
            Self::Other => "error of the program",
            Self::Library => "failure in the library",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl Error {
    /// An error of the program's own, of kind [`ErrorKind::Other`], for functions that return
    /// [`ranks::Result`](Result). It is the [`source`](StdError::source) of what is returned, and
    /// its text the same.
    ///
    /// There is no `From` of other errors: with one, the compiler would no longer find out the type
    /// of the errors of a closure whose result is passed on by `?`.
    ///
    /// ```
    /// fn mesh(path: &str) -> ranks::Result<Vec<u8>> {
    ///     let mesh = std::fs::read(path).map_err(ranks::Error::other)?;
    ///     if mesh.is_empty() {
    ///         return Err(ranks::Error::other(format!("the mesh {path} is empty")));
    ///     }
    ///     Ok(mesh)
    /// }
    /// let error = mesh("/nowhere/mesh").unwrap_err();
    /// assert_eq!(error.kind(), ranks::ErrorKind::Other);
    /// ```
    #[cold]
    pub fn other(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let error = error.into();
        let mut made = Self::with_text(ErrorKind::Other, "", error.to_string());
        made.0.source = Some(error);
        made
    }

    /// An error of `operation` (the C name); its text is `operation: detail`.
    #[doc(hidden)]
    #[cold]
    #[inline(never)]
    pub fn new(kind: ErrorKind, operation: &'static str, detail: impl fmt::Display) -> Self {
        Self::with_text(kind, operation, format!("{operation}: {detail}"))
    }

    /// An error with this text and nothing before it.
    #[doc(hidden)]
    #[cold]
    #[inline(never)]
    pub fn with_text(kind: ErrorKind, operation: &'static str, text: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind,
            operation,
            code: None,
            class: None,
            text: text.into(),
            source: None,
            statuses: Vec::new(),
        }))
    }

    /// Adds the library's native code and its canonical class.
    #[doc(hidden)]
    #[must_use]
    pub fn with_code(mut self, code: i32, class: i32) -> Self {
        self.0.code = Some(code);
        self.0.class = Some(class);
        self
    }

    /// Adds a canonical class, for a failure that was found without the library.
    #[must_use]
    pub(crate) fn with_class(mut self, class: i32) -> Self {
        self.0.class = Some(class);
        self
    }

    /// An error of operations that `operation` has completed together, at least one of which has
    /// failed.
    #[cold]
    pub(crate) fn in_status(
        operation: &'static str,
        statuses: Vec<(usize, Result<Status>)>,
    ) -> Self {
        let failed = |(number, status): &'_ (usize, Result<Status>)| {
            let first = status.as_ref().err()?;
            let text = format!("operation {number}: {first}");
            Some((first.kind(), first.0.code, first.0.class, text))
        };
        let many = statuses
            .iter()
            .filter(|(_, status)| status.is_err())
            .count();
        let (kind, code, class, text) = statuses.iter().find_map(failed).unwrap_or((
            ErrorKind::Library,
            None,
            None,
            String::new(),
        ));
        let all = Count(statuses.len(), "operation");
        let mut error = Self::new(
            kind,
            operation,
            format_args!("{many} of {all} failed; {text}"),
        );
        (error.0.code, error.0.class) = (code, class);
        error.with_statuses(statuses)
    }

    /// Adds the statuses of operations that were completed together.
    #[must_use]
    pub(crate) fn with_statuses(mut self, statuses: Vec<(usize, Result<Status>)>) -> Self {
        self.0.statuses = statuses;
        self
    }

    /// The outcome of each of several operations that a call was to complete: with its key in
    /// [`Requests`](crate::Requests), or its index among those passed. Empty for other calls.
    ///
    /// MPI 5.0 §3.7.5 (`MPI_ERR_IN_STATUS`).
    #[doc(alias = "MPI_ERR_IN_STATUS")]
    pub fn statuses(&self) -> &[(usize, Result<Status>)] {
        &self.0.statuses
    }

    /// Adds the cause.
    #[doc(hidden)]
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    /// Renames the operation to the one that the program has called, which was implemented by
    /// another.
    #[doc(hidden)]
    #[must_use]
    pub fn of(mut self, operation: &'static str) -> Self {
        let Details {
            text,
            operation: by,
            ..
        } = &mut *self.0;
        if let Some(rest) = text.strip_prefix(*by).filter(|rest| rest.starts_with(':')) {
            *text = format!("{operation}{rest}");
            *by = operation;
        }
        self
    }

    /// Names the source and the tag of the message that it is about, where the status has them.
    #[cold]
    pub(crate) fn of_message(self, status: &Status) -> Self {
        match (status.source(), status.tag()) {
            (Some(source), Some(tag)) => self.with_words(
                " arrived",
                format_args!(" from rank {source} with tag {tag}"),
            ),
            _ => self,
        }
    }

    /// Adds words behind these words of the text, if it has them.
    #[cold]
    pub(crate) fn with_words(mut self, behind: &str, words: fmt::Arguments<'_>) -> Self {
        if let Some(at) = self.0.text.find(behind) {
            (self.0.text).insert_str(at + behind.len(), &words.to_string());
        }
        self
    }

    /// Adds a sentence that says what to do.
    #[cold]
    pub(crate) fn with_remedy(mut self, remedy: &str) -> Self {
        self.0.text += ". ";
        self.0.text += remedy;
        self
    }

    /// The kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The MPI library's own error code, if the library failed.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.0.code
    }

    /// The error class with the numbers of the MPI-5.0 standard ABI (15 = `MPI_ERR_TRUNCATE`) on
    /// every library, if the library failed.
    #[doc(alias = "MPI_Error_class")]
    #[must_use]
    pub fn class(&self) -> Option<i32> {
        self.0.class
    }

    /// The C name of the operation that failed, such as `MPI_Recv`; empty for an [error of the
    /// program's own](Self::other).
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }
}

/// An error: a message of `arrived` bytes does not fit into `capacity` elements of `width` bytes.
///
/// `arrived` is `None` if the library does not report the length of the message.
#[cold]
#[inline(never)]
pub(crate) fn truncated(
    operation: &'static str,
    arrived: Option<usize>,
    capacity: usize,
    width: usize,
    library: &str,
) -> Error {
    let room = capacity.saturating_mul(width);
    let arrived = match arrived {
        Some(bytes) => format!("{} arrived", Count(bytes, "byte")),
        None => "a longer message arrived".to_owned(),
    };
    let detail = format!(
        "message truncated: {arrived}, the buffer holds {} ({} of {width}); \
         receive into a longer one, or with recv_vec",
        Count(room, "byte"),
        Count(capacity, "element")
    );
    Error::new(
        ErrorKind::Truncated,
        operation,
        format_args!("{detail} (MPI_ERR_TRUNCATE, {library})"),
    )
}

/// An error: a message of `bytes` bytes is not a whole number of elements of `width` bytes.
#[cold]
#[inline(never)]
pub(crate) fn not_whole(
    operation: &'static str,
    bytes: usize,
    width: usize,
    element: &str,
) -> Error {
    let element = parts_of(element);
    Error::new(
        ErrorKind::Type,
        operation,
        format_args!(
            "{} arrived, which is not a whole number of {element} of {}; receive the type that was sent",
            Count(bytes, "byte"),
            Count(width, "byte")
        ),
    )
}

/// An error: a message of `bytes` bytes of one type arrived for elements of another.
#[cold]
#[inline(never)]
pub(crate) fn other_type(
    operation: &'static str,
    bytes: usize,
    sent: &str,
    received: &str,
) -> Error {
    Error::new(
        ErrorKind::Type,
        operation,
        format_args!(
            "{} of {sent} arrived, to be received as {received}; receive the type that was sent",
            Count(bytes, "byte")
        ),
    )
}

/// An error: there is no memory for a message of `bytes` bytes.
#[cold]
#[inline(never)]
pub(crate) fn no_memory(operation: &'static str, bytes: usize, reason: &dyn fmt::Display) -> Error {
    Error::new(
        ErrorKind::Length,
        operation,
        format_args!(
            "there is no memory for a message of {} ({reason})",
            Count(bytes, "byte")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_pointer_and_fits_a_result() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }

    #[test]
    fn errors_cross_threads() {
        fn crosses<T: Send + Sync + 'static>() {}
        crosses::<Error>();
    }

    #[test]
    fn an_error_is_told_of_what_was_called() {
        let error = Error::new(ErrorKind::ProcFailed, "MPI_Iallreduce", "lost").of("MPI_Allreduce");
        assert_eq!(error.operation(), "MPI_Allreduce");
        assert_eq!(error.to_string(), "MPI_Allreduce: lost");
        // A text about another operation is left alone.
        let error = Error::with_text(
            ErrorKind::NotInLibrary,
            "MPI_Ibcast",
            "MPI_Ibcast_c is not here",
        );
        assert_eq!(
            error.of("MPI_Bcast").to_string(),
            "MPI_Ibcast_c is not here"
        );
    }

    #[test]
    fn truncation_names_both_lengths_in_bytes() {
        let error = truncated("MPI_Recv", Some(72_000), 100, 8, "Open MPI 5.0.11");
        assert_eq!(error.kind(), ErrorKind::Truncated);
        assert_eq!(
            error.to_string(),
            "MPI_Recv: message truncated: 72000 bytes arrived, the buffer holds 800 bytes (100 elements of 8); \
             receive into a longer one, or with recv_vec (MPI_ERR_TRUNCATE, Open MPI 5.0.11)"
        );
    }

    #[test]
    fn code_class_and_source_are_kept() {
        let error = Error::new(ErrorKind::Library, "MPI_Send", "broken")
            .with_code(123, 16)
            .with_source(std::io::Error::other("wire"));
        assert_eq!((error.code(), error.class()), (Some(123), Some(16)));
        assert_eq!(error.operation(), "MPI_Send");
        assert_eq!(error.to_string(), "MPI_Send: broken");
        assert!(StdError::source(&error).is_some());
    }
}
