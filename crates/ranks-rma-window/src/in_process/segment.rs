//! The part of one rank: its memory, in which phase it is, and who may access it.
#![allow(unsafe_code)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use ranks_comm::{Error, ErrorKind, Pod, Result};

use super::region::{Base, Region};

/// Access to a segment that its owner has agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The owner may hold references: nobody else has access.
    Quiet,
    /// An epoch between fences: all have access.
    Fence,
    /// Whoever holds a lock has access.
    Passive,
    /// Whoever was named when it was posted, and has started, has access.
    Posted,
}

/// A segment; everything about it is behind one mutex.
#[derive(Debug)]
pub(super) struct Segment {
    base: Base,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    /// Gone when its owner has it back.
    region: Option<Region>,
    pub(super) phase: Phase,
    /// Rank that holds an exclusive lock.
    pub(super) exclusive: Option<usize>,
    /// Ranks that hold a shared lock.
    pub(super) shared: Vec<usize>,
    /// For each origin how often it was posted, started and completed.
    pub(super) dealings: Vec<Dealings>,
    /// To whom it is posted.
    pub(super) posted: Vec<usize>,
}

/// Progress of a target and an origin; each number is at most the one before it, and at least that
/// less one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Dealings {
    pub(super) posts: u64,
    pub(super) starts: u64,
    pub(super) completes: u64,
}

impl Segment {
    pub(super) fn new(region: Region, ranks: usize) -> Self {
        Self {
            base: region.base(),
            state: Mutex::new(State {
                region: Some(region),
                phase: Phase::Quiet,
                exclusive: None,
                shared: Vec::new(),
                dealings: vec![Dealings::default(); ranks],
                posted: Vec::new(),
            }),
        }
    }

    pub(super) fn base(&self) -> Base {
        self.base
    }

    pub(super) fn set_phase(&self, phase: Phase) {
        self.state().phase = phase;
    }

    /// All about it, locked. Nobody waits while holding this.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Each change is complete before anything can panic; elements that a closure left half
        // changed are values all the same.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works as `origin` on so many elements of the segment of `target`, which this is.
    pub(super) fn access<T: Pod, R>(
        &self,
        operation: &'static str,
        (origin, target): (usize, usize),
        at: usize,
        length: usize,
        work: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R> {
        let mut state = self.state();
        if !state.admits(origin) {
            return Err(state.refused(operation, origin, target));
        }
        let Some(region) = &mut state.region else {
            let detail = format_args!("rank {target} has freed its part of the window");
            return Err(Error::new(ErrorKind::Mismatch, operation, detail));
        };
        // SAFETY: references are made under this mutex only, save those of the owner, which has
        // none while somebody is admitted: it sets the phase before it lets go of its memory, and
        // looks at it again when nobody is.
        let elements = unsafe { region.elements(operation, at, length) }?;
        Ok(work(elements))
    }

    /// The memory, after which there is no access any more.
    pub(super) fn take(&self) -> Option<Region> {
        self.state().region.take()
    }
}

impl State {
    pub(super) fn is_held_by(&self, rank: usize) -> bool {
        self.exclusive == Some(rank) || self.shared.contains(&rank)
    }

    fn admits(&self, origin: usize) -> bool {
        match self.phase {
            Phase::Quiet => false,
            Phase::Fence => true,
            Phase::Passive => self.is_held_by(origin),
            Phase::Posted => {
                let dealings = self.dealings[origin];
                dealings.starts > dealings.completes
            }
        }
    }

    #[cold]
    fn refused(&self, operation: &'static str, origin: usize, target: usize) -> Error {
        let why = match self.phase {
            Phase::Quiet => {
                "is not open for access now; all ranks must open and close epochs alike"
            }
            Phase::Fence => "is open for all",
            Phase::Passive => "may be accessed under a lock only, which this rank does not hold",
            Phase::Posted => "is posted, but this rank has not started an epoch with it",
        };
        let detail = format_args!("rank {origin} has no access: the window of rank {target} {why}");
        Error::new(ErrorKind::Mismatch, operation, detail)
    }
}
