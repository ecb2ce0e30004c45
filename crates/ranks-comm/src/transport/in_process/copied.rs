//! Copies of messages, in memory of those that were received before: allocators are slow at what
//! one thread allocates and another one frees.

use std::mem;
use std::ops::Deref;
use std::sync::Mutex;

use ranks_trace::this_thread;

use crate::call::lock::lock;

/// The bytes of a message, in memory that goes to the pool of its receiver, or back to that of its
/// sender.
#[derive(Debug)]
pub(crate) struct Copied {
    bytes: Vec<u8>,
    pool: &'static Pool,
}

impl Copied {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let pool = Pool::own();
        let mut copy = pool.take(bytes.len());
        copy.extend_from_slice(bytes);
        Self { bytes: copy, pool }
    }

    pub(super) fn into_vec(mut self) -> Vec<u8> {
        mem::take(&mut self.bytes)
    }
}

impl Deref for Copied {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        // A thread that sends as much as it receives has no need of another one's pool.
        if let Err(memory) = Pool::own().keep(mem::take(&mut self.bytes), ENOUGH) {
            drop(self.pool.keep(memory, usize::MAX));
        }
    }
}

/// Pools of threads, which they share if there are more of them.
static POOLS: [Pool; 8] = [const { Pool::new() }; 8];

/// Memory of messages that were received.
#[derive(Debug)]
struct Pool(Mutex<Free>);

#[derive(Debug)]
struct Free {
    /// By the logarithm of their capacity.
    by_size: [Vec<Vec<u8>>; LARGEST.ilog2() as usize + 1],
    bytes: usize,
}

/// The smallest capacity of memory that is kept.
const SMALLEST: usize = 64;
/// The largest; a pool keeps no more than that in all.
const LARGEST: usize = 16 << 20;
/// The number of pieces of a size that a thread keeps of what it has received.
const ENOUGH: usize = 64;

/// The logarithm of a capacity; `None` if memory of that one is not kept.
fn size(capacity: usize) -> Option<usize> {
    let is_kept = capacity.is_power_of_two() && (SMALLEST..=LARGEST).contains(&capacity);
    is_kept.then(|| capacity.ilog2() as usize)
}

impl Pool {
    const fn new() -> Self {
        Self(Mutex::new(Free {
            by_size: [const { Vec::new() }; LARGEST.ilog2() as usize + 1],
            bytes: 0,
        }))
    }

    /// That of this thread.
    fn own() -> &'static Self {
        &POOLS[usize::try_from(this_thread()).unwrap_or_default() % POOLS.len()]
    }

    /// Empty memory for so many bytes.
    fn take(&self, len: usize) -> Vec<u8> {
        let capacity = len.next_power_of_two();
        let Some(size) = size(capacity) else {
            return Vec::with_capacity(len);
        };
        let mut free = lock(&self.0);
        let Some(kept) = free.by_size[size].pop() else {
            drop(free);
            return Vec::with_capacity(capacity);
        };
        free.bytes -= capacity;
        kept
    }

    /// Keeps memory, unless there are `many` pieces of its size, or the pool is full and has none
    /// that is larger.
    fn keep(&self, mut memory: Vec<u8>, many: usize) -> Result<(), Vec<u8>> {
        let capacity = memory.capacity();
        let Some(size) = size(capacity) else {
            return Err(memory);
        };
        let free = &mut *lock(&self.0);
        if free.by_size[size].len() >= many {
            return Err(memory);
        }
        while free.bytes + capacity > LARGEST {
            let larger = free.by_size[size + 1..].iter_mut().rev();
            let Some(largest) = larger.filter_map(Vec::pop).next() else {
                return Err(memory);
            };
            free.bytes -= largest.capacity();
        }
        memory.clear();
        free.by_size[size].push(memory);
        free.bytes += capacity;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_message_is_there_for_another_one_of_its_size() {
        let pool = Pool::new();
        let mut memory = pool.take(3000);
        memory.extend_from_slice(&[7; 3000]);
        let address = memory.as_ptr();
        pool.keep(memory, 1).unwrap();
        assert!(pool.take(1000).capacity() < 3000, "of another size");
        let again = pool.take(4096);
        assert_eq!((again.as_ptr(), again.len()), (address, 0));
        assert_eq!(pool.take(4096).capacity(), 4096, "it has no second one");
    }

    #[test]
    fn a_pool_keeps_so_many_and_so_much() {
        let pool = Pool::new();
        pool.keep(pool.take(100), 1).unwrap();
        pool.keep(pool.take(LARGEST / 2), 2).unwrap();
        assert!(pool.keep(Vec::with_capacity(128), 1).is_err(), "a second");
        assert!(pool.keep(Vec::with_capacity(LARGEST), 9).is_err());
        assert!(pool.keep(Vec::with_capacity(LARGEST / 2), 9).is_err());
        for _ in 0..2 {
            pool.keep(Vec::with_capacity(LARGEST / 4), 9).unwrap();
        }
        let kept = lock(&pool.0).bytes;
        assert_eq!(kept, LARGEST / 2 + 128, "two in place of a larger one");
        assert!(pool.keep(pool.take(2 * LARGEST), 9).is_err());
        assert!(pool.keep(Vec::new(), 9).is_err());
    }

    #[test]
    fn a_message_has_its_own_bytes_alone() {
        drop(Copied::new(&[1; 100]));
        let message = Copied::new(&[2; 80]);
        assert_eq!(*message, [2; 80]);
        assert_eq!(message.into_vec(), [2; 80]);
    }
}
