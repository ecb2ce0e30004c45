//! PRK Stencil: to each point of the output is added what a star of weights makes of the input
//! round it.
//!
//! The weights are those of a divergence, ±1 ∕ 2kR at the distance k, and the input is a plane that
//! is lifted each time: so each iteration adds the sum of the plane's slopes, at every point.

mod heap;
mod rma;
mod shm;

use std::array;
use std::ops::Range;

use ranks::nvshmem::Nvshmem;
use ranks::prelude::*;

use crate::prk::heap::{sum, with_heap};
use crate::prk::{Form, Problem};
use crate::report::Report;

/// The radius of the star.
const RADIUS: usize = 2;
/// The weights at the distances 1 and 2, to the right and below; to the left and above they are
/// negative.
const WEIGHTS: [f64; RADIUS] = [1.0 / (2 * RADIUS) as f64, 1.0 / (4 * RADIUS) as f64];
/// The slopes of the input, along columns and along rows.
const SLOPES: [f64; 2] = [1.0, 1.0];
/// The largest error that the mean of the output may have.
const TOLERANCE: f64 = 1e-8;

/// Applies the star to a square of points, of which each rank has some rows, and compares the mean
/// with the exact one.
///
/// # Errors
/// [`ErrorKind::Argument`] if the rows are too few for the star or for the ranks; what the
/// communication reports.
pub fn benchmark(world: &Communicator, problem: Problem) -> Result<Report> {
    check(problem, world.size())?;
    let blocks = Blocks::even(problem.order, world.size());
    let (output, seconds) = match problem.form {
        Form::Rma => rma::run(world, problem, blocks.range(world.rank()))?,
        Form::Shm => shm::run(world, problem, &blocks)?,
        Form::Shmem => return with_heap(world, |pe| on_heap(pe, problem)),
    };
    let total = world.allreduce_one(magnitude(&output), Sum)?;
    Ok(report(problem, total, seconds))
}

/// Runs the kernel on the PEs of a symmetric heap, over NVSHMEM or in process.
///
/// # Errors
/// As [`benchmark`].
pub fn on_heap(pe: &Nvshmem<'_>, problem: Problem) -> Result<Report> {
    check(problem, pe.n_pes())?;
    let blocks = Blocks::even(problem.order, pe.n_pes());
    let (output, seconds) = heap::run(pe, problem, &blocks)?;
    let total = sum(pe, magnitude(&output))?;
    Ok(report(problem, total, seconds))
}

/// Checks that each rank has rows enough for the star.
fn check(problem: Problem, ranks: usize) -> Result<()> {
    let order = problem.order;
    let fewest = if ranks == 1 { 1 } else { RADIUS };
    if order <= 2 * RADIUS || order / ranks < fewest {
        return Err(Error::new(
            ErrorKind::Argument,
            "prk_stencil",
            format_args!("{order} rows are too few for a star of radius {RADIUS} on {ranks} ranks"),
        ));
    }
    Ok(())
}

fn magnitude(output: &[f64]) -> f64 {
    output.iter().map(|value| value.abs()).sum()
}

/// The outcome, where the outputs of all ranks add up to `total`.
fn report(problem: Problem, total: f64, seconds: f64) -> Report {
    let order = problem.order;
    let points = (order - 2 * RADIUS).pow(2) as f64;
    let norm = total / points;
    let exact = problem.sweeps() * (SLOPES[0] + SLOPES[1]);
    let verified = (norm - exact).abs() < TOLERANCE;
    let title = format!(
        "PRK Stencil: a star of radius {RADIUS} on {order} x {order} points, {} iterations, {}",
        problem.iterations, problem.form
    );
    let rate = problem.sweeps() * points / seconds;
    Report::new(title, problem.machine_readable(), verified, seconds)
        .with("norm", format_args!("{norm:.12}"))
        .with("exact", format_args!("{exact:.12}"))
        .with("rate", format_args!("{rate:.3e} points/s"))
}

/// The input at first, in some rows.
fn plane(rows: Range<usize>, order: usize) -> impl Iterator<Item = f64> {
    rows.flat_map(move |row| {
        (0..order).map(move |column| SLOPES[0] * column as f64 + SLOPES[1] * row as f64)
    })
}

/// Applies the star to `rows` of the square, where it does not reach beyond; `input` has them, and
/// those about them.
fn apply<'a>(
    rows: Range<usize>,
    order: usize,
    input: impl Fn(usize) -> &'a [f64],
    output: &mut [f64],
) {
    for (row, output) in rows.zip(output.chunks_exact_mut(order)) {
        if (RADIUS..order - RADIUS).contains(&row) {
            apply_to_row(&array::from_fn(|line| input(row + line - RADIUS)), output);
        }
    }
}

/// Applies the star to the row in the middle of these.
fn apply_to_row(input: &[&[f64]; 2 * RADIUS + 1], output: &mut [f64]) {
    for column in RADIUS..output.len() - RADIUS {
        for (distance, weight) in (1..).zip(WEIGHTS) {
            let along_row = input[RADIUS][column + distance] - input[RADIUS][column - distance];
            let along_column = input[RADIUS + distance][column] - input[RADIUS - distance][column];
            output[column] += weight * (along_row + along_column);
        }
    }
}
