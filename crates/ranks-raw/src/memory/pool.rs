//! Copies of memory, kept for the next operation.

use std::sync::{Arc, Mutex, PoisonError};

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{Context, PinnedVec};

use crate::driver::of_driver;

/// Memory that nobody uses now. New memory costs more than a copy: the system fills it with zeros,
/// page by page.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    free: Mutex<Vec<Memory>>,
}

/// The number of bytes that are kept for later.
const KEPT: usize = 256 << 20;
const WORD: usize = size_of::<u128>();

/// Words of either kind.
#[derive(Debug)]
enum Memory {
    Heap(Vec<u128>),
    /// Memory that devices copy from and to.
    Pinned(PinnedVec<u128>),
}

impl Memory {
    fn words(&self) -> &[u128] {
        match self {
            Self::Heap(words) => words,
            Self::Pinned(words) => words,
        }
    }

    fn words_mut(&mut self) -> &mut [u128] {
        match self {
            Self::Heap(words) => words,
            Self::Pinned(words) => words,
        }
    }

    fn is_pinned(&self) -> bool {
        matches!(self, Self::Pinned(_))
    }
}

impl Pool {
    /// So many bytes, in which anything may be.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Result<Staged> {
        self.take_or(bytes, false, |words| allocated(words, bytes))
    }

    /// The same for copies from and to a device.
    pub(crate) fn take_pinned(self: &Arc<Self>, bytes: usize, context: &Context) -> Result<Staged> {
        self.take_or(bytes, true, |words| {
            let pinned = context.pinned(words).map(Memory::Pinned);
            pinned.map_err(|error| of_driver("RawComm", error))
        })
    }

    fn take_or(
        self: &Arc<Self>,
        bytes: usize,
        pinned: bool,
        new: impl FnOnce(usize) -> Result<Memory>,
    ) -> Result<Staged> {
        let words = bytes.div_ceil(WORD);
        // Not one that is far too large: it would be missed by who needs it.
        let fitting = words..=words.saturating_mul(4).max(64);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let found = free
            .iter()
            .enumerate()
            .filter(|(_, memory)| memory.is_pinned() == pinned)
            .filter(|(_, memory)| fitting.contains(&memory.words().len()))
            .min_by_key(|(_, memory)| memory.words().len())
            .map(|(index, _)| index);
        let found = found.map(|index| free.swap_remove(index));
        drop(free);
        let memory = match found {
            Some(memory) => memory,
            None => new(words)?,
        };
        let pool = Arc::clone(self);
        Ok(Staged {
            memory: Some(memory),
            bytes,
            pool,
        })
    }
}

/// New memory of the heap.
fn allocated(words: usize, bytes: usize) -> Result<Memory> {
    let mut new = Vec::new();
    new.try_reserve_exact(words).map_err(|reason| {
        let text = format!("no memory for a copy of {bytes} bytes: {reason}");
        Error::new(ErrorKind::Memory, "RawComm", text)
    })?;
    new.resize(words, 0);
    Ok(Memory::Heap(new))
}

/// Memory of an operation under way; goes back to its pool.
#[derive(Debug)]
pub(crate) struct Staged {
    /// Taken in `drop` only.
    memory: Option<Memory>,
    bytes: usize,
    pool: Arc<Pool>,
}

impl Staged {
    pub(crate) fn bytes(&self) -> &[u8] {
        let words = self.memory.as_ref().map_or(&[][..], Memory::words);
        &bytemuck::cast_slice(words)[..self.bytes]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let words = self.memory.as_mut();
        let words = words.map_or(&mut [][..], Memory::words_mut);
        &mut bytemuck::cast_slice_mut(words)[..self.bytes]
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else {
            return;
        };
        let bytes = |memory: &Memory| size_of_val(memory.words());
        let mut free = self
            .pool
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let kept: usize = free.iter().map(bytes).sum();
        if bytes(&memory) > 0 && kept + bytes(&memory) <= KEPT && free.len() < 256 {
            free.push(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again() {
        let pool = Arc::new(Pool::default());
        let copy = pool.take(1000).unwrap();
        let address = copy.bytes().as_ptr();
        drop(copy);
        let again = pool.take(990).unwrap();
        assert_eq!(
            (again.bytes().as_ptr(), again.bytes().len()),
            (address, 990)
        );
        assert_ne!(pool.take(1000).unwrap().bytes().as_ptr(), address);
        assert!(pool.take(0).unwrap().bytes().is_empty());
    }
}
