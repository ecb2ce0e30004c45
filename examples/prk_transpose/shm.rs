//! Each rank reads the columns of A where they are: in the memory that the ranks of a node share.

use ranks::prelude::*;

use super::{by_tiles, elements, original};
use crate::prk::Problem;
use crate::report::timed;

/// The columns of B that are this rank's, and the seconds that it took.
pub(super) fn run(
    world: &Communicator,
    problem: Problem,
    blocks: &Blocks,
) -> Result<(Vec<f64>, f64)> {
    let order = problem.order;
    let mine = blocks.range(world.rank());
    let mut a = SharedWindow::allocate(world, mine.len() * order)?;
    let first = elements(mine.clone(), order, |row, column| {
        original(row, column, order)
    });
    for (element, value) in a.mine_mut().iter_mut().zip(first) {
        *element = value;
    }
    let mut b = vec![0.0; mine.len() * order];
    let (a, seconds) = timed(world, || {
        for _ in 0..=problem.iterations {
            let readable = a.fence()?;
            for rank in 0..world.size() {
                let (theirs, columns) = (blocks.range(rank), readable.segment(rank));
                by_tiles(mine.len(), theirs.len(), |i, j| {
                    b[i * order + theirs.start + j] += columns[j * order + mine.start + i];
                });
            }
            a = readable.fence()?;
            for element in a.mine_mut() {
                *element += 1.0;
            }
        }
        Ok(a)
    })?;
    a.free()?;
    Ok((b, seconds))
}
