//! The arithmetic of a Cartesian grid of ranks, in row-major order as in the standard.

use ranks_launch::Count;

use crate::result::{Error, ErrorKind, Result};

/// A grid of ranks, some of whose dimensions are periodic.
///
/// Without dimensions it is a single rank. No dimension is zero, and `size` is at most the
/// communicator's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grid {
    dims: Vec<usize>,
    periods: Vec<bool>,
    size: usize,
}

impl Grid {
    /// A grid of at most `available` ranks.
    pub(crate) fn new(
        operation: &'static str,
        dims: &[usize],
        periods: &[bool],
        available: usize,
    ) -> Result<Self> {
        if dims.len() != periods.len() {
            let dims = Count(dims.len(), "dimension");
            let periods = Count(periods.len(), "period");
            let why = format_args!("{dims}, but {periods}; each dimension needs one");
            return Err(Error::new(ErrorKind::Length, operation, why));
        }
        if let Some(dimension) = dims.iter().position(|&dim| dim == 0) {
            let why = format_args!(
                "dimension {dimension} of {dims:?} is zero; dims_create chooses sizes"
            );
            return Err(Error::new(ErrorKind::Argument, operation, why));
        }
        let size = dims.iter().copied().try_fold(1, usize::checked_mul);
        let size = size.filter(|&size| size <= available).ok_or_else(|| {
            let why = format_args!(
                "a grid of {dims:?} needs more ranks than the {available} of this communicator"
            );
            Error::new(ErrorKind::Argument, operation, why)
        })?;
        Ok(Self {
            dims: dims.to_vec(),
            periods: periods.to_vec(),
            size,
        })
    }

    pub(crate) fn dims(&self) -> &[usize] {
        &self.dims
    }

    pub(crate) fn periods(&self) -> &[bool] {
        &self.periods
    }

    /// The number of ranks.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The coordinates of `rank`, which is in the grid.
    pub(crate) fn coords(&self, mut rank: usize) -> Vec<usize> {
        let mut coords = vec![0; self.dims.len()];
        for (coord, &dim) in coords.iter_mut().zip(&self.dims).rev() {
            *coord = rank % dim;
            rank /= dim;
        }
        coords
    }

    /// The rank at `coords`, one for each dimension; `None` if that is outside.
    pub(crate) fn rank(&self, coords: impl IntoIterator<Item = isize>) -> Option<usize> {
        let places = coords.into_iter().zip(self.dims.iter().zip(&self.periods));
        let mut rank = 0;
        for (coord, (&dim, &periodic)) in places {
            rank = rank * dim + place(coord, dim, periodic)?;
        }
        Some(rank)
    }

    /// The ranks `displacement` steps along `dimension` before and after `coords`; `None` where
    /// that is outside.
    pub(crate) fn shift(
        &self,
        coords: &[usize],
        dimension: usize,
        displacement: isize,
    ) -> (Option<usize>, Option<usize>) {
        let dim = signed(self.dims[dimension]);
        // Neither changes the rank that is found, and no sum overflows.
        let displacement = if self.periods[dimension] {
            displacement % dim
        } else {
            displacement.clamp(-dim, dim)
        };
        let step = |displacement| {
            self.rank(coords.iter().enumerate().map(|(index, &coord)| {
                let moved = if index == dimension { displacement } else { 0 };
                signed(coord) + moved
            }))
        };
        (step(-displacement), step(displacement))
    }

    /// For each dimension the rank before `coords` and the one after it: the neighbours in the
    /// order of neighbourhood collectives.
    pub(crate) fn neighbors(&self, coords: &[usize]) -> Vec<Option<usize>> {
        let both = |dimension| <[_; 2]>::from(self.shift(coords, dimension, 1));
        (0..self.dims.len()).flat_map(both).collect()
    }

    /// The grid of the dimensions that remain, and a number that differs between ranks of different
    /// subgrids.
    pub(crate) fn sub(&self, remain: &[bool], coords: &[usize]) -> (Self, usize) {
        let (mut dims, mut periods) = (Vec::new(), Vec::new());
        let mut part = 0;
        for (dimension, &remains) in remain.iter().enumerate() {
            if remains {
                dims.push(self.dims[dimension]);
                periods.push(self.periods[dimension]);
            } else {
                part = part * self.dims[dimension] + coords[dimension];
            }
        }
        let size = dims.iter().product();
        let grid = Self {
            dims,
            periods,
            size,
        };
        (grid, part)
    }

    /// Words that differ, as a rule, between different grids.
    pub(crate) fn words(&self) -> Vec<u64> {
        let mut words: Vec<u64> = self.dims.iter().map(|&dim| dim as u64).collect();
        words.extend(self.periods.iter().map(|&periodic| u64::from(periodic)));
        words
    }
}

/// A coordinate, or the distance of two: no more than an `int`, as all ranks of a library.
#[expect(
    clippy::cast_possible_wrap,
    reason = "less than the size of a communicator, which MPI gave as an int"
)]
fn signed(coord: usize) -> isize {
    coord as isize
}

fn place(coord: isize, dim: usize, periodic: bool) -> Option<usize> {
    let coord = if periodic {
        coord.rem_euclid(signed(dim))
    } else {
        coord
    };
    usize::try_from(coord).ok().filter(|&coord| coord < dim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(dims: &[usize], periods: &[bool]) -> Grid {
        Grid::new("a test", dims, periods, 1000).unwrap()
    }

    #[test]
    fn the_last_coordinate_runs_fastest() {
        let grid = grid(&[2, 3, 4], &[false; 3]);
        assert_eq!(grid.size(), 24);
        for rank in 0..24 {
            let coords = grid.coords(rank);
            assert_eq!(rank, (coords[0] * 3 + coords[1]) * 4 + coords[2]);
            assert_eq!(grid.rank(coords.iter().map(|&at| signed(at))), Some(rank));
        }
    }

    #[test]
    fn a_periodic_dimension_wraps_and_another_ends() {
        let grid = grid(&[3, 3], &[true, false]);
        assert_eq!(grid.rank([-1, 2]), Some(8));
        assert_eq!(grid.rank([7, 0]), Some(3));
        assert_eq!(grid.rank([0, 3]), None);
        assert_eq!(grid.rank([0, -1]), None);
        assert_eq!(grid.neighbors(&[0, 0]), [Some(6), Some(3), None, Some(1)]);
        assert_eq!(grid.shift(&[1, 1], 0, 3), (Some(4), Some(4)));
        assert_eq!(grid.shift(&[1, 1], 0, -1), (Some(7), Some(1)));
        assert_eq!(grid.shift(&[1, 1], 1, 0), (Some(4), Some(4)));
        assert_eq!(grid.shift(&[1, 0], 1, 2), (None, Some(5)));
    }

    #[test]
    fn steps_of_any_length_do_not_overflow() {
        let grid = grid(&[3, 3], &[true, false]);
        for far in [isize::MIN, isize::MAX] {
            let near = grid.shift(&[1, 1], 0, far % 3);
            assert_eq!(grid.shift(&[1, 1], 0, far), near);
            assert_eq!(grid.shift(&[1, 1], 1, far), (None, None));
        }
        assert_eq!(grid.rank([isize::MIN, 0]), grid.rank([isize::MIN % 3, 0]));
    }

    #[test]
    fn a_grid_without_dimensions_is_one_rank() {
        let grid = grid(&[], &[]);
        assert_eq!(grid.size(), 1);
        assert_eq!(grid.coords(0), [0; 0]);
        assert_eq!(grid.rank([]), Some(0));
        assert_eq!(grid.neighbors(&[]), []);
        assert_eq!(grid.sub(&[], &[]), (grid.clone(), 0));
    }

    #[test]
    fn a_subgrid_keeps_what_remains() {
        let all = grid(&[2, 3, 4], &[true, false, true]);
        let (sub, part) = all.sub(&[true, false, true], &[1, 2, 3]);
        assert_eq!(sub, grid(&[2, 4], &[true, true]));
        assert_eq!(part, 2);
        let (none, part) = all.sub(&[false; 3], &[1, 2, 3]);
        assert_eq!((none, part), (grid(&[], &[]), 23));
    }

    #[test]
    fn what_is_no_grid_is_refused() {
        let kind = |dims: &[usize], periods: &[bool]| {
            Grid::new("a test", dims, periods, 6).unwrap_err().kind()
        };
        assert_eq!(kind(&[2], &[]), ErrorKind::Length);
        assert_eq!(kind(&[2, 0], &[false; 2]), ErrorKind::Argument);
        assert_eq!(kind(&[7], &[false]), ErrorKind::Argument);
        assert_eq!(kind(&[usize::MAX, 2], &[false; 2]), ErrorKind::Argument);
    }
}
