//! Fault tolerance: going on after the failure of a rank, by revoking, agreeing and shrinking.

use std::fmt;

use crate::communicator::Communicator;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::mpi::fault_tolerance::tolerance;

/// The result of [`Communicator::shrink`]: a communicator of the surviving ranks.
///
/// If a network is partitioned, each part takes the other for failed, and shrinks. If both went on,
/// there would be two jobs that write the same files. So only ranks that are more than half of
/// those before may go on: [`quorum`](Self::quorum) gives them the communicator, and all others an
/// error.
#[must_use = "the communicator of those that are left is in here"]
pub struct Shrunk {
    left: Communicator,
    before: usize,
}

impl Shrunk {
    /// The number of ranks before.
    #[must_use]
    pub fn before(&self) -> usize {
        self.before
    }

    /// The number of surviving ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.left.size()
    }

    /// Returns `true` if the survivors are more than half of the ranks before.
    #[must_use]
    pub fn has_quorum(&self) -> bool {
        self.size() > self.before / 2
    }

    /// The communicator, if the survivors are more than half of the ranks before. Local; the same
    /// result on all of them.
    ///
    /// # Errors
    /// [`ErrorKind::ProcFailed`] if they are half of the ranks or fewer.
    pub fn quorum(self) -> Result<Communicator> {
        if self.has_quorum() {
            return Ok(self.left);
        }
        let (left, before) = (self.size(), self.before);
        let why = format_args!(
            "{left} of {before} ranks are left, which is no majority: the others may live, and have gone on without \
             these; take Shrunk::without_quorum if you know that they do not"
        );
        Err(Error::new(ErrorKind::ProcFailed, "MPIX_Comm_shrink", why))
    }

    /// The communicator, however few ranks survive: for programs that know by other means that no
    /// others go on, as where all ranks are on one machine.
    #[must_use]
    pub fn without_quorum(self) -> Communicator {
        self.left
    }
}

impl fmt::Debug for Shrunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shrunk")
            .field("size", &self.size())
            .field("before", &self.before)
            .finish_non_exhaustive()
    }
}

/// The result of [`Communicator::agree_flags`]; the same on all surviving ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Agreed {
    /// The bitwise AND of the flags of all of them.
    pub flags: u32,
    /// `true` if a rank has failed that not all of them had acknowledged.
    pub news: bool,
}

/// Fault tolerance (ULFM, an extension of the standard).
///
/// Over MPI only Open MPI 5 has it, where `mpiexec --with-ft ulfm` has started the job; with any
/// other library, and without that option, the launcher ends the job when a rank dies. In process a
/// rank fails when its closure returns an error or panics. A call that needs a failed rank is
/// [`ErrorKind::ProcFailed`] then, in process [`ErrorKind::PeerFailed`]; not all ranks see it at
/// the same call. So a rank that sees it [revokes](Self::revoke) the communicator, which ends the
/// pending calls of all; all [agree](Self::agree_flags) on the outcome of the step, and if it
/// failed anywhere they [shrink](Self::shrink) the communicator and go on from their saved state:
///
/// ```no_run
/// # use ranks::{Communicator, Result};
/// # fn step(_: &Communicator) -> Result<()> { Ok(()) }
/// # fn restore(_: &Communicator) -> Result<()> { Ok(()) }
/// # fn all(mut comm: Communicator) -> Result<()> {
/// for _ in 0..100 {
///     let done = match step(&comm) {
///         Err(error) if error.kind().is_loss() => comm.revoke().map(|()| false),
///         other => other.map(|()| true),
///     }?;
///     let agreed = comm.agree_flags(u32::from(done))?;
///     if agreed.flags == 0 || agreed.news {
///         comm = comm.shrink()?.quorum()?;
///         restore(&comm)?;
///     }
/// }
/// # Ok(())
/// # }
/// ```
impl Communicator {
    /// Returns an error, with the reason and a remedy, unless this job can go on without a rank.
    /// Local.
    ///
    /// It was tried out when MPI was initialised: a library may have the functions and not the
    /// ability.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`].
    pub fn fault_tolerance(&self) -> Result<()> {
        const OPERATION: &str = "Communicator::fault_tolerance";
        self.dispatch(OPERATION, |_| tolerance(OPERATION), |_| Ok(()))
    }

    /// Revokes the communicator: every operation on it is an [`ErrorKind::Revoked`], on all of its
    /// ranks, pending ones included; except [`shrink`](Self::shrink),
    /// [`agree_flags`](Self::agree_flags) and local calls. One rank calls it, and the others need
    /// not. It cannot be undone.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] without fault tolerance; what the library reports.
    ///
    /// ULFM (`MPIX_Comm_revoke`).
    #[doc(alias = "MPIX_Comm_revoke")]
    pub fn revoke(&self) -> Result<()> {
        const OPERATION: &str = "MPIX_Comm_revoke";
        self.dispatch(
            OPERATION,
            |comm| comm.revoke(OPERATION),
            |comm| comm.revoke(),
        )
    }

    /// Returns `true` if a rank has revoked this communicator, as far as this rank knows. Local.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// ULFM (`MPIX_Comm_is_revoked`).
    #[doc(alias = "MPIX_Comm_is_revoked")]
    pub fn is_revoked(&self) -> Result<bool> {
        self.dispatch(
            "MPIX_Comm_is_revoked",
            |comm| comm.is_revoked(),
            |comm| Ok(comm.is_revoked()),
        )
    }

    /// Makes a communicator of the surviving ranks, in the same order. Collective over these; it
    /// completes even if more ranks fail meanwhile, and on a communicator that is
    /// [revoked](Self::revoke).
    ///
    /// A rank that fails at the very end may still be in the new communicator: its use fails then,
    /// and it is shrunk again. Once dropped it is kept until the runtime ends.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] without fault tolerance; what the library reports.
    ///
    /// ULFM (`MPIX_Comm_shrink`).
    #[doc(alias = "MPIX_Comm_shrink")]
    pub fn shrink(&self) -> Result<Shrunk> {
        const OPERATION: &str = "MPIX_Comm_shrink";
        let left = self.dispatch(
            OPERATION,
            |comm| comm.shrink(self, OPERATION),
            |comm| comm.shrink(OPERATION).map(Self::in_process),
        )?;
        let before = self.size();
        Ok(Shrunk { left, before })
    }

    /// Agrees on flags with all surviving ranks: the result is the same on all of them, whichever
    /// ranks fail meanwhile, and on a communicator that is [revoked](Self::revoke). Collective over
    /// the surviving ranks.
    ///
    /// The result also tells whether a rank has failed that not all of them had
    /// [acknowledged](Self::ack_failed). So it ends a phase: all ranks learn from it whether all
    /// have come so far, where a barrier may fail on some only. To share an `Err` of one rank with
    /// all there is [`agree`](Self::agree), which needs every rank.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] without fault tolerance; what the library reports.
    ///
    /// ULFM (`MPIX_Comm_agree`).
    #[doc(alias = "MPIX_Comm_agree")]
    pub fn agree_flags(&self, flags: u32) -> Result<Agreed> {
        const OPERATION: &str = "MPIX_Comm_agree";
        self.dispatch(
            OPERATION,
            |comm| comm.agree_flags(OPERATION, flags),
            |comm| comm.agree_flags(OPERATION, flags),
        )
    }

    /// The ranks of this communicator that are known here to have failed. Local; others may know of
    /// more or fewer.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] without fault tolerance; what the library reports.
    ///
    /// ULFM (`MPIX_Comm_get_failed`).
    #[doc(alias = "MPIX_Comm_get_failed")]
    pub fn failed_ranks(&self) -> Result<Vec<usize>> {
        const OPERATION: &str = "MPIX_Comm_get_failed";
        self.dispatch(
            OPERATION,
            |comm| comm.failed_ranks(OPERATION),
            |comm| Ok(comm.failed_ranks()),
        )
    }

    /// Acknowledges the ranks that are known here to have failed, and returns them. Local.
    ///
    /// Receives from any source then wait for the surviving ranks, and
    /// [`agree_flags`](Self::agree_flags) does not report these failures again. Collectives still
    /// need every rank: [`shrink`](Self::shrink).
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] without fault tolerance; what the library reports.
    ///
    /// ULFM (`MPIX_Comm_ack_failed`).
    #[doc(alias = "MPIX_Comm_ack_failed")]
    pub fn ack_failed(&self) -> Result<Vec<usize>> {
        const OPERATION: &str = "MPIX_Comm_ack_failed";
        self.dispatch(
            OPERATION,
            |comm| comm.ack_failed(OPERATION),
            |comm| Ok(comm.ack_failed()),
        )
    }
}
