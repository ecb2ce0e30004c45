//! The recorder of a communicator.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use ranks_trace::{Comm, Home};

use super::call::Call;
use super::kind::Class;
use super::ring::Ring;
use crate::call::identity::digest;
use crate::call::inside::Inside;
use crate::call::lock::lock;
use crate::result::{Error, ErrorKind, Result};

/// The rings of a communicator, and its identity.
pub(crate) struct Recorder {
    pub(crate) collectives: Ring,
    pub(crate) messages: Ring,
    /// The thread that is in a collective on the slow path.
    inside: Inside,
    /// The rank that it belongs to.
    pub(crate) home: Home,
    /// Equal on all its ranks, and different for each communicator.
    pub(crate) id: u64,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    /// Its ranks in the world; empty if they are not known, or too many to be kept.
    pub(crate) world_ranks: Arc<[usize]>,
    /// `true` if each of its ranks has the same rank in the world.
    is_world: bool,
    /// This rank in the world, and the size of the world.
    pub(crate) place: (usize, usize),
    name: Mutex<String>,
    /// Its name in errors while it has none, if it is no communicator.
    unnamed: OnceLock<&'static str>,
}

/// The recorders of all live communicators of this process.
static RECORDERS: Mutex<Vec<Weak<Recorder>>> = Mutex::new(Vec::new());

impl Recorder {
    /// The largest size of a communicator for which the world ranks are kept.
    pub(crate) const MOST: usize = 1 << 16;

    /// A recorder for a communicator of these ranks of the world, if they are known, which was made
    /// in the same way on all of them; `world` as in [`Home`]. If it `is_world`, they are all, in
    /// their order, and need not be kept.
    pub(crate) fn with(
        world: u64,
        origin: u64,
        (rank, size): (usize, usize),
        world_ranks: Arc<[usize]>,
        is_world: bool,
        place: (usize, usize),
    ) -> Arc<Self> {
        let ranks = world_ranks.iter().map(|&rank| rank as u64);
        let recorder = Arc::new(Self {
            collectives: Ring::new(),
            messages: Ring::new(),
            inside: Inside::new(),
            home: Home::of(world, place.0),
            id: digest([origin, size as u64].into_iter().chain(ranks)),
            rank,
            size,
            is_world,
            world_ranks,
            place,
            name: Mutex::default(),
            unnamed: OnceLock::new(),
        });
        let mut all = lock(&RECORDERS);
        if all.len() == all.capacity() {
            all.retain(|one| one.strong_count() > 0);
        }
        all.push(Arc::downgrade(&recorder));
        recorder
    }

    /// A recorder for the communicator of all ranks.
    pub(crate) fn of_world(world: u64, rank: usize, size: usize) -> Arc<Self> {
        let all = if size <= Self::MOST { 0..size } else { 0..0 };
        let place = (rank, size);
        let recorder = Self::with(world, 0, place, all.collect(), true, place);
        recorder.set_name("MPI_COMM_WORLD");
        recorder
    }

    /// A number shared by the communicators that the collective makes from this one that this rank
    /// is in.
    pub(crate) fn origin(&self) -> u64 {
        digest([self.id, self.collectives.begun()])
    }

    /// The world rank of one of its ranks, if that is known.
    pub(crate) fn world_rank(&self, rank: usize) -> Option<usize> {
        if self.is_world {
            return (rank < self.size).then_some(rank);
        }
        self.world_ranks.get(rank).copied()
    }

    /// Returns `true` if its ranks are known not to be those of the world, in order.
    pub(crate) fn is_renumbered(&self) -> bool {
        !self.is_world && !self.world_ranks.is_empty()
    }

    pub(crate) fn name(&self) -> String {
        lock(&self.name).clone()
    }

    /// Sets what errors call it while it has no name; once.
    pub(crate) fn set_unnamed(&self, words: &'static str) {
        self.unnamed.get_or_init(|| words);
    }

    /// The name, as errors have it.
    pub(crate) fn named(&self) -> String {
        match &**lock(&self.name) {
            "" => (*self
                .unnamed
                .get()
                .unwrap_or(&"a communicator without a name"))
            .to_owned(),
            name => ranks_trace::printable(name).to_string(),
        }
    }

    /// The communicator, as reports name it.
    pub(crate) fn traced(&self) -> Comm<'_> {
        Comm {
            home: self.home,
            backend: if self.home == Home::PROCESS {
                "mpi"
            } else {
                "in process"
            },
            id: self.id,
            rank: self.rank,
            size: self.size,
            world_ranks: &self.world_ranks,
            name: &self.name,
        }
    }

    pub(crate) fn set_name(&self, name: &str) {
        name.clone_into(&mut lock(&self.name));
    }

    /// Enters a collective on this thread, until it [leaves](Inside::leave); within a collective of
    /// this thread too.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`] while another thread is in one.
    #[inline]
    pub(crate) fn one_collective(&self, operation: &'static str) -> Result<&Inside> {
        match self.inside.enter() {
            Some(0) if !self.collectives.is_idle() => self.inside.leave(),
            Some(_) => return Ok(&self.inside),
            None => {}
        }
        Err(self.two_collectives(operation))
    }

    #[cold]
    fn two_collectives(&self, operation: &'static str) -> Error {
        let last = self.collectives.entries().pop();
        let other = last.map_or("a collective", |last| last.call.operation());
        Error::new(
            ErrorKind::WrongThread,
            operation,
            format_args!(
                "called while another thread is, or was at the same time as one before, in {other} on this communicator; \
                 collectives of one communicator follow each other: give each thread one of its own (Communicator::dup)"
            ),
        )
    }

    /// The ring of a call, if it is recorded.
    #[inline]
    pub(crate) fn ring_of(&self, call: &Call) -> Option<&Ring> {
        match call.kind.class {
            Class::Collective => Some(&self.collectives),
            Class::Message => Some(&self.messages),
            Class::Local => None,
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("rank", &self.rank)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// The recorders of all live communicators.
pub(crate) fn recorders() -> Vec<Arc<Recorder>> {
    let all = lock(&RECORDERS);
    all.iter().filter_map(Weak::upgrade).collect()
}
