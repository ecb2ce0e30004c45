//! NAS MG, "multigrid": charges in a periodic box make a potential. On the grid alone, errors of
//! long waves would take many steps to fade; so the residual is restricted to coarser and coarser
//! grids, where a wave is short, and what these find is interpolated back.
//!
//! Each rank has some planes of each grid and gets one more at either side from its neighbours.
//! Grids too coarse for that are gathered (`allgatherv`), and every rank works on the whole.

mod grid;
mod operators;
mod problem;

use ranks::Cartesian;
use ranks::prelude::*;

use crate::nas::{Class, agrees};
use crate::report::{Report, timed};

use grid::Grid;
use operators::{interpolate, residual, restrict, smooth};
use problem::Problem;

/// Solves the equation, and compares the norm of the residual with the published one.
///
/// # Errors
/// Errors of the communication.
pub fn benchmark(world: &Communicator, class: Class) -> Result<Report> {
    const TOLERANCE: f64 = 1e-8;
    let problem = Problem::of(class);
    let (points, iterations) = (problem.points, problem.iterations);
    let ring = world.cart_create(&[world.size()], &[true], false)?;
    let ring = ring.expect("the ring has room for all ranks");
    let mut multigrid = Multigrid::new(&ring, points)?;
    multigrid.solve(1)?; // not timed in the benchmark: memory is touched for the first time
    multigrid.restart();
    let (norm, seconds) = timed(world, || {
        multigrid.solve(iterations)?;
        multigrid.norm(world)
    })?;
    let title = format!(
        "NAS MG, class {class:?}: {points} x {points} x {points} points, {iterations} iterations"
    );
    let verified = agrees(norm, problem.norm, TOLERANCE);
    // As the benchmark counts: 58 operations for a point in an iteration.
    let rate = 58.0 * (iterations * points.pow(3)) as f64 / seconds;
    let report = Report::new(title, format!("class={class:?}"), verified, seconds)
        .with("norm", format_args!("{norm:.13e}"))
        .with("published", format_args!("{:.13e}", problem.norm))
        .with("rate", format_args!("{rate:.3e} operations/s"));
    Ok(report)
}

/// The equation A·u = v, where A is the Laplacian.
#[derive(Debug)]
struct Multigrid {
    v: Grid,
    /// u, and what it leaves of v.
    finest: Level,
    /// The other levels, from that of two points in each direction to that of half of all.
    coarser: Vec<Level>,
}

impl Multigrid {
    /// With charges for v, and zero for u.
    fn new(ring: &Cartesian, points: usize) -> Result<Multigrid> {
        let mut v = Grid::new(ring, points)?;
        problem::charge(ring, &mut v)?;
        let coarser = (1..points.ilog2()).map(|log2| Level::new(ring, 1 << log2));
        Ok(Multigrid {
            v,
            finest: Level::new(ring, points)?,
            coarser: coarser.collect::<Result<_>>()?,
        })
    }

    /// Zero for u again.
    fn restart(&mut self) {
        self.finest.solution.clear();
    }

    /// Brings u nearer to the solution, so many times.
    fn solve(&mut self, iterations: usize) -> Result<()> {
        let v = Some(&self.v);
        residual(&self.finest.solution, v, &mut self.finest.residual)?;
        for _ in 0..iterations {
            self.finest.improve(&mut self.coarser, v)?;
            residual(&self.finest.solution, v, &mut self.finest.residual)?;
        }
        Ok(())
    }

    /// The root of the residual's mean square.
    fn norm(&self, world: &Communicator) -> Result<f64> {
        let residual = &self.finest.residual;
        let points = residual.points();
        let mut squares = vec![0.0; points];
        for row in residual.rows_of_share() {
            let pairs = squares.iter_mut().zip(row);
            pairs.for_each(|(square, value)| *square += value * value);
        }
        let sum = world.allreduce_one(squares.iter().sum::<f64>(), Sum)?;
        Ok((sum / points.pow(3) as f64).sqrt())
    }
}

/// An equation on one of the grids: a solution, and what it leaves of the right side.
#[derive(Debug)]
struct Level {
    solution: Grid,
    residual: Grid,
}

impl Level {
    fn new(ring: &Cartesian, points: usize) -> Result<Level> {
        Ok(Level {
            solution: Grid::new(ring, points)?,
            residual: Grid::new(ring, points)?,
        })
    }

    /// Improves the solution by what the coarser grids find for the residual, and smooths it. The
    /// right side is `v`, or what the residual is so far.
    fn improve(&mut self, coarser: &mut [Level], v: Option<&Grid>) -> Result<()> {
        if let [coarsest @ .., next] = coarser {
            restrict(&self.residual, &mut next.residual)?;
            next.solution.clear();
            next.improve(coarsest, None)?;
            interpolate(&next.solution, &mut self.solution);
            residual(&self.solution, v, &mut self.residual)?;
        }
        smooth(&self.residual, &mut self.solution)
    }
}
