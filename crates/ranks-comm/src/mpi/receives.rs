//! One decision for all receives: posted, as libraries mean them, or claimed, where that is not safe or not told. What was seen is in `recv`.

use ranks_launch::RDMA_PER_REQUEST;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::Loaded;

/// Whether receives are posted, or why they are claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Receives {
    Posted,
    /// What is too long may be written past the end, in collectives as well.
    Overrun,
    /// Who receives what is too long may wait for ever.
    Hanging,
    /// From any rank, messages that are there are not seen.
    Losing,
    /// A receive of a library that goes on without lost ranks may fail without being over; one that is claimed is begun with its message.
    Failing,
    /// Lengths cannot be seen in statuses, so every message's is asked for before it is received.
    Unmeasured,
}

/// Whether the library has receives that are prepared once: Open MPI frees a persistent request that has failed, and says of partitions that
/// they have arrived before they have.
pub(super) fn can_be_prepared() -> bool {
    !sys::loaded().is_some_and(Loaded::is_openmpi)
}

impl Receives {
    /// On this library; `trusting` is that nothing is too long.
    pub(super) fn on(loaded: &Loaded, overruns: bool, loses: bool, trusting: bool) -> Self {
        if loses {
            Self::Losing
        } else if overruns && !trusting {
            Self::Overrun
        } else if loaded.has_ch3() && !trusting {
            Self::Hanging
        } else {
            Self::Posted
        }
    }

    /// For another reason, unless there is one.
    pub(super) fn claim(&mut self, why: Self) {
        if !self.claims() {
            *self = why;
        }
    }

    /// Whether nothing is received that was not claimed.
    pub(super) fn claims(self) -> bool {
        self != Self::Posted
    }

    /// Receives into fewer bytes than this are claimed: those into nothing everywhere.
    pub(super) fn claim_below(self) -> usize {
        if self.claims() { usize::MAX } else { 1 }
    }

    /// Whether ranks must compare collectives before anything is written.
    pub(super) fn overrun(self) -> bool {
        self == Self::Overrun
    }

    /// The same for people, with what was `found` of the library.
    pub(super) fn told(self, found: &str) -> String {
        let why = match self {
            Self::Posted if found.is_empty() => return "posted".to_owned(),
            Self::Posted => return format!("posted ({found})"),
            Self::Overrun => {
                return format!(
                    "claimed, and collectives compared, as messages may be written past a slice ({found}); start all programs of the job with \
                     {RDMA_PER_REQUEST}=0 in their environment, as `ranks run` does"
                );
            }
            Self::Hanging => "as ch3 may wait for ever for one that is too long",
            Self::Losing => "as UCX does not see all messages from any rank",
            Self::Failing => "as the library goes on without lost ranks",
            Self::Unmeasured => "as statuses do not tell lengths",
        };
        format!("claimed, {why}")
    }
}
