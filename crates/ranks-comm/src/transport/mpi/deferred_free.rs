//! Deferred frees: dropped objects that only a collective call can free.

use std::collections::BTreeMap;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Comm;

use super::child::FreedTogether;
use super::error::check;
use super::unreceived;
use crate::result::Result;

/// The objects whose free is deferred.
#[derive(Default)]
pub(crate) struct DeferredFrees {
    pub(crate) next: u64,
    /// By their keys, which are the order of their creation on this rank.
    waiting: BTreeMap<u64, Numbered>,
}

/// An object, and the number that all of its ranks know it by; 0 if it has none.
struct Numbered {
    number: u64,
    what: Waiting,
}

impl DeferredFrees {
    pub(crate) fn insert(&mut self, key: u64, number: u64, what: Waiting) {
        self.waiting.insert(key, Numbered { number, what });
    }

    pub(crate) fn get(&self, key: u64) -> Option<&Waiting> {
        self.waiting.get(&key).map(|one| &one.what)
    }

    pub(crate) fn remove(&mut self, key: u64) -> Option<Waiting> {
        self.waiting.remove(&key).map(|one| one.what)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Takes out all of them, in an order that is the same on all ranks: a free waits for the other
    /// ranks of its object, and threads make objects in another order on each rank.
    ///
    /// Objects without a number are in the order of their creation.
    pub(crate) fn take_all(&mut self) -> Vec<Waiting> {
        let mut all: Vec<Numbered> = std::mem::take(&mut self.waiting).into_values().collect();
        all.sort_by_key(|one| one.number);
        all.into_iter().map(|one| one.what).collect()
    }
}

/// A communicator, or an object that was made from one.
pub(crate) enum Waiting {
    Comm(MPI_Comm),
    Other(Box<dyn FreedTogether>),
}

impl Waiting {
    /// Frees it. Collective.
    pub(crate) fn free(self) -> Result<()> {
        let mut comm = match self {
            Self::Comm(comm) => comm,
            Self::Other(other) => return other.free(),
        };
        unreceived::tell(comm);
        // SAFETY: the handle was put aside when its last holder went, and is taken out once.
        let code = unsafe { sys::MPI_Comm_free(&raw mut comm) };
        check(code, "MPI_Comm_free")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::call::lock::lock;

    /// An object that notes when it is freed.
    struct Noted(u64, Arc<Mutex<Vec<u64>>>);

    impl FreedTogether for Noted {
        fn free(self: Box<Self>) -> Result<()> {
            lock(&self.1).push(self.0);
            Ok(())
        }
    }

    /// The order in which a rank frees objects of these numbers, made in this order.
    fn freed(made: &[u64]) -> Vec<u64> {
        let (mut deferred, freed) = (DeferredFrees::default(), Arc::default());
        for (key, &number) in made.iter().enumerate() {
            let noted = Noted(number, Arc::clone(&freed));
            deferred.insert(key as u64, number, Waiting::Other(Box::new(noted)));
        }
        for what in deferred.take_all() {
            what.free().unwrap();
        }
        assert_eq!(deferred.len(), 0);
        lock(&freed).clone()
    }

    #[test]
    fn ranks_freed_what_threads_had_made_in_different_orders() {
        assert_eq!(freed(&[7, 0, 9, 3]), freed(&[3, 9, 0, 7]));
        assert_eq!(freed(&[9, 7]), freed(&[7, 9]));
    }
}
