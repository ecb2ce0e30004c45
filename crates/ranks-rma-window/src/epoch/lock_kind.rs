//! Kinds of locks.

/// Kind of a lock: the locks that others may hold at the same time.
///
/// MPI 5.0 §12.5.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// Others with a shared lock.
    #[doc(alias = "MPI_LOCK_SHARED")]
    Shared,
    /// Nobody.
    #[doc(alias = "MPI_LOCK_EXCLUSIVE")]
    Exclusive,
}
