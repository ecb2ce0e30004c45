//! Going on after the loss of a rank: how the others end what they wait for, learn who is gone, and become fewer.

use std::fmt;

use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};

/// What helps where it is not offered.
pub(crate) const REMEDY: &str =
    "what can is Open MPI 5 where the job is started with `mpiexec --with-ft ulfm`";

/// What [`Communicator::shrink`] makes: a communicator of the ranks that are left.
///
/// Where a network falls apart, each part takes the other for lost, and shrinks. If both went on, there would be two jobs
/// that write the same files. So only those go on who are more than half of the ranks that there were:
/// [`quorum`](Self::quorum) gives them the communicator, and all others an error.
#[must_use = "the communicator of those that are left is in here"]
pub struct Shrunk {
    left: Communicator,
    before: usize,
}

impl Shrunk {
    /// How many ranks there were.
    #[must_use]
    pub fn before(&self) -> usize {
        self.before
    }

    /// How many are left.
    #[must_use]
    pub fn size(&self) -> usize {
        self.left.size()
    }

    /// Whether these are more than half of the ranks that there were.
    #[must_use]
    pub fn has_quorum(&self) -> bool {
        self.size() > self.before / 2
    }

    /// The communicator, if these are more than half of the ranks that there were. Local; the same on all of them.
    ///
    /// # Errors
    /// [`ErrorKind::ProcFailed`] if they are half of them or fewer.
    pub fn quorum(self) -> Result<Communicator> {
        if self.has_quorum() {
            return Ok(self.left);
        }
        let (left, before) = (self.size(), self.before);
        Err(Error::new(
            ErrorKind::ProcFailed,
            "MPIX_Comm_shrink",
            format_args!(
                "{left} of {before} ranks are left, which is no majority: the others may live, and have gone on without \
                 these; take Shrunk::without_quorum if you know that they do not"
            ),
        ))
    }

    /// The communicator, however few are left: for programs that know by other means that no others go on, as where all
    /// ranks are on one machine.
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

/// What [`Communicator::agree_flags`] has found; the same on all ranks that are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Agreed {
    /// The bits that are set in the flags of all of them.
    pub flags: u32,
    /// Whether a rank is lost that not all of them had acknowledged.
    pub news: bool,
}

/// Going on without a rank (ULFM, an extension of the standard).
///
/// Over MPI only Open MPI 5 can, where `mpiexec --with-ft ulfm` has started the job; with any other library, and without
/// that option, the launcher ends the job when a rank dies. In process a rank is lost when its closure fails or
/// panics. What needs a lost rank is [`ErrorKind::ProcFailed`] then, in process [`ErrorKind::PeerFailed`]; not all ranks are told at the same call. So who is told
/// [revokes](Self::revoke) the communicator, which ends the waiting of all; all [agree](Self::agree_flags) on how the step
/// went, and if it failed anywhere they [shrink](Self::shrink) the communicator and go on with what they have kept:
///
/// ```no_run
/// # use ranks_comm::{Communicator, Result};
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
    /// Whether this job can go on without a rank; the error says why not, and what would help. Local.
    ///
    /// It was tried out when MPI was initialised: that a library has the functions says nothing.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`].
    pub fn fault_tolerance(&self) -> Result<()> {
        const OPERATION: &str = "Communicator::fault_tolerance";
        self.dispatch(OPERATION, |comm| comm.tolerance(OPERATION), |_| Ok(()))
    }

    /// Makes every operation on this communicator an [`ErrorKind::Revoked`], on all of its ranks, also those that wait in
    /// one now; but [`shrink`](Self::shrink), [`agree_flags`](Self::agree_flags) and what is local. One rank calls it, and the others
    /// need not. It cannot be undone.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] where nobody can go on without a rank; what the library reports.
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

    /// Whether any rank has revoked this communicator, as far as this rank has heard. Local.
    ///
    /// # Errors
    /// What the library reports.
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

    /// A new communicator of the ranks that are left, in the same order. Collective over these; it comes to an end also
    /// if more ranks are lost meanwhile, and on a communicator that is [revoked](Self::revoke).
    ///
    /// A rank that is lost at its very end may still be in the new one: then that is used, fails, and is shrunk again.
    /// Once dropped it is kept until the runtime ends.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] where nobody can go on without a rank; what the library reports.
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

    /// Agrees on flags with all ranks that are left: the result is the same on all of them, whoever is lost meanwhile,
    /// and on a communicator that is [revoked](Self::revoke). Collective over the ranks that are left.
    ///
    /// It says too whether a rank is lost that not all of them had [acknowledged](Self::ack_failed). So it ends a phase: all
    /// ranks learn from it whether all have come so far, where a barrier may fail on some only. For an `Err` of one
    /// rank that all must learn of there is [`agree`](Self::agree), which needs every rank.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] where nobody can go on without a rank; what the library reports.
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

    /// The ranks of this communicator that are known here to be lost. Local; others may know of more or fewer.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] where nobody can go on without a rank; what the library reports.
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

    /// Takes note of the ranks that are known here to be lost, and returns them. Local.
    ///
    /// Receives from any rank then wait for those that are left, and [`agree_flags`](Self::agree_flags) does not tell of these
    /// any more. Collectives still need every rank: [`shrink`](Self::shrink).
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] where nobody can go on without a rank; what the library reports.
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
