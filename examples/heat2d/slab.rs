//! One rank's share of the plate: a slab of rows, with one more row on either side for the
//! neighbours' edges.

use std::f64::consts::PI;
use std::ops::Range;

use ranks::{Cartesian, HaloExchange, Result};

/// Grid points inside the plate, in each direction.
pub(crate) const INTERIOR: usize = 63;
/// Grid points in a row, the boundary included.
pub(crate) const WIDTH: usize = INTERIOR + 2;
/// Distance of grid points; the plate is the unit square.
const SPACING: f64 = 1.0 / (INTERIOR + 1) as f64;
/// Δt/h². Explicit time steps are stable up to 1/4.
const RATIO: f64 = 0.2;

/// A slab of rows.
#[derive(Debug)]
pub(crate) struct Slab {
    /// The rows of the whole grid that these are; row 0 and row `WIDTH - 1` are the boundary.
    rows: Range<usize>,
    /// Halo row, own rows, halo row. At the edge of the plate the halo is its boundary, which stays
    /// zero.
    cells: Vec<f64>,
    next: Vec<f64>,
    halo: HaloExchange<f64>,
}

/// The interior rows of `rank`, of `size` ranks: as even as can be, without a gap.
#[must_use]
pub(crate) fn rows_of(rank: usize, size: usize) -> Range<usize> {
    1 + INTERIOR * rank / size..1 + INTERIOR * (rank + 1) / size
}

/// The first eigenmode of the plate, sin πx · sin πy.
#[must_use]
pub(crate) fn eigenmode(row: usize, column: usize) -> f64 {
    let sine = |index: usize| (PI * index as f64 * SPACING).sin();
    sine(row) * sine(column)
}

/// By how much one time step shrinks the eigenmode: 1 − 8 r sin²(πh/2), exactly so on the grid.
#[must_use]
pub(crate) fn decay() -> f64 {
    1.0 - 8.0 * RATIO * (PI * SPACING / 2.0).sin().powi(2)
}

impl Slab {
    /// This rank's slab, of as many as `column` has ranks, with the eigenmode in it.
    ///
    /// # Errors
    /// If there are fewer rows than ranks.
    pub(crate) fn new(column: &Cartesian) -> Result<Slab> {
        let rows = rows_of(column.rank(), column.size());
        let halo = HaloExchange::new(column, &[rows.len() + 2, WIDTH], &[1])?;
        let mut cells = vec![0.0; (rows.len() + 2) * WIDTH];
        for (line, row) in cells.chunks_exact_mut(WIDTH).skip(1).zip(rows.clone()) {
            for (column, cell) in line.iter_mut().enumerate().skip(1).take(INTERIOR) {
                *cell = eigenmode(row, column);
            }
        }
        Ok(Slab {
            rows,
            next: cells.clone(),
            cells,
            halo,
        })
    }

    /// The cells of this rank's rows.
    #[must_use]
    pub(crate) fn own(&self) -> &[f64] {
        &self.cells[WIDTH..self.cells.len() - WIDTH]
    }

    /// Fills the halo rows with the neighbours' edges.
    ///
    /// # Errors
    /// Errors of the communication.
    pub(crate) fn exchange_halos(&mut self) -> Result<()> {
        self.halo.exchange(&mut self.cells)
    }

    /// One time step on this rank's rows: forward in time, centred in space.
    pub(crate) fn step(&mut self) {
        for row in 1..=self.rows.len() {
            for column in 1..=INTERIOR {
                let at = row * WIDTH + column;
                let here = self.cells[at];
                let around = self.cells[at - WIDTH]
                    + self.cells[at + WIDTH]
                    + self.cells[at - 1]
                    + self.cells[at + 1];
                self.next[at] = here + RATIO * (around - 4.0 * here);
            }
        }
        std::mem::swap(&mut self.cells, &mut self.next);
    }

    /// The largest distance of this rank's cells from `amplitude` × the eigenmode.
    #[must_use]
    pub(crate) fn error_against(&self, amplitude: f64) -> f64 {
        let lines = self.own().chunks_exact(WIDTH).zip(self.rows.clone());
        lines
            .flat_map(|(line, row)| {
                let cells = line.iter().enumerate();
                cells.map(move |(column, cell)| (cell - amplitude * eigenmode(row, column)).abs())
            })
            .fold(0.0, f64::max)
    }
}
