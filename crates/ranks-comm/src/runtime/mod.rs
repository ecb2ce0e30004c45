//! Initialisation and finalisation: over MPI under a launcher, as threads of this process without
//! one.

mod builder;
pub(crate) mod run;
pub(crate) mod settings;
mod trust_lengths;
mod world;

use std::sync::Arc;

use ranks_trace::{Clock, Statistics, Who};

pub use builder::Builder;

use crate::call::call_description::CallDescription;
use crate::call::observe;
use crate::call::record::IN_PROCESS;
use crate::call::thread_guard::THREAD_GUARD;
use crate::communicator::Communicator;
use crate::result::Result;
use crate::transport::backend::Backend as Behind;
use crate::transport::facts::{Backend, Facts};
use crate::transport::in_process::Comm;
use crate::transport::in_process::membership::Membership;

/// The communication layer while it lives: from `MPI_Init_thread` to `MPI_Finalize`, or the
/// in-process world.
///
/// Handles are counted. Every [`Communicator`] keeps the runtime alive; it ends when the last
/// handle is dropped. While an MPI runtime lives, starting another one joins it.
///
/// MPI 5.0 §11.2.
#[derive(Debug, Clone)]
pub struct Runtime {
    world: Communicator,
    facts: Arc<Facts>,
}

impl Runtime {
    /// A builder with the defaults.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(world: Communicator, facts: Arc<Facts>) -> Self {
        Self { world, facts }
    }

    /// The communicator of all ranks.
    #[doc(alias = "MPI_COMM_WORLD")]
    #[must_use]
    pub fn world(&self) -> Communicator {
        self.world.clone()
    }

    /// The facts that were found at the start.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The counts and times of this rank's calls so far, on all communicators; empty without
    /// `RANKS_STATS`. Local.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        observe::statistics(self.world.recorder(), true)
    }

    /// Ends communication: from now on every call on any handle is
    /// [`ErrorKind::Finalized`](crate::ErrorKind::Finalized).
    ///
    /// `MPI_Finalize` runs here if no other handle lives, otherwise when the last one is dropped.
    /// An MPI that another part of the program initialised is left running.
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`](crate::ErrorKind::Finalized) if it was finalized before,
    /// [`ErrorKind::WrongThread`](crate::ErrorKind::WrongThread), or what `MPI_Finalize` reports if
    /// it runs here.
    ///
    /// MPI 5.0 §11.2.2 (`MPI_Finalize`).
    #[doc(alias = "MPI_Finalize")]
    pub fn finalize(self) -> Result<()> {
        self.end().map(drop)
    }

    /// Ends the runtime. Returns the number of handles that live on, which keep MPI alive as well.
    pub(crate) fn end(self) -> Result<usize> {
        drop(self.world.enter("MPI_Finalize")?);
        // While MPI can still be called: an attribute's value may be a communicator, or communicate
        // when it is dropped.
        self.world.attributes().clear();
        let mut others = self.world.other_handles();
        match self.world.backend() {
            Behind::Mpi(comm) => {
                comm.end_observing();
                others += comm.other_holders();
                THREAD_GUARD.close();
            }
            Behind::InProcess(comm) => {
                // Others may be in a collective that this rank will never join; of a failure they
                // are told as such. No rank waits for another here.
                if self.world.compares_calls() && !comm.has_failed() {
                    comm.tell_all(CallDescription::named("MPI_Finalize").bytes());
                }
                others += comm.other_holders();
                comm.close();
            }
        }
        let has_ended = match self.world.into_backend() {
            Some(Behind::Mpi(comm)) => comm.end()?,
            Some(Behind::InProcess(comm)) => comm.end(),
            None => false,
        };
        // Handles may have been dropped since they were counted, or made.
        Ok(if has_ended { 0 } else { others.max(1) })
    }
}

/// The runtime of one in-process rank.
pub(crate) fn in_process(place: Membership) -> Runtime {
    let who = Who {
        rank: place.rank,
        size: place.world.size(),
        library: IN_PROCESS.to_owned(),
        job: place.world.job,
    };
    ranks_trace::begin(place.home(), who, Clock::own());
    let facts = Facts {
        backend: Backend::InProcess,
        library: IN_PROCESS.to_owned(),
        path: None,
        standard: None,
        thread_level: place.gate.level(),
        launcher: None,
        receives: "posted".to_owned(),
        rank: place.rank,
        size: place.world.size(),
    };
    let world = Communicator::in_process(Comm::world(Arc::new(place)));
    Runtime::new(world, Arc::new(facts))
}
