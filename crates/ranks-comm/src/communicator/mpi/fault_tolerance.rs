//! Communicators that have lost ranks, where the library is fault tolerant.

use ranks_mpi_sys as sys;

use crate::communicator::Communicator;
use crate::communicator::fault_tolerance::Agreed;
use crate::result::{ErrorKind, Result};
use crate::transport::mpi::children::Children;
use crate::transport::mpi::communicator::{Comm, Origin};
use crate::transport::mpi::error::check;
use crate::transport::mpi::fault_tolerance::{self, tolerance};

impl Comm {
    pub(crate) fn revoke(&self, operation: &'static str) -> Result<()> {
        tolerance(operation)?;
        fault_tolerance::revoke(self.canonical)
    }

    /// Returns `true` if it is revoked; it cannot be without fault tolerance.
    pub(crate) fn is_revoked(&self) -> Result<bool> {
        if fault_tolerance::is_on() {
            fault_tolerance::is_revoked(self.canonical)
        } else {
            Ok(false)
        }
    }

    /// Makes a communicator of the surviving ranks. They make no other call for that: this one ends
    /// in the same way on all of them, which no other does while ranks fail.
    pub(crate) fn shrink(
        &self,
        parent: &Communicator,
        operation: &'static str,
    ) -> Result<Communicator> {
        tolerance(operation)?;
        let new = fault_tolerance::shrink(self.canonical)?;
        // After it was dropped, nobody agrees on when to free it: it is kept until MPI ends.
        let (key, origin) = (self.session.key(), Origin::unnumbered());
        let comm = self.adopt(new, Children::default(), key, origin)?;
        comm.into_communicator(parent.max_tag(), parent.recorder().origin())
    }

    pub(crate) fn agree_flags(&self, operation: &'static str, flags: u32) -> Result<Agreed> {
        tolerance(operation)?;
        let mut word = flags.cast_signed();
        // SAFETY: the communicator is alive, and the word is ours.
        let code = unsafe { sys::MPIX_Comm_agree(self.canonical, &raw mut word) };
        let flags = word.cast_unsigned();
        match check(code, operation) {
            Ok(()) => Ok(Agreed { flags, news: false }),
            // The word is agreed upon all the same, and so is this.
            Err(error) if error.kind() == ErrorKind::ProcFailed => Ok(Agreed { flags, news: true }),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn failed_ranks(&self, operation: &'static str) -> Result<Vec<usize>> {
        tolerance(operation)?;
        fault_tolerance::failed_ranks(self.canonical)
    }

    pub(crate) fn ack_failed(&self, operation: &'static str) -> Result<Vec<usize>> {
        let failed = self.failed_ranks("MPIX_Comm_get_failed")?;
        fault_tolerance::acknowledge(self.canonical, operation, failed.len())?;
        Ok(failed)
    }
}
