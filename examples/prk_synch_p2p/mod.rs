//! PRK Synch_p2p: A(i,j) = A(i−1,j) + A(i,j−1) − A(i−1,j−1), a pipeline of ranks that each wait for
//! one value at a time.
//!
//! The last corner of a wave, negated, is the first corner of the next one.

mod heap;
mod rma;
mod shm;
mod strip;

use std::time::Duration;

use ranks::nvshmem::Nvshmem;
use ranks::prelude::*;

use crate::prk::heap::{from_pe, with_heap};
use crate::prk::{Form, Problem};
use crate::report::Report;

use strip::Strip;

/// The largest error that the corner may have.
const TOLERANCE: f64 = 1e-8;
/// The time limit of the wait for a value. One wave takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends as many waves through a square as asked for, of which each rank has some columns, and
/// compares the last corner with the exact one.
///
/// # Errors
/// [`ErrorKind::Argument`] if there are no points; [`ErrorKind::TimedOut`] if a value does not come
/// for half a minute; what the communication reports.
pub fn benchmark(world: &Communicator, problem: Problem) -> Result<Report> {
    check(problem)?;
    let (corner, seconds) = match problem.form {
        Form::Rma => rma::run(world, problem)?,
        Form::Shm => shm::run(world, problem)?,
        Form::Shmem => return with_heap(world, |pe| on_heap(pe, problem)),
    };
    let mut corner = [corner];
    world.bcast(&mut corner, 0)?;
    Ok(report(problem, corner[0], seconds))
}

/// Runs the kernel on the PEs of a symmetric heap, over NVSHMEM or in process.
///
/// # Errors
/// As [`benchmark`].
pub fn on_heap(pe: &Nvshmem<'_>, problem: Problem) -> Result<Report> {
    check(problem)?;
    let (corner, seconds) = heap::run(pe, problem)?;
    Ok(report(problem, from_pe(pe, corner, 0)?, seconds))
}

/// Checks that there are points.
fn check(problem: Problem) -> Result<()> {
    if problem.order == 0 {
        return Err(Error::new(
            ErrorKind::Argument,
            "prk_synch_p2p",
            "a square of no points has no corner",
        ));
    }
    Ok(())
}

/// The outcome, with this corner of the last wave.
fn report(problem: Problem, corner: f64, seconds: f64) -> Report {
    let order = problem.order;
    let exact = problem.sweeps() * (2 * (order - 1)) as f64;
    let verified = (corner - exact).abs() < TOLERANCE;
    let title = format!(
        "PRK Synch_p2p: waves through {order} x {order} points, {} iterations, {}",
        problem.iterations, problem.form
    );
    let rate = problem.sweeps() * (order - 1).pow(2) as f64 / seconds;
    Report::new(title, problem.machine_readable(), verified, seconds)
        .with("corner", format_args!("{corner:.12}"))
        .with("exact", format_args!("{exact:.12}"))
        .with("rate", format_args!("{rate:.3e} points/s"))
}

/// A slot for each line, at each rank: what its predecessor hands over is put there.
trait Slots {
    /// Puts a value into an empty slot of `rank`.
    fn put(&self, value: f64, rank: usize, slot: usize) -> Result<()>;

    /// Takes what is in a slot of this rank, when it is not empty any more.
    fn take(&self, slot: usize) -> Result<f64>;
}

/// Sends the waves through, as rank `me` of `size`; the corner of the last one, on rank 0.
///
/// Each slot is empty when a value is put there: a wave begins when the one before it has been
/// through all ranks.
fn waves(me: usize, size: usize, problem: Problem, slots: &impl Slots) -> Result<f64> {
    let lines = problem.order;
    let columns = Blocks::even(lines - 1, size).range(me); // the first one is given
    let mut strip = Strip::new(columns.start + 1..columns.end + 1, lines);
    let mut corner = 0.0;
    for _ in 0..=problem.iterations {
        let mut last = 0.0;
        for line in 0..lines {
            let before = match (me, line) {
                (0, 0) => -corner,
                (0, _) => line as f64,
                _ => slots.take(line)?,
            };
            last = strip.advance(line, before);
            if me + 1 < size {
                slots.put(last, me + 1, line)?;
            }
        }
        if me + 1 == size {
            slots.put(last, 0, 0)?;
        }
        if me == 0 {
            corner = slots.take(0)?;
        }
    }
    Ok(corner)
}
