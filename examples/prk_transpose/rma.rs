//! Each rank puts to each other one the block that is that one's, transposed already.

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
    let width = mine.len();
    let mut a: Vec<f64> = elements(mine.clone(), order, |row, column| {
        original(row, column, order)
    })
    .collect();
    let mut b = vec![0.0; width * order];
    let mut outbox = b.clone(); // the block of rank 0, that of rank 1, …: each its columns of my rows of Aᵀ
    let mut inbox = b.clone(); // the block from rank 0, …

    // Room for two inboxes: one is put to while the other is read, and so one fence does for an
    // iteration.
    let mut epoch = Window::allocate(world, 2 * inbox.len())?.fence()?;
    let ((), seconds) = timed(world, || {
        for iteration in 0..=problem.iterations {
            for theirs in (0..world.size()).map(|rank| blocks.range(rank)) {
                let block = &mut outbox[theirs.start * width..theirs.end * width];
                by_tiles(theirs.len(), width, |i, j| {
                    block[i * width + j] = a[j * order + theirs.start + i];
                });
            }
            let half = iteration % 2;
            epoch.step(|ops| {
                for rank in 0..world.size() {
                    let theirs = blocks.range(rank);
                    let block = &outbox[theirs.start * width..theirs.end * width];
                    let at = (half * order + mine.start) * theirs.len();
                    ops.put(block, rank, at)?;
                }
                Ok(())
            })?;
            epoch.read(half * inbox.len(), &mut inbox)?;
            for theirs in (0..world.size()).map(|rank| blocks.range(rank)) {
                let block = &inbox[theirs.start * width..theirs.end * width];
                for column in 0..width {
                    let sums = &mut b[column * order..][theirs.clone()];
                    let values = &block[column * theirs.len()..];
                    for (sum, value) in sums.iter_mut().zip(values) {
                        *sum += value;
                    }
                }
            }
            for element in &mut a {
                *element += 1.0;
            }
        }
        Ok(())
    })?;
    epoch.close()?.free()?;
    Ok((b, seconds))
}
