//! A piece of a rod whose ends are kept at zero.

use std::f64::consts::PI;
use std::ops::Range;

use ranks::prelude::*;
use ranks::{Destination, Source};

/// The number of points of the rod between its ends.
pub(crate) const POINTS: usize = 1200;
/// Time step times conductivity over the square of the distance of points.
const RATE: f64 = 0.25;
/// The tags of values on their way down and up the rod.
const DOWN: i32 = 1;
const UP: i32 = 2;

/// The points of one rank.
#[derive(Clone)]
pub(crate) struct Piece {
    first: usize,
    cells: Vec<f64>,
}

/// The temperature of a point at the start.
fn mode(point: usize) -> f64 {
    (PI * (point as f64 + 1.0) / (POINTS as f64 + 1.0)).sin()
}

/// By what the start has shrunk after so many steps.
pub(crate) fn exact(steps: usize) -> f64 {
    let half_angle = PI / (2.0 * (POINTS as f64 + 1.0));
    let factor = 1.0 - 4.0 * RATE * half_angle.sin().powi(2);
    factor.powi(i32::try_from(steps).unwrap_or(i32::MAX))
}

/// The points of `rank`, of so many ranks.
fn points_of(rank: usize, size: usize) -> Range<usize> {
    rank * POINTS / size..(rank + 1) * POINTS / size
}

impl Piece {
    pub(crate) fn at_the_start(rank: usize, size: usize) -> Self {
        let points = points_of(rank, size);
        let first = points.start;
        let cells = points.map(mode).collect();
        Self { first, cells }
    }

    pub(crate) fn of(rod: &[f64], rank: usize, size: usize) -> Self {
        let points = points_of(rank, size);
        let first = points.start;
        let cells = rod[points].to_vec();
        Self { first, cells }
    }

    pub(crate) fn cells(&self) -> &[f64] {
        &self.cells
    }

    pub(crate) fn cells_mut(&mut self) -> &mut [f64] {
        &mut self.cells
    }

    /// Its place in the rod.
    pub(crate) fn range(&self) -> Range<usize> {
        self.first..self.first + self.cells.len()
    }

    /// One time step, with the points next to it of the ranks before and behind.
    pub(crate) fn step(&mut self, comm: &Communicator) -> Result<()> {
        let (rank, last) = (comm.rank(), comm.size() - 1);
        let before = rank.checked_sub(1);
        let behind = (rank < last).then_some(rank + 1);
        let to = |rank: Option<usize>| rank.map_or(Destination::Null, Destination::Rank);
        let from = |rank: Option<usize>| rank.map_or(Source::Null, Source::Rank);
        let ends = [self.cells[0], self.cells[self.cells.len() - 1]];
        let (mut left, mut right) = ([0.0], [0.0]);
        comm.sendrecv(&ends[1..], to(behind), UP, &mut left, from(before), UP)?;
        comm.sendrecv(&ends[..1], to(before), DOWN, &mut right, from(behind), DOWN)?;
        let mut previous = left[0];
        for index in 0..self.cells.len() {
            let here = self.cells[index];
            let next = self.cells.get(index + 1).copied().unwrap_or(right[0]);
            self.cells[index] = here + RATE * (previous - 2.0 * here + next);
            previous = here;
        }
        Ok(())
    }

    /// The largest difference from the start times `factor`.
    pub(crate) fn error_against(&self, factor: f64) -> f64 {
        let points = self.range().zip(&self.cells);
        points.fold(0.0, |worst: f64, (point, cell)| {
            worst.max((cell - factor * mode(point)).abs())
        })
    }
}
