//! PRK Transpose: B += Aᵀ, A += 1, of two matrices of which each rank has some columns.

mod rma;
mod shm;

use std::ops::Range;

use ranks::prelude::*;

use crate::prk::{Form, Problem};
use crate::report::Report;

/// The edge of the squares that are transposed at a time: both sides of one fit in the caches.
const TILE: usize = 32;
/// What the errors of all elements may come to.
const TOLERANCE: f64 = 1e-8;

/// Adds the transpose of A to B as often as asked for, and compares each element of B with the exact one.
///
/// # Errors
/// What the communication reports.
pub fn benchmark(world: &Communicator, problem: Problem) -> Result<Report> {
    let order = problem.order;
    let blocks = Blocks::even(order, world.size());
    let (sums, seconds) = match problem.form {
        Form::Rma => rma::run(world, problem, &blocks)?,
        Form::Shm => shm::run(world, problem, &blocks)?,
    };

    let columns = blocks.range(world.rank());
    let lifted = problem.iterations as f64 * problem.sweeps() / 2.0; // 0 + 1 + … + iterations
    let exact = elements(columns, order, |row, column| {
        problem.sweeps() * original(column, row, order) + lifted
    });
    let error = sums
        .iter()
        .zip(exact)
        .map(|(sum, exact)| (sum - exact).abs());
    let error = world.allreduce_value(error.sum::<f64>(), Sum)?;
    let verified = error < TOLERANCE;
    let title = format!(
        "PRK Transpose: matrices of order {order}, {} iterations, {}",
        problem.iterations, problem.form
    );
    let moved = problem.sweeps() * 2.0 * size_of::<f64>() as f64 * (order * order) as f64;
    let report = Report::new(title, problem.machine_readable(), verified, seconds)
        .with(
            "errors",
            format_args!("{error:.1e} (may be {TOLERANCE:.0e})"),
        )
        .with("rate", format_args!("{:.3e} bytes/s", moved / seconds));
    Ok(report)
}

/// What A is at first.
fn original(row: usize, column: usize, order: usize) -> f64 {
    (order * column + row) as f64
}

/// The elements of some columns, one column after the other.
fn elements(
    columns: Range<usize>,
    order: usize,
    element: impl Fn(usize, usize) -> f64 + Copy,
) -> impl Iterator<Item = f64> {
    columns.flat_map(move |column| (0..order).map(move |row| element(row, column)))
}

/// Calls `each` with all pairs of numbers below these, tile by tile.
fn by_tiles(first: usize, second: usize, mut each: impl FnMut(usize, usize)) {
    for from in (0..first).step_by(TILE) {
        for to in (0..second).step_by(TILE) {
            for i in from..first.min(from + TILE) {
                for j in to..second.min(to + TILE) {
                    each(i, j);
                }
            }
        }
    }
}
