//! The tree by which the statistics of ranks are joined.

use std::iter;
use std::ops::Range;

/// A tree of so many ranks, of which rank 0 is the root.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree {
    pub(super) size: usize,
    /// Every rank sends to the root: if ranks may be lost, none takes those of others with it.
    /// Else the tree is binomial, so that no rank has more children than a number of ranks has
    /// bits.
    pub(super) is_flat: bool,
}

impl Tree {
    /// The rank, and those after it whose statistics it sends with its own.
    pub(super) fn of(self, rank: usize) -> Range<usize> {
        let ranks = match rank {
            0 => self.size,
            _ if self.is_flat => 1,
            _ => 1 << rank.trailing_zeros(),
        };
        rank..self.size.min(rank.saturating_add(ranks))
    }

    /// The ranks of each message that this one receives.
    pub(super) fn children(self, rank: usize) -> impl Iterator<Item = Range<usize>> {
        let end = self.of(rank).end;
        let child = move |first: usize| (first < end).then(|| self.of(first));
        iter::successors(child(rank + 1), move |last| child(last.end))
    }

    /// The rank that this one sends to.
    pub(super) fn parent(self, rank: usize) -> usize {
        if self.is_flat {
            0
        } else {
            rank & rank.saturating_sub(1)
        }
    }

    /// The number of messages from the farthest of the ranks below this one to it: less than
    /// that of its parent.
    pub(super) fn height(self, rank: usize) -> u32 {
        self.of(rank).len().checked_ilog2().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranks below this one, by their messages to it.
    fn below(tree: Tree, rank: usize) -> Vec<usize> {
        let mut all = vec![rank];
        for child in tree.children(rank) {
            assert_eq!(tree.parent(child.start), rank);
            assert!(tree.height(child.start) < tree.height(rank));
            let below = below(tree, child.start);
            assert!(below.iter().copied().eq(child), "{below:?}");
            all.extend(below);
        }
        all
    }

    #[test]
    fn each_rank_comes_to_the_root_once_whoever_sends_it() {
        for is_flat in [false, true] {
            for size in 1..70 {
                let tree = Tree { size, is_flat };
                assert!(below(tree, 0).into_iter().eq(0..size), "{tree:?}");
            }
        }
    }

    #[test]
    fn a_rank_gets_a_message_for_each_bit_of_the_number_of_ranks_at_most() {
        for (size, most) in [(1, 0), (2, 1), (3, 2), (1000, 10), (1_000_000, 20)] {
            let tree = Tree {
                size,
                is_flat: false,
            };
            let children = |rank| tree.children(rank).count();
            assert_eq!((0..size).map(children).max(), Some(most));
            let lost = Tree {
                is_flat: true,
                ..tree
            };
            assert_eq!(lost.children(0).count(), size - 1);
        }
    }
}
