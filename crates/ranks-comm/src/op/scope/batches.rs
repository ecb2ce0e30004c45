//! Batches on the heap, for the small operations of a scope beyond the first batch.

use std::cell::{Ref, RefCell};

use crate::communicator::Communicator;
use crate::op::mpi::batch::{Batch, Rooms};
use crate::op::mpi::request_copies::ROOMS;
use crate::result::Result;

/// Any number of batches. An operation is in the room `index % ROOMS` of the batch
/// `index / ROOMS`.
#[derive(Default)]
pub(super) struct Batches {
    all: RefCell<Vec<Batch<Box<Rooms>>>>,
    /// Those that have a free room, each once; the last is filled first.
    open: RefCell<Vec<usize>>,
}

impl Batches {
    /// Starts an operation in a free room; returns its index.
    pub(super) fn begin(
        &self,
        comm: &Communicator,
        begin: impl FnOnce(&Batch<Box<Rooms>>, u32) -> Result<u32>,
    ) -> Result<usize> {
        let (number, room) = self.free_room(comm);
        let all = self.all.borrow();
        let batch = &all[number];
        let begun = begin(batch, room)?;
        if batch.room().is_none() {
            self.open.borrow_mut().pop();
        }
        Ok(number * ROOMS + begun as usize)
    }

    /// The batch that is filled first, and its free room; a new batch if none has one.
    fn free_room(&self, comm: &Communicator) -> (usize, u32) {
        let (mut all, mut open) = (self.all.borrow_mut(), self.open.borrow_mut());
        let last = open.last().copied();
        if let Some(free) = last.and_then(|number| Some((number, all[number].room()?))) {
            return free;
        }
        let number = all.len();
        all.push(Batch::new(comm, Box::new(Rooms::new())));
        open.push(number);
        (number, 0)
    }

    /// Calls `then` with the batch and the room of an operation, which may be complete afterwards.
    pub(super) fn at<T>(&self, index: usize, then: impl FnOnce(&Batch<Box<Rooms>>, u32) -> T) -> T {
        let all = self.all.borrow();
        let batch = &all[index / ROOMS];
        let was_full = batch.room().is_none();
        let result = then(batch, room(index));
        if was_full && batch.room().is_some() {
            self.open.borrow_mut().push(index / ROOMS);
        }
        result
    }

    pub(super) fn all(&self) -> Ref<'_, Vec<Batch<Box<Rooms>>>> {
        self.all.borrow()
    }

    pub(super) fn are_empty(&self) -> bool {
        self.all.borrow().iter().all(Batch::is_empty)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "less than ROOMS")]
fn room(index: usize) -> u32 {
    (index % ROOMS) as u32
}
