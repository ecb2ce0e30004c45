//! Thread levels: which threads may communicate.

use std::fmt;

/// The level of thread support; levels are ordered.
///
/// MPI 5.0 §11.2.1 (`MPI_THREAD_SINGLE` to `MPI_THREAD_MULTIPLE`). A call that the level forbids is
/// an [`ErrorKind::WrongThread`](crate::ErrorKind::WrongThread), in release builds too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThreadLevel {
    /// Only one thread exists.
    Single,
    /// Only the thread that initialised may communicate.
    Funneled,
    /// Any thread may communicate, but never two at once.
    Serialized,
    /// Any thread may communicate at any time. The default.
    Multiple,
}

impl fmt::Display for ThreadLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "MPI_THREAD_SINGLE",
            Self::Funneled => "MPI_THREAD_FUNNELED",
            Self::Serialized => "MPI_THREAD_SERIALIZED",
            Self::Multiple => "MPI_THREAD_MULTIPLE",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered() {
        assert!(ThreadLevel::Single < ThreadLevel::Funneled);
        assert!(ThreadLevel::Serialized < ThreadLevel::Multiple);
    }
}
