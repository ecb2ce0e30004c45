//! Copies of memory, kept for the next operation.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use ranks_comm::{Error, ErrorKind, Result};

/// Memory that nobody uses now. New memory costs more than a copy: the system fills it with zeros, page by page.
#[derive(Debug, Default)]
pub(super) struct Pool {
    free: Mutex<Vec<Vec<u128>>>,
}

/// How much is kept for later.
const KEPT: usize = 256 << 20;
const WORD: usize = size_of::<u128>();

impl Pool {
    /// So many bytes, in which anything may be.
    pub(super) fn take(self: &Arc<Self>, bytes: usize) -> Result<Staged> {
        let words = bytes.div_ceil(WORD);
        let pool = Arc::clone(self);
        if words == 0 {
            let words = Vec::new();
            return Ok(Staged { words, bytes, pool });
        }
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        // Not one that is far too large: it would be missed by who needs it.
        let fitting = free
            .iter()
            .enumerate()
            .filter(|(_, block)| (words..=words.saturating_mul(4).max(64)).contains(&block.len()))
            .min_by_key(|(_, block)| block.len());
        if let Some((index, _)) = fitting {
            let words = free.swap_remove(index);
            return Ok(Staged { words, bytes, pool });
        }
        drop(free);
        let mut new = Vec::new();
        new.try_reserve_exact(words).map_err(|reason| {
            let text = format!("no memory for a copy of {bytes} bytes: {reason}");
            Error::new(ErrorKind::Memory, "RawComm", text)
        })?;
        new.resize(words, 0);
        let words = new;
        Ok(Staged { words, bytes, pool })
    }
}

/// Memory of an operation under way; goes back to its pool.
#[derive(Debug)]
pub(super) struct Staged {
    words: Vec<u128>,
    bytes: usize,
    pool: Arc<Pool>,
}

impl Staged {
    pub(super) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.bytes]
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let words = mem::take(&mut self.words);
        let free = &self.pool.free;
        let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: usize = free.iter().map(|block| block.len() * WORD).sum();
        if !words.is_empty() && kept + words.len() * WORD <= KEPT && free.len() < 256 {
            free.push(words);
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
