//! Fault tolerance after a rank's closure has failed or panicked.

use crate::communicator::fault_tolerance::Agreed;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::in_process::comm::Comm;
use crate::transport::in_process::survivors::{Outcome, Word};

impl Comm {
    pub(crate) fn revoke(&self) -> Result<()> {
        self.place.world.revoke(self.context);
        Ok(())
    }

    pub(crate) fn is_revoked(&self) -> bool {
        self.place.world.is_revoked(self.context)
    }

    /// Makes a communicator of the surviving ranks; they have acknowledged all failures before.
    pub(crate) fn shrink(&self, operation: &'static str) -> Result<Self> {
        let (world, me) = (&self.place.world, self.place.rank);
        let outcome = self.meet_those_left(operation, 0)?;
        let rank = outcome.left.iter().position(|&rank| rank == me);
        let Some(rank) = rank else {
            let why = "this rank has failed, and the others have gone on without it";
            return Err(Error::new(ErrorKind::ProcFailed, operation, why));
        };
        world.acknowledge_failures(me, outcome.failures);
        Ok(self.child(outcome.context, outcome.left.into(), rank))
    }

    pub(crate) fn agree_flags(&self, operation: &'static str, flags: u32) -> Result<Agreed> {
        if self.is_between() {
            let why = "the ranks of two groups agree only where an MPI library has this";
            return Err(Error::new(ErrorKind::NotInLibrary, operation, why));
        }
        let outcome = self.meet_those_left(operation, flags)?;
        let failures = self.place.world.failed_ranks(outcome.failures);
        let mut later = failures.iter().skip(outcome.acknowledged);
        let news = later.any(|rank| self.members.contains(rank));
        let flags = outcome.flags;
        Ok(Agreed { flags, news })
    }

    pub(crate) fn failed_ranks(&self) -> Vec<usize> {
        self.failed_among(usize::MAX)
    }

    pub(crate) fn ack_failed(&self) -> Vec<usize> {
        let (world, me) = (&self.place.world, self.place.rank);
        let failures = world.failed_ranks(usize::MAX).len();
        world.acknowledge_failures(me, failures);
        self.failed_among(failures)
    }

    /// Those of the first so many failures that are of ranks of this communicator.
    fn failed_among(&self, failures: usize) -> Vec<usize> {
        let failed = self.place.world.failed_ranks(failures);
        let rank_here = |world: usize| self.members.iter().position(|&member| member == world);
        failed.into_iter().filter_map(rank_here).collect()
    }

    fn meet_those_left(&self, operation: &'static str, flags: u32) -> Result<Outcome> {
        let acknowledged = self.place.world.acknowledged(self.place.rank);
        let word = Word {
            flags,
            acknowledged,
        };
        self.meet_survivors(operation, word)
    }
}
