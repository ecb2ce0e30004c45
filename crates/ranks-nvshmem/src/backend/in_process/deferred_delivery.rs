//! Deferred delivery: operations that are carried out when something asks for their completion, and
//! no sooner.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ranks_comm::Result;

use crate::backend::Direction;
use crate::backend::in_process::kept_place::KeptPlace;

/// The time at which other PEs see what is put, and at which memory is read that is put from
/// without waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Delivery {
    /// At once.
    #[default]
    AtOnce,
    /// As late as the rules allow, so that a program which forgets to ask for completion is found
    /// out: at the next `quiet` or barrier of the PE, and in `nbi` forms what is read is read then.
    /// What no fence parts comes the last first.
    Late,
}

/// The operations that one PE has started and nobody has seen.
#[derive(Debug, Default)]
pub(super) struct Late(Mutex<Begun>);

#[derive(Debug, Default)]
struct Begun {
    /// Those before a fence, in the order in which they are delivered: before whatever is delivered
    /// from now on.
    fenced: Vec<Transfer>,
    /// Those since, which are delivered in any order: the last first.
    unordered: Vec<Transfer>,
}

/// A copy that is to be made.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) direction: Direction,
    dest: KeptPlace,
    source: Source,
    bytes: usize,
}

/// The source of a copy.
#[derive(Debug)]
enum Source {
    /// The memory, read when the copy is carried out.
    Memory(KeptPlace),
    /// The bytes that were there when the operation was started.
    Read(Vec<u8>),
}

impl Transfer {
    /// That of an access to a place on another PE, from or to one here.
    pub(super) fn of(direction: Direction, far: KeptPlace, near: KeptPlace, bytes: usize) -> Self {
        let (dest, source) = match direction {
            Direction::Put => (far, near),
            Direction::Get => (near, far),
        };
        Self {
            direction,
            dest,
            source: Source::Memory(source),
            bytes,
        }
    }

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
        self.lock().unordered.push(transfer);
    }

    /// Orders pending operations before those that are delivered later.
    pub(super) fn fence(&self) {
        self.lock().fence();
    }

    /// Carries out what goes before anything that is delivered now.
    pub(super) fn before_delivery(&self) -> Result<()> {
        self.lock().deliver_fenced()
    }

    /// Carries out everything.
    pub(super) fn complete(&self) -> Result<()> {
        let mut begun = self.lock();
        begun.fence();
        begun.deliver_fenced()
    }

    /// Reads all that is put from.
    pub(super) fn flush(&self) -> Result<()> {
        let Begun { fenced, unordered } = &mut *self.lock();
        let begun = fenced.iter_mut().chain(unordered);
        let mut puts = begun.filter(|one| one.direction == Direction::Put);
        puts.try_for_each(Transfer::read_now)
    }
}

impl Begun {
    fn fence(&mut self) {
        self.fenced.extend(self.unordered.drain(..).rev());
    }

    fn deliver_fenced(&mut self) -> Result<()> {
        self.fenced.drain(..).try_for_each(|one| one.carry_out())
    }
}
