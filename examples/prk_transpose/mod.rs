//! PRK Transpose: B += Aᵀ, A += 1, of two matrices of which each rank has some columns.

mod heap;
mod rma;
mod shm;

use std::ops::Range;

use ranks::nvshmem::Nvshmem;
use ranks::prelude::*;

use crate::prk::heap::{sum, with_heap};
use crate::prk::{Form, Problem};
use crate::report::Report;

/// The edge of the squares that are transposed at a time: both sides of one fit in the caches.
const TILE: usize = 32;
/// The largest sum that the errors of all elements may have.
const TOLERANCE: f64 = 1e-8;

/// Adds the transpose of A to B as often as asked for, and compares each element of B with the
/// exact one.
///
/// # Errors
/// Errors of the communication.
pub fn benchmark(world: &Communicator, problem: Problem) -> Result<Report> {
    let blocks = Blocks::even(problem.order, world.size());
    let (sums, seconds) = match problem.form {
        Form::Rma => rma::run(world, problem, &blocks)?,
        Form::Shm => shm::run(world, problem, &blocks)?,
        Form::Shmem => return with_heap(world, |pe| on_heap(pe, problem)),
    };
    let error = error_of(&sums, problem, blocks.range(world.rank()));
    let error = world.allreduce_one(error, Sum)?;
    Ok(report(problem, error, seconds))
}

/// Runs the kernel on the PEs of a symmetric heap, over NVSHMEM or in process.
///
/// # Errors
/// As [`benchmark`].
pub fn on_heap(pe: &Nvshmem<'_>, problem: Problem) -> Result<Report> {
    let blocks = Blocks::even(problem.order, pe.n_pes());
    let (sums, seconds) = heap::run(pe, problem, &blocks)?;
    let error = error_of(&sums, problem, blocks.range(pe.my_pe()));
    Ok(report(problem, sum(pe, error)?, seconds))
}

/// The sum of the errors in these columns of B.
fn error_of(sums: &[f64], problem: Problem, columns: Range<usize>) -> f64 {
    let order = problem.order;
    let lifted = problem.iterations as f64 * problem.sweeps() / 2.0; // 0 + 1 + … + iterations
    let exact = elements(columns, order, |row, column| {
        problem.sweeps() * original(column, row, order) + lifted
    });
    let error = sums
        .iter()
        .zip(exact)
        .map(|(sum, exact)| (sum - exact).abs());
    error.sum()
}

/// The outcome, where the errors of all ranks add up to `error`.
fn report(problem: Problem, error: f64, seconds: f64) -> Report {
    let order = problem.order;
    let verified = error < TOLERANCE;
    let title = format!(
        "PRK Transpose: matrices of order {order}, {} iterations, {}",
        problem.iterations, problem.form
    );
    let moved = problem.sweeps() * 2.0 * size_of::<f64>() as f64 * (order * order) as f64;
    Report::new(title, problem.machine_readable(), verified, seconds)
        .with(
            "errors",
            format_args!("{error:.1e} (may be {TOLERANCE:.0e})"),
        )
        .with("rate", format_args!("{:.3e} bytes/s", moved / seconds))
}

/// The elements of A at the start.
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
