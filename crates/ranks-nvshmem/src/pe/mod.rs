//! State of a PE, whatever its heap is made of.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::thread::{self, ThreadId};

use ranks_comm::backend::{Track, is_observed};
use ranks_comm::{Error, ErrorKind, Result};

use crate::backend::block::Known;
use crate::backend::observed::Observed;
use crate::backend::stream::PeStream;
use crate::backend::{Backend, Facts, Order, Point};
use crate::call::time_limit::Limit;
use crate::pe::deferred_free::Dropped;
use crate::pe::in_flight::InFlight;
use crate::pe::teams::LastingTeams;

pub(crate) mod agreement;
pub(crate) mod deferred_free;
pub(crate) mod handle;
pub(crate) mod in_flight;
pub(crate) mod init;
pub(crate) mod team_id;
pub(crate) mod team_use;
pub(crate) mod teams;

/// This PE.
#[derive(Debug)]
pub(crate) struct Pe {
    backend: Box<dyn Backend>,
    /// Its calls, as observers see them.
    pub(crate) track: Rc<Track>,
    pub(crate) my_pe: usize,
    pub(crate) n_pes: usize,
    /// The one that may call.
    thread: ThreadId,
    pub(crate) limit: Limit,
    pub(crate) limited: bool,
    /// True if calls on a team of all PEs are compared.
    pub(crate) compares: bool,
    /// The number of blocks there were, the same on all PEs.
    pub(crate) blocks: Cell<u64>,
    /// Allocations and teams to be freed when all PEs have dropped them.
    pub(crate) dropped: RefCell<Vec<Dropped>>,
    /// Memory that the library is still to be told of that it is gone.
    pub(crate) gone: RefCell<Vec<Gone>>,
    /// Operations that work on the heap.
    pub(crate) in_flight: InFlight,
    /// Operations that the host has started, and the stream that it waits on.
    pub(crate) own: OwnStream,
    /// The teams that every heap has.
    pub(crate) teams: LastingTeams,
    /// The reason for which nothing can be called any more.
    failed: OnceCell<String>,
}

impl Pe {
    pub(crate) fn new(
        backend: Box<dyn Backend>,
        track: Track,
        limit: Limit,
        compares: bool,
    ) -> Self {
        let &Facts {
            my_pe,
            n_pes,
            limited,
            ..
        } = backend.facts();
        let track = Rc::new(track);
        let backend: Box<dyn Backend> = if is_observed() {
            let track = Rc::clone(&track);
            Box::new(Observed { backend, track })
        } else {
            backend
        };
        Self {
            my_pe,
            n_pes,
            limited,
            compares,
            backend,
            track,
            thread: thread::current().id(),
            limit,
            blocks: Cell::new(0),
            dropped: RefCell::new(Vec::new()),
            gone: RefCell::new(Vec::new()),
            in_flight: InFlight::default(),
            own: OwnStream::default(),
            teams: LastingTeams::default(),
            failed: OnceCell::new(),
        }
    }

    /// The backend that `operation` is called on: begins every call.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`]; [`ErrorKind::Aborted`] after a failure that left the heap in no
    /// known state.
    #[inline]
    pub(crate) fn begin(&self, operation: &'static str) -> Result<&dyn Backend> {
        if thread::current().id() != self.thread {
            return Err(wrong_thread(operation));
        }
        self.is_alive(operation)?;
        Ok(&*self.backend)
    }

    /// # Errors
    /// [`ErrorKind::Aborted`] after a failure that left the heap in no known state.
    #[inline]
    pub(crate) fn is_alive(&self, operation: &'static str) -> Result<()> {
        match self.failed.get() {
            None => Ok(()),
            Some(why) => Err(aborted(operation, why)),
        }
    }

    /// The backend, for what asks nothing of other PEs and calls nothing that could fail.
    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Waits until nothing is under way that works on blocks of the heap: before any is freed.
    ///
    /// # Errors
    /// As [`InFlight::settle`](crate::pe::in_flight::InFlight::settle), and as
    /// [`begin`](Self::begin). Nothing may be freed then.
    pub(crate) fn settle(&self, operation: &'static str) -> Result<()> {
        if self.own.begun.get() {
            self.begin(operation)?.point(Point::Quiet, Order::Now)?;
            self.own.begun.set(false);
        }
        self.in_flight.settle(operation, self.limit)
    }

    /// From now on nothing is called.
    pub(crate) fn fail(&self, why: &Error) {
        self.failed.get_or_init(|| why.to_string());
    }
}

/// Operations that the host has started, and the stream that it waits on.
#[derive(Debug, Default)]
pub(crate) struct OwnStream {
    /// True if the host has started something that `quiet` completes.
    pub(crate) begun: Cell<bool>,
    pub(crate) stream: RefCell<Option<Rc<PeStream>>>,
}

/// A registration whose owner is gone.
#[derive(Debug)]
pub(crate) struct Gone {
    pub(crate) address: u64,
    pub(crate) memory: Known,
}

#[cold]
fn aborted(operation: &'static str, why: &str) -> Error {
    let text = format_args!("the symmetric heap cannot be used any more: {why}");
    Error::new(ErrorKind::Aborted, operation, text)
}

#[cold]
fn wrong_thread(operation: &'static str) -> Error {
    let text = "a PE is used by the thread that has initialised it, and by no other";
    Error::new(ErrorKind::WrongThread, operation, text)
}
