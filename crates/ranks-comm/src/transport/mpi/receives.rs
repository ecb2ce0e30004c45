//! The policy for all receives: posted, as the standard means them, or matched first, where that is
//! not safe or lengths are not told. The findings are in `recv`.

use ranks_launch::RDMA_PER_REQUEST;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::Loaded;

/// `Posted`, or the reason why receives are matched first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receives {
    Posted,
    /// Messages that are too long may be written past the end, in collectives as well.
    Overrun,
    /// A receive of a message that is too long may deadlock.
    Hanging,
    /// A receive from any source does not see messages that are there.
    Losing,
    /// In a fault-tolerant library a posted receive may fail without being complete; one that is
    /// matched first is started with its message.
    Failing,
    /// Lengths cannot be read in statuses, so that of every message is probed before it is
    /// received.
    Unmeasured,
}

/// Returns `true` if persistent and partitioned receives can be used: Open MPI frees a persistent
/// request that has failed, and reports the arrival of partitions before they have arrived.
pub(crate) fn can_be_prepared() -> bool {
    !sys::loaded().is_some_and(Loaded::is_openmpi)
}

impl Receives {
    /// The policy for this library; `trusting` means that no message is too long.
    pub(crate) fn on(loaded: &Loaded, overruns: bool, loses: bool, trusting: bool) -> Self {
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

    /// Sets another reason to match first, unless there is one.
    pub(crate) fn claim(&mut self, why: Self) {
        if !self.claims() {
            *self = why;
        }
    }

    /// Returns `true` if all receives are matched first.
    pub(crate) fn claims(self) -> bool {
        self != Self::Posted
    }

    /// The length in bytes below which receives are matched first: on all libraries those of no
    /// bytes.
    pub(crate) fn claim_below(self) -> usize {
        if self.claims() { usize::MAX } else { 1 }
    }

    /// Returns `true` if ranks must compare collectives before anything is written.
    pub(crate) fn overrun(self) -> bool {
        self == Self::Overrun
    }

    /// The policy as a text, with what was `found` of the library.
    pub(crate) fn told(self, found: &str) -> String {
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
