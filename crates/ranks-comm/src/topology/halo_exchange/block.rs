//! A box of cells within an array in C order.

use std::ops::Range;

use crate::data::element::Pod;
use crate::data::layout::shape::{Placed, Shape};

/// The cells, and how many they are.
#[derive(Debug, Clone)]
pub(super) struct Block {
    placed: Placed,
    cells: usize,
}

impl Block {
    /// The box of `ranges`, one for each dimension and within it. The product of `shape` is a
    /// `usize`.
    pub(super) fn new(shape: &[usize], ranges: &[Range<usize>]) -> Self {
        let cells = ranges.iter().map(ExactSizeIterator::len).product();
        let dimensions = shape.iter().zip(ranges).rev();
        let block = Shape::block(dimensions.map(|(&size, range)| (size, range.start, range.len())));
        let placed = block.and_then(|(placed, _)| placed);
        Self { placed, cells }
    }

    /// The number of cells.
    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    /// The range of the cells, if they are one run.
    pub(super) fn one_run(&self) -> Option<Range<usize>> {
        match self.placed {
            None => Some(0..0),
            Some((start, Shape::Run(cells))) => Some(start..start + cells),
            Some(_) => None,
        }
    }

    /// Copies its cells out of `array` to `packed`, which is as long as the number of cells.
    pub(super) fn pack<T: Pod>(&self, array: &[T], packed: &mut [T]) {
        let mut packed = packed;
        self.each_line(|start, (count, stride), run| {
            let (line, rest) = std::mem::take(&mut packed).split_at_mut(count * run);
            packed = rest;
            let array = &array[start..];
            // A run as short as the halo of the fastest dimension is not worth a call of `memcpy`.
            match run {
                1 => gather::<T, 1>(array, stride, line),
                2 => gather::<T, 2>(array, stride, line),
                3 => gather::<T, 3>(array, stride, line),
                4 => gather::<T, 4>(array, stride, line),
                run => {
                    for (to, from) in line.chunks_exact_mut(run).zip(array.chunks(stride)) {
                        to.copy_from_slice(&from[..run]);
                    }
                }
            }
        });
    }

    /// Copies `packed`, which is as long as the number of cells, to its cells in `array`.
    pub(super) fn unpack<T: Pod>(&self, packed: &[T], array: &mut [T]) {
        let mut packed = packed;
        self.each_line(|start, (count, stride), run| {
            let (line, rest) = packed.split_at(count * run);
            packed = rest;
            let array = &mut array[start..];
            match run {
                1 => scatter::<T, 1>(line, array, stride),
                2 => scatter::<T, 2>(line, array, stride),
                3 => scatter::<T, 3>(line, array, stride),
                4 => scatter::<T, 4>(line, array, stride),
                run => {
                    for (from, to) in line.chunks_exact(run).zip(array.chunks_mut(stride)) {
                        to[..run].copy_from_slice(from);
                    }
                }
            }
        });
    }

    /// Calls `visit` with the first cell of each line, the count and the stride of its runs, and
    /// their length.
    fn each_line(&self, mut visit: impl FnMut(usize, (usize, usize), usize)) {
        if let Some((start, shape)) = &self.placed {
            shape.for_each_line(*start, &mut |start, runs, length| {
                visit(start, runs, length);
                true
            });
        }
    }
}

/// Copies runs of `N` cells, which begin a stride apart, to `line`.
#[inline(always)]
fn gather<T: Pod, const N: usize>(array: &[T], stride: usize, line: &mut [T]) {
    let (line, _) = line.as_chunks_mut::<N>();
    for (to, from) in line.iter_mut().zip(array.chunks(stride)) {
        if let Some(from) = from.first_chunk() {
            *to = *from;
        }
    }
}

/// Copies `line` to runs of `N` cells, which begin a stride apart.
#[inline(always)]
fn scatter<T: Pod, const N: usize>(line: &[T], array: &mut [T], stride: usize) {
    let (line, _) = line.as_chunks::<N>();
    for (from, to) in line.iter().zip(array.chunks_mut(stride)) {
        if let Some(to) = to.first_chunk_mut() {
            *to = *from;
        }
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
        let mut lines = Vec::new();
        faces.each_line(|start, runs, length| lines.push((start, runs, length)));
        assert_eq!(lines, [(12, (4, 30), 12)]);
    }
}
