//! Which PEs of a team become another: by start, stride and size, or by rows and columns.

use std::ffi::c_int;

/// PEs of a parent team, by their numbers there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Strided {
    pub(crate) start: c_int,
    pub(crate) stride: c_int,
    pub(crate) size: c_int,
}

impl Strided {
    /// Their numbers in the parent, which has so many PEs; `None` if they are not all in it.
    pub(crate) fn of(self, parent: usize) -> Option<Vec<usize>> {
        let part = |number: c_int| usize::try_from(number).ok();
        let (start, stride, size) = (part(self.start)?, part(self.stride)?, part(self.size)?);
        if stride == 0 || size == 0 || size > parent || start >= parent {
            return None;
        }
        let last = (size - 1).checked_mul(stride)?.checked_add(start)?;
        (last < parent).then(|| (start..=last).step_by(stride).collect())
    }
}

/// The rows of a team of so many PEs, each of `row` of them but the last, and its columns.
pub(crate) fn grid(parent: c_int, row: c_int) -> Option<(Vec<Strided>, Vec<Strided>)> {
    if parent < 1 || row < 1 {
        return None;
    }
    let row = row.min(parent);
    let strided = |start, stride, size| Strided {
        start,
        stride,
        size,
    };
    let starts = (0..parent).step_by(usize::try_from(row).ok()?);
    let rows = starts.map(|start| strided(start, 1, row.min(parent - start)));
    let columns = (0..row).map(|start| strided(start, row, (parent - start - 1) / row + 1));
    Some((rows.collect(), columns.collect()))
}

/// Handles of teams, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handles(pub(crate) [u64; 4]);

impl Handles {
    /// The largest number of them.
    pub(crate) const MOST: usize = 256;

    /// Those in a range.
    pub(crate) fn range(range: std::ops::Range<usize>) -> Self {
        let mut handles = Self([0; 4]);
        for handle in range {
            handles.0[handle / 64] |= 1 << (handle % 64);
        }
        handles
    }

    pub(crate) fn remove(&mut self, handle: usize) {
        self.0[handle / 64] &= !(1 << (handle % 64));
    }

    pub(crate) fn and(self, other: Self) -> Self {
        let mut both = self;
        for (bits, other) in both.0.iter_mut().zip(other.0) {
            *bits &= other;
        }
        both
    }

    pub(crate) fn lowest(self) -> Option<usize> {
        let mut words = self.0.iter().enumerate();
        let (word, bits) = words.find(|(_, bits)| **bits != 0)?;
        usize::try_from(bits.trailing_zeros())
            .ok()
            .map(|bit| word * 64 + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(start: c_int, stride: c_int, size: c_int, parent: usize) -> Option<Vec<usize>> {
        let part = Strided {
            start,
            stride,
            size,
        };
        part.of(parent)
    }

    #[test]
    fn parts_are_inside_of_their_parent() {
        assert_eq!(of(0, 1, 4, 4), Some(vec![0, 1, 2, 3]));
        assert_eq!(of(1, 2, 2, 4), Some(vec![1, 3]));
        assert_eq!(of(3, 100, 1, 4), Some(vec![3]));
        let bad = [
            (-1, 1, 1),
            (0, 0, 1),
            (0, -1, 2),
            (0, 1, 0),
            (0, 1, 5),
            (4, 1, 1),
            (1, 2, 3),
            (0, c_int::MAX, 4),
        ];
        for (start, stride, size) in bad {
            assert_eq!(of(start, stride, size, 4), None, "{start} {stride} {size}");
        }
    }

    #[test]
    fn rows_and_columns_hold_each_pe_once() {
        for parent in 1..8 {
            for row in 1..10 {
                let (rows, columns) = grid(parent, row).unwrap();
                for parts in [rows, columns] {
                    let all = usize::try_from(parent).unwrap();
                    let mut pes: Vec<usize> = parts
                        .iter()
                        .flat_map(|part| part.of(all).unwrap())
                        .collect();
                    pes.sort_unstable();
                    assert_eq!(pes, (0..all).collect::<Vec<_>>(), "{parent} by {row}");
                }
            }
        }
        assert_eq!(grid(4, 0), None);
        let (rows, columns) = grid(5, 3).unwrap();
        let sizes = |parts: Vec<Strided>| parts.iter().map(|part| part.size).collect::<Vec<_>>();
        assert_eq!((sizes(rows), sizes(columns)), (vec![3, 2], vec![2, 2, 1]));
    }

    #[test]
    fn the_lowest_handle_that_is_free_everywhere() {
        let mut mine = Handles::range(7..256);
        mine.remove(7);
        let mut theirs = Handles::range(7..256);
        theirs.remove(8);
        assert_eq!(mine.and(theirs).lowest(), Some(9));
        assert_eq!(Handles::range(200..256).lowest(), Some(200));
        assert_eq!(Handles::range(7..7).lowest(), None);
    }
}
