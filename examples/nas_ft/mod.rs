//! NAS FT, "Fourier transform": heat spreads in a periodic box. Waves fade each at a rate of its
//! own, so the points are transformed to waves once, and back to points each time that somebody
//! wants to see them.
//!
//! Each rank has some of the planes, in which lines along x and y are whole. For lines along z the
//! ranks exchange all points (`alltoallv`), after which each has some of the columns.

mod fft;
mod problem;

use std::f64::consts::PI;

use num_complex::Complex64;
use ranks::prelude::*;

use crate::nas::{Class, Random, SEED, agrees};
use crate::report::{Report, timed};

use fft::{Direction, transform};
use problem::{ITERATIONS, Problem};

/// Transforms, lets waves fade, transforms back, six times, and compares sums of some points with
/// the published ones.
///
/// # Errors
/// Errors of the communication.
pub fn benchmark(world: &Communicator, class: Class) -> Result<Report> {
    const TOLERANCE: f64 = 1e-12;
    let problem = Problem::of(class);
    let grid = Grid::new(world, problem.points)?;
    let (sums, seconds) = timed(world, || grid.simulate())?;
    let verified = sums
        .iter()
        .zip(problem.checksums)
        .all(|(sum, [re, im])| agrees(sum.re, re, TOLERANCE) && agrees(sum.im, im, TOLERANCE));
    let [nx, ny, nz] = problem.points;
    let title =
        format!("NAS FT, class {class:?}: {nx} x {ny} x {nz} points, {ITERATIONS} iterations");
    let mut report = Report::new(title, format!("class={class:?}"), verified, seconds);
    for (number, sum) in (1..).zip(sums) {
        let value = format_args!("{:.12e} {:.12e}", sum.re, sum.im);
        report = report.with(format_args!("checksum {number}"), value);
    }
    Ok(report)
}

/// Points in a box, x fastest and z slowest, and which are whose.
#[derive(Debug)]
struct Grid<'a> {
    world: &'a Communicator,
    points: [usize; 3],
    planes: Blocks,
    columns: Blocks,
    /// The part of each rank's columns that this rank has while points are divided by planes.
    by_rank_of_columns: Blocks,
    /// The part of each rank's planes that this rank has while points are divided by columns.
    by_rank_of_planes: Blocks,
}

impl<'a> Grid<'a> {
    fn new(world: &'a Communicator, points: [usize; 3]) -> Result<Grid<'a>> {
        let [nx, ny, nz] = points;
        let planes = Blocks::even(nz, world.size());
        let columns = Blocks::even(nx * ny, world.size());
        let times = |blocks: &Blocks, factor: usize| {
            let counts = blocks.counts().iter().map(|count| count * factor);
            Blocks::from_counts(&counts.collect::<Vec<_>>())
        };
        Ok(Grid {
            world,
            points,
            by_rank_of_columns: times(&columns, planes.counts()[world.rank()])?,
            by_rank_of_planes: times(&planes, columns.counts()[world.rank()])?,
            planes,
            columns,
        })
    }

    /// The checksum after each iteration.
    fn simulate(&self) -> Result<Vec<Complex64>> {
        let mut planes = self.start();
        let mut packed = Vec::with_capacity(planes.len());
        let mut waves = vec![Complex64::ZERO; self.by_rank_of_planes.end()];
        self.forward(&mut planes, &mut packed, &mut waves)?;
        let fading = self.fading();
        let mut columns = waves.clone();
        let mut sums = Vec::new();
        for _ in 0..ITERATIONS {
            let faded = waves.iter_mut().zip(&fading);
            for (column, (wave, left)) in columns.iter_mut().zip(faded) {
                *wave *= left;
                *column = *wave;
            }
            self.back(&mut columns, &mut packed, &mut planes)?;
            sums.push(self.checksum(&planes));
        }
        self.world.allreduce_in_place(&mut sums, Sum)?;
        Ok(sums)
    }

    /// Random numbers in this rank's planes.
    fn start(&self) -> Vec<Complex64> {
        let [nx, ny, _] = self.points;
        let planes = self.planes.range(self.world.rank());
        let mut random = Random::after(SEED, 2 * nx * ny * planes.start);
        let point = |_| Complex64::new(random.uniform(), random.uniform());
        (0..nx * ny * planes.len()).map(point).collect()
    }

    /// From planes of points to columns of waves; `packed` is what travels.
    fn forward(
        &self,
        planes: &mut [Complex64],
        packed: &mut Vec<Complex64>,
        columns: &mut [Complex64],
    ) -> Result<()> {
        let [nx, ny, nz] = self.points;
        transform(planes, nx, 1, Direction::Forward);
        transform(planes, ny, nx, Direction::Forward);
        packed.clear();
        for rank in 0..self.world.size() {
            for plane in planes.chunks_exact(nx * ny) {
                packed.extend_from_slice(&plane[self.columns.range(rank)]);
            }
        }
        let (from, to) = (&self.by_rank_of_columns, &self.by_rank_of_planes);
        self.world.alltoallv_into(packed, from, columns, to)?;
        transform(columns, nz, self.stride(), Direction::Forward);
        Ok(())
    }

    /// From columns of waves to planes of points: the same steps, last to first.
    fn back(
        &self,
        columns: &mut [Complex64],
        packed: &mut [Complex64],
        planes: &mut [Complex64],
    ) -> Result<()> {
        let [nx, ny, nz] = self.points;
        transform(columns, nz, self.stride(), Direction::Back);
        let (from, to) = (&self.by_rank_of_planes, &self.by_rank_of_columns);
        self.world.alltoallv_into(columns, from, packed, to)?;
        let mut rest = &*packed;
        for rank in 0..self.world.size() {
            for plane in planes.chunks_exact_mut(nx * ny) {
                let part = &mut plane[self.columns.range(rank)];
                let (first, behind) = rest.split_at(part.len());
                part.copy_from_slice(first);
                rest = behind;
            }
        }
        transform(planes, ny, nx, Direction::Back);
        transform(planes, nx, 1, Direction::Back);
        Ok(())
    }

    /// The number of this rank's columns: how far apart the points of one are.
    fn stride(&self) -> usize {
        self.columns.counts()[self.world.rank()]
    }

    /// The factor by which each wave in this rank's columns fades in an iteration: the shorter the
    /// wave, the smaller.
    fn fading(&self) -> Vec<f64> {
        /// The conductivity of the box.
        const ALPHA: f64 = 1e-6;
        let [nx, ny, nz] = self.points;
        let square = |index: usize, len: usize| index.min(len - index).pow(2) as f64;
        let columns = self.columns.range(self.world.rank());
        let column = |z: usize| {
            columns.clone().map(move |column| {
                let k2 = square(column % nx, nx) + square(column / nx, ny) + square(z, nz);
                (-4.0 * ALPHA * PI * PI * k2).exp()
            })
        };
        (0..nz).flat_map(column).collect()
    }

    /// This rank's part of the sum of 1024 points, and so of the mean that the benchmark asks for.
    fn checksum(&self, points: &[Complex64]) -> Complex64 {
        let [nx, ny, nz] = self.points;
        let mine = self.planes.range(self.world.rank());
        let places = (1..=1024).map(|j| (j % nx, 3 * j % ny, 5 * j % nz));
        let here = places.filter(|(_, _, z)| mine.contains(z));
        let values = here.map(|(x, y, z)| points[((z - mine.start) * ny + y) * nx + x]);
        values.sum::<Complex64>() / (nx * ny * nz) as f64
    }
}
