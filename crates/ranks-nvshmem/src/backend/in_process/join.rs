//! Bootstrap of the threads of one process: they find each other.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ranks_bootstrap::Bootstrap;
use ranks_comm::{Error, ErrorKind, Result};

use super::Heap;
use super::world::World;
use crate::backend::Backend;
use crate::backend::options::NvshmemOptions;

const OPERATION: &str = "nvshmemx_hostlib_init_attr";

/// Heaps that not all have joined, by numbers that nobody guesses.
static BEGUN: Mutex<Option<HashMap<u64, Arc<World>>>> = Mutex::new(None);

fn begun() -> MutexGuard<'static, Option<HashMap<u64, Arc<World>>>> {
    BEGUN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A heap stands in the table for as long as PE 0 keeps this.
#[derive(Debug)]
struct Offer(u64);

impl Offer {
    fn of(world: Arc<World>) -> Offer {
        let mut begun = begun();
        let begun = begun.get_or_insert_default();
        let number = loop {
            let number = RandomState::new().build_hasher().finish();
            if !begun.contains_key(&number) {
                break number;
            }
        };
        begun.insert(number, world);
        Offer(number)
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        if let Some(begun) = &mut *begun() {
            begun.remove(&self.0);
        }
    }
}

impl Heap {
    /// This thread's part of a new heap of all threads that the bootstrap connects. Collective.
    /// Nothing waits longer than the limit, where there is one.
    ///
    /// # Errors
    /// The same on all: `NotAvailable` if PEs are in several processes; what the bootstrap reports.
    pub(crate) fn join(
        bootstrap: &dyn Bootstrap,
        options: &NvshmemOptions,
    ) -> Result<Box<dyn Backend>> {
        let me = bootstrap.rank();
        let offer = (me == 0).then(|| Offer::of(World::new(bootstrap.size())));
        let number = offer.as_ref().map_or(0, |offer| offer.0);
        let mine = [u64::from(process::id()), number].map(u64::to_le_bytes);
        let all = bootstrap.exchange(mine.as_flattened())?;

        let (home, number) = all.first().map_or((None, None), |told| told_by(told));
        let others: Vec<usize> = (0..all.len())
            .filter(|&pe| home.is_none() || told_by(&all[pe]).0 != home)
            .collect();
        if let Some(&other) = others.first() {
            let count = others.len();
            return Err(apart(format_args!(
                "PE {other} is in another process than PE 0, as are {count} in all"
            )));
        }
        let world = number.and_then(|number| begun().as_ref()?.get(&number).cloned());
        // Process numbers are those of a container; a heap that nobody else has says for sure.
        let found = bootstrap.exchange(&[u8::from(world.is_some())])?;
        drop(offer);
        let lost = found.iter().position(|told| told != &[1]);
        match (world, lost) {
            (Some(world), None) if me < world.size() => Ok(Box::new(Heap::new(
                world,
                me,
                options.time_limit,
                options.delivery,
            ))),
            (_, lost) => Err(apart(format_args!(
                "PE {} does not find the heap of PE 0, so it is in another process",
                lost.unwrap_or(me)
            ))),
        }
    }
}

/// The number of a PE's process, and of the heap that it offers.
fn told_by(told: &[u8]) -> (Option<u64>, Option<u64>) {
    let words: Option<[[u8; 8]; 2]> = told.as_chunks().0.try_into().ok();
    let words = words.filter(|_| told.len() == 16);
    (
        words.map(|words| u64::from_le_bytes(words[0])),
        words.map(|words| u64::from_le_bytes(words[1])),
    )
}

#[cold]
fn apart(detail: std::fmt::Arguments<'_>) -> Error {
    let why = format_args!(
        "{detail}; the PEs of a heap in process are threads of one process, for others NVSHMEM is needed"
    );
    Error::new(ErrorKind::NotAvailable, OPERATION, why)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use ranks_bootstrap::ThreadBootstrap;

    use super::*;

    /// Tells what it is told to, in place of another process.
    struct Elsewhere(Cell<usize>);

    impl Bootstrap for Elsewhere {
        fn rank(&self) -> usize {
            0
        }

        fn size(&self) -> usize {
            2
        }

        fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
            let round = self.0.replace(self.0.get() + 1);
            let mut other = mine.to_vec();
            if round == 0 {
                other[0] ^= 1;
            }
            Ok(vec![mine.to_vec(), other])
        }
    }

    #[test]
    fn pes_of_other_processes_are_refused_on_all() {
        let error = Heap::join(&Elsewhere(Cell::new(0)), &NvshmemOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotAvailable);
        assert!(
            error.to_string().contains("PE 1 is in another process"),
            "{error}"
        );
        // Process numbers agree, and yet it is not found: the next one tells 0 of its heap.
        let errors = std::thread::scope(|scope| {
            let ranks = ThreadBootstrap::of(2, Duration::from_secs(20)).unwrap();
            let join = |rank: ThreadBootstrap| {
                move || {
                    let lies = Lies(rank);
                    Heap::join(&lies, &NvshmemOptions::new()).unwrap_err()
                }
            };
            let threads: Vec<_> = ranks
                .into_iter()
                .map(|rank| scope.spawn(join(rank)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap().to_string())
                .collect::<Vec<_>>()
        });
        assert_eq!(errors[0], errors[1]);
    }

    /// A bootstrap that changes the number of PE 0's heap.
    struct Lies(ThreadBootstrap);

    impl Bootstrap for Lies {
        fn rank(&self) -> usize {
            self.0.rank()
        }

        fn size(&self) -> usize {
            self.0.size()
        }

        fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
            let mut all = self.0.exchange(mine)?;
            if let (Some(number), 1) = (all[0].get_mut(8), self.0.rank()) {
                *number ^= 0xff;
            }
            Ok(all)
        }
    }
}
