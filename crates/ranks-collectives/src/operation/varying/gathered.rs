//! The elements that ranks have sent, and the place of each block.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};

use crate::arguments::blocks::Blocks;
use crate::operation::varying::counts;

/// Blocks of elements, one of each rank, in the order of ranks: what an operation gives that finds
/// out by itself how long they are.
///
/// It is a slice of all elements; [`block`](Self::block) is what one rank has sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gathered<T> {
    data: Vec<T>,
    blocks: Blocks,
}

impl<T> Default for Gathered<T> {
    /// Nothing from no rank: what operations that reuse memory begin with.
    fn default() -> Self {
        Self::new(Vec::new(), Blocks::default())
    }
}

impl<T: Pod> Gathered<T> {
    /// Makes room for these blocks, in the memory that there is if it is enough, and gives it with
    /// the blocks.
    ///
    /// # Errors
    /// [`ErrorKind::Length`](ranks_comm::ErrorKind::Length) if there is no memory for them; what
    /// there was is kept.
    pub(crate) fn make_room(
        &mut self,
        comm: &Communicator,
        operation: &'static str,
        blocks: Blocks,
    ) -> Result<(&mut [T], &Blocks)> {
        // There is room for any number of elements without a size, which `resize` would count one
        // by one.
        if blocks.end() > self.data.capacity() || size_of::<T>() == 0 {
            self.data = counts::room_to_receive(comm, operation, blocks.end())?;
        } else {
            self.data.resize(blocks.end(), T::zeroed());
        }
        // Those that are the same have been converted for the library already.
        if blocks != self.blocks {
            self.blocks = blocks;
        }
        Ok((&mut self.data, &self.blocks))
    }
}

impl<T> Gathered<T> {
    /// `data` has as many elements as the blocks, which lie one after the other.
    pub(crate) fn new(data: Vec<T>, blocks: Blocks) -> Self {
        Self { data, blocks }
    }

    /// The block of `rank`; `None` if there is no such rank.
    #[must_use]
    pub fn block(&self, rank: usize) -> Option<&[T]> {
        let exists = rank < self.blocks.len();
        exists.then(|| &self.data[self.blocks.range(rank)])
    }

    /// The block of each rank, from 0 up.
    pub fn iter_blocks(&self) -> impl ExactSizeIterator<Item = &[T]> {
        (0..self.blocks.len()).map(|rank| &self.data[self.blocks.range(rank)])
    }

    /// The lengths and places of the blocks: for operations on the same blocks that need not find
    /// it out again.
    #[must_use]
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// All elements, in the order of ranks.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// All elements, and where those of each rank are.
    #[must_use]
    pub fn into_parts(self) -> (Vec<T>, Blocks) {
        (self.data, self.blocks)
    }
}

impl<T> Deref for Gathered<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.data
    }
}

impl<T> DerefMut for Gathered<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_by_rank() {
        let blocks = Blocks::from_counts(&[2, 0, 1]).unwrap();
        let gathered = Gathered::new(vec![7, 8, 9], blocks);
        assert_eq!(gathered.block(0), Some(&[7, 8][..]));
        assert_eq!(gathered.block(1), Some(&[][..]));
        assert_eq!(gathered.block(3), None);
        let lengths: Vec<_> = gathered.iter_blocks().map(<[_]>::len).collect();
        assert_eq!(lengths, gathered.blocks().counts());
        assert_eq!(gathered.len(), 3);
    }
}
