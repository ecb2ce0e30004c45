//! The fixed tree: which elements are combined with which, by their place in the whole array alone.
//!
//! A node of level k stands for the 2^k elements from a multiple of 2^k on. It is made of its two
//! halves, and the nodes at the end of the array of those halves that there are. So the first of n
//! elements are combined apart from the others, as many as the largest power of two below n, and so
//! on within both parts: that is all that a result depends on. To combine two nodes is to replace
//! the left one.
//!
//! The elements `start..end` that one rank has are the leaves below its largest whole nodes, at
//! most two of a level. Only these travel, and whoever has them all, in order, completes the tree.

use std::ops::Range;

use bytemuck::Pod;

/// Leaves that are combined at once; a power of two.
const BLOCK: usize = 1 << BLOCK_LEVEL;
const BLOCK_LEVEL: u32 = 6;

/// The levels of the largest whole nodes of the elements in `range`, in the order of elements.
pub(super) fn levels(range: Range<usize>) -> impl Iterator<Item = u32> {
    let Range { mut start, end } = range;
    std::iter::from_fn(move || {
        let level = (end - start).checked_ilog2()?.min(start.trailing_zeros());
        start += 1 << level;
        Some(level)
    })
}

/// The largest whole nodes of the elements from `start` up to `end`, in the order of elements.
pub(super) struct Nodes<N> {
    end: usize,
    nodes: Vec<(u32, N)>,
}

impl<N: Pod> Nodes<N> {
    /// Those of no elements, before the one at `start`.
    pub(super) fn from(start: usize) -> Self {
        Self {
            end: start,
            nodes: Vec::new(),
        }
    }

    /// Those of the elements in `range`. `fill` makes leaves, from that one on that it is told,
    /// counted from the first.
    pub(super) fn of(
        range: Range<usize>,
        fill: impl Fn(usize, &mut [N]),
        combine: impl Fn(&mut N, &N),
    ) -> Self {
        let mut nodes = Self::from(range.start);
        // A thread's stack has no room for 64 large ones.
        let mut block: Box<[N; BLOCK]> = bytemuck::zeroed_box();
        while nodes.end < range.end {
            let (first, left) = (nodes.end - range.start, range.end - nodes.end);
            if nodes.end % BLOCK == 0 && left >= BLOCK {
                fill(first, &mut *block);
                nodes.push(BLOCK_LEVEL, top(&mut block, &combine), &combine);
            } else {
                // As far as the next block begins.
                let leaves = &mut block[..left.min(BLOCK - nodes.end % BLOCK)];
                fill(first, leaves);
                for leaf in &*leaves {
                    nodes.push(0, leaf, &combine);
                }
            }
        }
        nodes
    }

    /// Appends the node of the elements from the end on; its level is that of one of the [`levels`]
    /// of what is appended.
    pub(super) fn push(&mut self, level: u32, node: &N, combine: impl Fn(&mut N, &N)) {
        self.nodes.push((level, *node));
        // Where the place of this node is odd among those of its level, its left half is the last
        // one before it, or it was never here as it begins before the start.
        while let [.., left, right] = &mut self.nodes[..]
            && left.0 == right.0
            && self.end >> left.0 & 1 == 1
        {
            combine(&mut left.1, &right.1);
            left.0 += 1;
            self.nodes.pop();
        }
        self.end += 1 << level;
    }

    pub(super) fn values(&self) -> Vec<N> {
        self.nodes.iter().map(|&(_, value)| value).collect()
    }

    /// The root of the tree whose nodes these are, from the first element to the last; `None` if
    /// there are no elements.
    pub(super) fn root(mut self, combine: impl Fn(&mut N, &N)) -> Option<N> {
        while let [.., left, right] = &mut self.nodes[..] {
            combine(&mut left.1, &right.1);
            self.nodes.pop();
        }
        self.nodes.pop().map(|(_, node)| node)
    }
}

/// The node above a block of leaves.
#[inline]
fn top<N: Pod>(block: &mut [N; BLOCK], combine: impl Fn(&mut N, &N)) -> &N {
    let mut width = BLOCK / 2;
    while width > 0 {
        for index in 0..width {
            let mut node = block[2 * index];
            combine(&mut node, &block[2 * index + 1]);
            block[index] = node;
        }
        width /= 2;
    }
    &block[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shape of a tree: the number of elements, and a digest of how they are combined.
    type Shape = [u64; 2];

    fn join(left: &Shape, right: &Shape) -> Shape {
        let digest = left[1].wrapping_mul(31) ^ right[1].wrapping_mul(1_000_003);
        [
            left[0] + right[0],
            digest.rotate_left(7).wrapping_add(left[0]),
        ]
    }

    fn leaf(index: usize) -> Shape {
        [1, (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)]
    }

    /// As the documentation says it.
    fn serial(range: Range<usize>) -> Shape {
        if range.len() == 1 {
            return leaf(range.start);
        }
        let middle = range.start + range.len().next_power_of_two() / 2;
        join(&serial(range.start..middle), &serial(middle..range.end))
    }

    fn combine(left: &mut Shape, right: &Shape) {
        *left = join(left, right);
    }

    fn piece(range: Range<usize>) -> Nodes<Shape> {
        let fill = |first, leaves: &mut [Shape]| {
            for (index, place) in leaves.iter_mut().enumerate() {
                *place = leaf(range.start + first + index);
            }
        };
        Nodes::of(range.clone(), fill, combine)
    }

    #[test]
    fn every_division_gives_the_same_tree() {
        for total in [1, 2, 3, 63, 64, 65, 200, 1000] {
            let expected = serial(0..total);
            for cuts in [[0, 0], [1, 1], [1, 64], [63, 129], [100, 500], [64, 128]] {
                let [first, second] = cuts.map(|cut: usize| cut.min(total));
                let mut whole = Nodes::from(0);
                for range in [0..first, first..second, second..total] {
                    let values = piece(range.clone()).values();
                    assert_eq!(values.len(), levels(range.clone()).count(), "{range:?}");
                    for (level, value) in levels(range).zip(values) {
                        whole.push(level, &value, combine);
                    }
                }
                assert_eq!(
                    whole.root(combine),
                    Some(expected),
                    "{total} cut at {cuts:?}"
                );
            }
        }
        assert_eq!(Nodes::<Shape>::from(0).root(combine), None);
    }

    #[test]
    fn few_nodes_travel() {
        let most = |range: Range<usize>| levels(range).count();
        assert_eq!(most(0..1 << 40), 1);
        assert_eq!(most(1..(1 << 40) - 1), 78);
        assert_eq!(levels(5..17).collect::<Vec<_>>(), [0, 1, 3, 0]);
        assert_eq!(most(7..7), 0);
    }
}
