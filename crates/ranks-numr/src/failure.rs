//! Failures, before they become one version's error.

use ranks_comm::{Error, ErrorKind};

/// The reason why a call was refused or failed, in the terms that numr's errors have.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The element type is none that the operation takes.
    Dtype,
    /// An argument cannot be used.
    Argument { arg: &'static str, reason: String },
    /// Anything else.
    Backend(String),
}

impl Failure {
    pub(crate) fn argument(arg: &'static str, reason: String) -> Self {
        Self::Argument { arg, reason }
    }

    /// Converts the error of `call` to numr's terms; its text begins with `whose` it is.
    #[cold]
    pub(crate) fn of(call: &str, whose: &str, error: &Error) -> Self {
        let code = match error.code() {
            Some(code) => format!(" (code {code})"),
            None => String::new(),
        };
        let reason = format!("{whose} {error}{code}");
        let peer = if call == "recv" { "src" } else { "dest" };
        match error.kind() {
            ErrorKind::Type => Self::Dtype,
            ErrorKind::Rank => Self::argument(peer, reason),
            ErrorKind::Root => Self::argument("root", reason),
            ErrorKind::Tag => Self::argument("tag", reason),
            ErrorKind::Length => Self::argument("count", reason),
            ErrorKind::Argument => Self::argument("ptr", reason),
            _ => Self::Backend(reason),
        }
    }
}
