//! Comparison of communicators.

/// The relation between two communicators.
///
/// MPI 5.0 §7.4.1.
#[doc(alias = "MPI_Comm_compare")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Handles of one and the same communicator.
    Identical,
    /// The same ranks in the same order, in different contexts.
    Congruent,
    /// The same ranks in another order.
    Similar,
    /// None of these.
    Unequal,
}
