//! State of a PE, whatever its heap is made of.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::thread::{self, ThreadId};

use ranks_comm::backend::{Track, is_observed};
use ranks_comm::{Error, ErrorKind, Result};

use crate::backend::{Backend, Limit};
use crate::dropped::Dropped;
use crate::observed::Observed;
use crate::reach::OwnStream;
use crate::registration::Gone;
use crate::team::Stable;
use crate::under_way::UnderWay;

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
    /// The number of blocks there were, the same on all PEs.
    pub(crate) blocks: Cell<u64>,
    /// Allocations and teams to be freed when all PEs have dropped them.
    pub(crate) dropped: RefCell<Vec<Dropped>>,
    /// Memory that the library is still to be told of that it is gone.
    pub(crate) gone: RefCell<Vec<Gone>>,
    /// Operations that work on the heap.
    pub(crate) under_way: UnderWay,
    /// Operations that the host has started, and the stream that it waits on.
    pub(crate) own: OwnStream,
    /// The teams that every heap has.
    pub(crate) teams: Stable,
    /// The reason for which nothing can be called any more.
    failed: RefCell<Option<String>>,
}

impl Pe {
    pub(crate) fn new(backend: Box<dyn Backend>, track: Track, limit: Limit) -> Self {
        let (my_pe, n_pes) = (backend.my_pe(), backend.n_pes());
        let track = Rc::new(track);
        let limited = backend.limited();
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
            backend,
            track,
            thread: thread::current().id(),
            limit,
            blocks: Cell::new(0),
            dropped: RefCell::new(Vec::new()),
            gone: RefCell::new(Vec::new()),
            under_way: UnderWay::default(),
            own: OwnStream::default(),
            teams: Stable::default(),
            failed: RefCell::new(None),
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
        if let Some(why) = &*self.failed.borrow() {
            let text = format_args!("the symmetric heap cannot be used any more: {why}");
            return Err(Error::new(ErrorKind::Aborted, operation, text));
        }
        Ok(&*self.backend)
    }

    /// The backend, for what asks nothing of other PEs and calls nothing that could fail.
    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// From now on nothing is called.
    pub(crate) fn fail(&self, why: &Error) {
        self.failed
            .borrow_mut()
            .get_or_insert_with(|| why.to_string());
    }
}

#[cold]
fn wrong_thread(operation: &'static str) -> Error {
    let text = "a PE is used by the thread that has initialised it, and by no other";
    Error::new(ErrorKind::WrongThread, operation, text)
}
