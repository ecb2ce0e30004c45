//! Values at the points of a periodic box, x fastest and z slowest, divided among the ranks by
//! planes.

use std::ops::Range;

use ranks::prelude::*;
use ranks::{Cartesian, HaloExchange};

/// The planes that each rank has at least if a grid is divided. With fewer, messages would take
/// longer than points: then each rank has the whole grid.
const FEWEST: usize = 4;

/// This rank's planes of a box. Round its points lie copies of those at the opposite side of the
/// box, and of the neighbours' planes.
#[derive(Debug)]
pub(super) struct Grid {
    /// Along each of x, y and z.
    points: usize,
    /// The planes of the box that are here.
    planes: Range<usize>,
    /// Those that no other rank works on, if the ranks divide the work.
    share: Range<usize>,
    cells: Vec<f64>,
    others: Others,
}

/// The way to what other ranks have of a grid.
#[derive(Debug)]
enum Others {
    /// They have other planes.
    Neighbours(HaloExchange<f64>),
    /// They have the same, of which each may have computed its share: so many cells.
    Copies(Cartesian, Blocks),
}

impl Grid {
    /// A grid of zeros.
    ///
    /// # Errors
    /// Errors of the communication.
    pub(super) fn new(ring: &Cartesian, points: usize) -> Result<Grid> {
        let (rank, ranks) = (ring.rank(), ring.size());
        // Where points are twice as many, each beginning is twice as far, or one more: so what a
        // plane needs of those nearby in a finer or coarser grid is here or in the halo.
        let start = |rank: usize| points * rank / ranks;
        let share = start(rank)..start(rank + 1);
        let width = points + 2;
        let is_divided = ranks > 1 && points >= FEWEST * ranks;
        let (planes, others) = if is_divided {
            let shape = [share.len() + 2, width, width];
            let halo = HaloExchange::new(ring, &shape, &[1])?;
            (share.clone(), Others::Neighbours(halo))
        } else {
            let cuts: Vec<usize> = (0..=ranks)
                .map(|rank| start(rank) * width * width)
                .collect();
            let copies = Others::Copies(ring.clone(), Blocks::from_cuts(&cuts)?);
            (0..points, copies)
        };
        Ok(Grid {
            points,
            cells: vec![0.0; (planes.len() + 2) * width * width],
            planes,
            share,
            others,
        })
    }

    /// The number of points along each of x, y and z.
    pub(super) fn points(&self) -> usize {
        self.points
    }

    /// The planes of the box that are here.
    pub(super) fn planes(&self) -> Range<usize> {
        self.planes.clone()
    }

    /// The planes that no other rank works on, if the ranks divide the work.
    pub(super) fn share(&self) -> Range<usize> {
        self.share.clone()
    }

    /// Returns `true` if each rank has planes of its own.
    pub(super) fn is_divided(&self) -> bool {
        matches!(self.others, Others::Neighbours(_))
    }

    /// The point at that place of the box, which is here.
    pub(super) fn at(&mut self, place: usize) -> &mut f64 {
        let (x, y, z) = (
            place % self.points,
            place / self.points % self.points,
            place / self.points / self.points,
        );
        let width = self.points + 2;
        let plane = z - self.planes.start + 1;
        &mut self.cells[(plane * width + y + 1) * width + x + 1]
    }

    /// A row with the copies at both ends, where planes and rows count from the halo.
    pub(super) fn row(&self, plane: usize, row: usize) -> &[f64] {
        let width = self.points + 2;
        &self.cells[(plane * width + row) * width..][..width]
    }

    /// The points of this rank's share, row by row.
    pub(super) fn rows_of_share(&self) -> impl Iterator<Item = &[f64]> {
        let first = self.share.start - self.planes.start + 1;
        let planes = first..first + self.share.len();
        planes.flat_map(move |plane| {
            (1..=self.points).map(move |row| &self.row(plane, row)[1..=self.points])
        })
    }

    /// Makes all zero.
    pub(super) fn clear(&mut self) {
        self.cells.fill(0.0);
    }

    /// Calls `change` with all rows, those of the halo and their ends too.
    pub(super) fn change_all(&mut self, mut change: impl FnMut(usize, usize, &mut [f64])) {
        let width = self.points + 2;
        for (plane, rows) in self.cells.chunks_exact_mut(width * width).enumerate() {
            for (row, cells) in rows.chunks_exact_mut(width).enumerate() {
                change(plane, row, cells);
            }
        }
    }

    /// Calls `change` with the points of each row in `planes` of the box, and sees to the copies
    /// within these planes.
    pub(super) fn change(
        &mut self,
        planes: Range<usize>,
        mut change: impl FnMut(usize, usize, &mut [f64]),
    ) {
        let points = self.points;
        let width = points + 2;
        let first = planes.start - self.planes.start + 1;
        let cells = &mut self.cells[first * width * width..];
        let cells = cells.chunks_exact_mut(width * width).take(planes.len());
        for (plane, rows) in (first..).zip(cells) {
            let inner = rows.chunks_exact_mut(width).enumerate();
            for (row, cells) in inner.skip(1).take(points) {
                change(plane, row, &mut cells[1..=points]);
                cells[0] = cells[points];
                cells[points + 1] = cells[1];
            }
            rows.copy_within(points * width..(points + 1) * width, 0);
            rows.copy_within(width..2 * width, (points + 1) * width);
        }
    }

    /// Gets the planes next to these from where they are.
    ///
    /// # Errors
    /// Errors of the communication.
    pub(super) fn fill_halo(&mut self) -> Result<()> {
        let plane = (self.points + 2).pow(2);
        let end = self.cells.len() - plane;
        match &mut self.others {
            Others::Neighbours(halo) => halo.exchange(&mut self.cells)?,
            Others::Copies(..) => {
                self.cells.copy_within(end - plane..end, 0);
                self.cells.copy_within(plane..2 * plane, end);
            }
        }
        Ok(())
    }

    /// Gets the other ranks' shares, if the whole grid is to be here.
    ///
    /// # Errors
    /// Errors of the communication.
    pub(super) fn gather(&mut self) -> Result<()> {
        if let Others::Copies(ring, blocks) = &self.others {
            let plane = (self.points + 2).pow(2);
            ring.allgatherv_in_place(&mut self.cells[plane..], blocks)?;
        }
        Ok(())
    }
}
