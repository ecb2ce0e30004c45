//! Deferred delivery: operations that are carried out when something asks for their completion, and no sooner.

use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ranks_comm::Result;

use super::spot::Spot;

/// The time at which other PEs see what is put, and at which memory is read that is put from without waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Delivery {
    /// At once.
    #[default]
    AtOnce,
    /// As late as the rules allow, so that a program which forgets to ask for completion is found out: at the next `quiet` or
    /// barrier of the PE, and in `nbi` forms what is read is read then.
    Late,
}

/// The operations that one PE has started and nobody has seen.
#[derive(Debug, Default)]
pub(super) struct Late(Mutex<Begun>);

#[derive(Debug, Default)]
struct Begun {
    transfers: Vec<Transfer>,
    /// So many of them go before whatever is delivered from now on.
    fenced: usize,
}

/// A copy that is to be made.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) dest: Spot,
    pub(super) source: Source,
    pub(super) bytes: usize,
    /// It is memory of the caller's that it reads from: that of a put.
    pub(super) reads_own: bool,
}

/// The source of a copy.
#[derive(Debug)]
pub(super) enum Source {
    /// The memory, read when the copy is carried out.
    Memory(Spot),
    /// The bytes that were there when the operation was started.
    Read(Vec<u8>),
}

impl Transfer {
    pub(super) fn carry_out(&self) -> Result<()> {
        match &self.source {
            Source::Memory(source) => self.dest.copy(source, self.bytes),
            Source::Read(bytes) => self.dest.write(bytes),
        }
    }

    /// From now on the memory that it reads from may be used again.
    pub(super) fn read_now(&mut self) -> Result<()> {
        if let Source::Memory(source) = &self.source {
            self.source = Source::Read(source.bytes(self.bytes)?);
        }
        Ok(())
    }
}

impl Late {
    /// No code of anybody else's runs under this lock, and every change is whole.
    fn lock(&self) -> MutexGuard<'_, Begun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, transfer: Transfer) {
        self.lock().transfers.push(transfer);
    }

    /// Orders pending operations before those that are delivered later.
    pub(super) fn fence(&self) {
        let mut begun = self.lock();
        begun.fenced = begun.transfers.len();
    }

    /// Carries out what goes before anything that is delivered now.
    pub(super) fn before_delivery(&self) -> Result<()> {
        let mut begun = self.lock();
        let fenced = take(&mut begun.fenced);
        begun
            .transfers
            .drain(..fenced)
            .try_for_each(|one| one.carry_out())
    }

    /// Carries out everything, in order.
    pub(super) fn complete(&self) -> Result<()> {
        let mut begun = self.lock();
        begun.fenced = 0;
        begun
            .transfers
            .drain(..)
            .try_for_each(|one| one.carry_out())
    }

    /// Reads all that is put from.
    pub(super) fn flush(&self) -> Result<()> {
        let mut begun = self.lock();
        let mut puts = begun.transfers.iter_mut().filter(|one| one.reads_own);
        puts.try_for_each(Transfer::read_now)
    }
}
