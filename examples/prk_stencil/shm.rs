//! Each rank reads the rows about its own where they are: in the memory that the ranks of a node
//! share.

use ranks::prelude::*;

use super::{apply, plane};
use crate::prk::{Problem, place_of};
use crate::report::timed;

/// The output of this rank's rows, and the seconds that it took.
pub(super) fn run(
    world: &Communicator,
    problem: Problem,
    blocks: &Blocks,
) -> Result<(Vec<f64>, f64)> {
    let order = problem.order;
    let rows = blocks.range(world.rank());
    let mut window = SharedWindow::allocate(world, rows.len() * order)?;
    for (cell, value) in window.mine_mut().iter_mut().zip(plane(rows.clone(), order)) {
        *cell = value;
    }
    let mut output = vec![0.0; rows.len() * order];
    let (window, seconds) = timed(world, || {
        for _ in 0..=problem.iterations {
            let readable = window.fence()?;
            let input = |row: usize| {
                let (rank, line) = place_of(row, blocks);
                &readable.segment(rank)[line * order..(line + 1) * order]
            };
            apply(rows.clone(), order, input, &mut output);
            window = readable.fence()?;
            for cell in window.mine_mut() {
                *cell += 1.0;
            }
        }
        Ok(window)
    })?;
    window.free()?;
    Ok((output, seconds))
}
