//! A box of cells within an array in C order.

use std::ops::Range;

use crate::data::element::Pod;

/// Runs of contiguous cells, and their positions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// The first cell.
    start: usize,
    /// The length of each run.
    run: usize,
    /// The count and the stride, in cells, of each repetition of runs: the slowest first.
    repeats: Vec<(usize, usize)>,
    cells: usize,
}

impl Block {
    /// The box of `ranges`, one for each dimension and within it. The product of `shape` is a
    /// `usize`.
    pub(super) fn new(shape: &[usize], ranges: &[Range<usize>]) -> Self {
        let cells = ranges.iter().map(ExactSizeIterator::len).product();
        if cells == 0 {
            return Self::default();
        }
        let (mut start, mut run, mut stride) = (0, 1, 1);
        let mut repeats = Vec::new();
        for (&length, range) in shape.iter().zip(ranges).rev() {
            start += range.start * stride;
            if run == stride {
                // All faster dimensions are whole, so this one continues the run.
                run *= range.len();
            } else if range.len() != 1 {
                repeats.push((range.len(), stride));
            }
            stride *= length;
        }
        repeats.reverse();
        Self {
            start,
            run,
            repeats,
            cells,
        }
    }

    /// The number of cells.
    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    /// The range of the cells, if they are one run.
    pub(super) fn one_run(&self) -> Option<Range<usize>> {
        let whole = self.run == self.cells;
        whole.then(|| self.start..self.start + self.run)
    }

    /// Copies its cells out of `array` to `packed`, which is as long as the number of cells.
    pub(super) fn pack<T: Pod>(&self, array: &[T], packed: &mut [T]) {
        let mut packed = packed;
        self.each_run(|run| {
            let (head, tail) = std::mem::take(&mut packed).split_at_mut(run.len());
            copy(&array[run], head);
            packed = tail;
        });
    }

    /// Copies `packed`, which is as long as the number of cells, to its cells in `array`.
    pub(super) fn unpack<T: Pod>(&self, packed: &[T], array: &mut [T]) {
        let mut packed = packed;
        self.each_run(|run| {
            let (head, tail) = packed.split_at(run.len());
            copy(head, &mut array[run]);
            packed = tail;
        });
    }

    fn each_run(&self, mut visit: impl FnMut(Range<usize>)) {
        if self.cells > 0 {
            each(&self.repeats, self.start, self.run, &mut visit);
        }
    }
}

fn each(
    repeats: &[(usize, usize)],
    start: usize,
    run: usize,
    visit: &mut impl FnMut(Range<usize>),
) {
    match repeats.split_first() {
        None => visit(start..start + run),
        Some((&(count, stride), faster)) => {
            for repeat in 0..count {
                each(faster, start + repeat * stride, run, visit);
            }
        }
    }
}

/// Copies a run. A single cell, as in the halo of the fastest dimension, is not worth a call of
/// `memcpy`.
#[inline(always)]
fn copy<T: Pod>(from: &[T], to: &mut [T]) {
    match (from, to) {
        ([from], [to]) => *to = *from,
        (from, to) => to.copy_from_slice(from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: [usize; 3] = [4, 5, 6];

    fn cells(ranges: &[Range<usize>; 3]) -> Vec<usize> {
        let [planes, rows, columns] = ranges.clone();
        planes
            .flat_map(|plane| rows.clone().map(move |row| (plane, row)))
            .flat_map(|(plane, row)| {
                columns
                    .clone()
                    .map(move |column| (plane * 5 + row) * 6 + column)
            })
            .collect()
    }

    #[test]
    fn every_box_is_packed_in_order_and_unpacked_to_its_place() {
        let array: Vec<usize> = (0..4 * 5 * 6).collect();
        let pairs = |length: usize| {
            (0..=length).flat_map(move |end| (0..=end).map(move |start| start..end))
        };
        for planes in pairs(4) {
            for rows in pairs(5) {
                for columns in pairs(6) {
                    let ranges = [planes.clone(), rows.clone(), columns.clone()];
                    let block = Block::new(&SHAPE, &ranges);
                    let expected = cells(&ranges);
                    assert_eq!(block.cells(), expected.len());
                    let mut packed = vec![0; block.cells()];
                    block.pack(&array, &mut packed);
                    assert_eq!(packed, expected, "{ranges:?}");
                    let mut back = vec![usize::MAX; array.len()];
                    block.unpack(&packed, &mut back);
                    let there: Vec<usize> = back
                        .into_iter()
                        .filter(|&cell| cell != usize::MAX)
                        .collect();
                    assert_eq!(there, expected);
                    if let Some(run) = block.one_run() {
                        assert_eq!(run.collect::<Vec<_>>(), expected);
                    }
                }
            }
        }
    }

    #[test]
    fn whole_dimensions_make_long_runs() {
        let rows = Block::new(&SHAPE, &[1..2, 2..4, 0..6]);
        assert_eq!(rows.one_run(), Some(42..54));
        let planes = Block::new(&SHAPE, &[1..3, 0..5, 0..6]);
        assert_eq!(planes.one_run(), Some(30..90));
        let faces = Block::new(&SHAPE, &[0..4, 2..4, 0..6]);
        assert_eq!((faces.run, &faces.repeats[..]), (12, &[(4, 30)][..]));
    }
}
