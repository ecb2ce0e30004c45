//! The boards of the communicators of a world.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use super::board::Board;
use crate::call::lock::lock;

/// The boards that ranks have, by context.
#[derive(Debug, Default)]
pub(crate) struct Boards(Mutex<HashMap<u64, Weak<Board>>>);

impl Boards {
    /// The board of the communicator of that context, of so many ranks.
    pub(crate) fn find(&self, context: u64, size: usize) -> Arc<Board> {
        let mut all = lock(&self.0);
        if let Some(board) = all.get(&context).and_then(Weak::upgrade) {
            return board;
        }
        if all.len() == all.capacity() {
            all.retain(|_, board| board.strong_count() > 0);
        }
        let board = Arc::new(Board::new(size));
        all.insert(context, Arc::downgrade(&board));
        board
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_communicator_find_one_board_and_it_goes_with_the_last() {
        let boards = Boards::default();
        let (one, same, other) = (boards.find(2, 3), boards.find(2, 3), boards.find(4, 3));
        assert!(Arc::ptr_eq(&one, &same) && !Arc::ptr_eq(&one, &other));
        drop((one, same));
        assert_eq!(other.size(), 3);
        for context in 10..1000 {
            drop(boards.find(context, 1));
        }
        assert!(lock(&boards.0).len() < 100 && Arc::ptr_eq(&other, &boards.find(4, 3)));
    }
}
