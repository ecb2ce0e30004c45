//! Objects that all ranks of a communicator share, since they are threads of one process.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::call::lock::lock;

/// The objects that some ranks have not taken yet, each with a number of its own.
#[derive(Default)]
pub(crate) struct Shared(Mutex<Shelf>);

#[derive(Default)]
struct Shelf {
    next: u64,
    things: HashMap<u64, (Arc<dyn Any + Send + Sync>, usize)>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    /// Stores an object for so many other ranks.
    pub(super) fn leave(&self, thing: Arc<dyn Any + Send + Sync>, others: usize) -> u64 {
        let mut shelf = lock(&self.0);
        shelf.next += 1;
        let number = shelf.next;
        if others > 0 {
            shelf.things.insert(number, (thing, others));
        }
        number
    }

    /// Takes a reference to one of them.
    pub(super) fn take(&self, number: u64) -> Option<Arc<dyn Any + Send + Sync>> {
        let mut shelf = lock(&self.0);
        let (thing, others) = shelf.things.get_mut(&number)?;
        *others -= 1;
        let (thing, last) = (Arc::clone(thing), *others == 0);
        if last {
            shelf.things.remove(&number);
        }
        Some(thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_have_taken_is_gone() {
        let shared = Shared::default();
        let number = shared.leave(Arc::new(7), 2);
        let seven = |thing: Arc<dyn Any + Send + Sync>| thing.downcast_ref::<i32>().copied();
        assert_eq!(shared.take(number).and_then(seven), Some(7));
        assert_eq!(shared.take(number).and_then(seven), Some(7));
        assert!(shared.take(number).is_none());
    }
}
