//! Each PE puts to each other one the block that is that one's, transposed already.

use ranks::nvshmem::Nvshmem;
use ranks::prelude::*;

use super::{by_tiles, elements, original};
use crate::prk::{Problem, heap};

/// The columns of B that are this PE's, and the seconds that it took.
pub(super) fn run(pe: &Nvshmem<'_>, problem: Problem, blocks: &Blocks) -> Result<(Vec<f64>, f64)> {
    let order = problem.order;
    let mine = blocks.range(pe.my_pe());
    let width = mine.len();
    let mut a: Vec<f64> = elements(mine.clone(), order, |row, column| {
        original(row, column, order)
    })
    .collect();
    let mut b = vec![0.0; width * order];

    // All PEs have as much room, whatever their columns: so much as the widest has.
    let widest = (0..pe.n_pes()).map(|pe| blocks.range(pe).len()).max();
    let room = widest.unwrap_or(0) * order;
    let mut outbox = pe.alloc(room)?; // the block of PE 0, that of PE 1, …: each its columns of my rows of Aᵀ
    let inboxes = pe.alloc(2 * room)?; // two: one is put to while the other is read, and so one barrier does for an iteration
    let mut block = vec![0.0; room];
    let ((), seconds) = heap::timed(pe, || {
        for iteration in 0..=problem.iterations {
            for theirs in (0..pe.n_pes()).map(|pe| blocks.range(pe)) {
                let block = &mut block[theirs.start * width..theirs.end * width];
                by_tiles(theirs.len(), width, |i, j| {
                    block[i * width + j] = a[j * order + theirs.start + i];
                });
            }
            outbox.copy_from_host(&block)?;
            let inbox = room * (iteration % 2);
            for other in 0..pe.n_pes() {
                let theirs = blocks.range(other);
                let source = outbox.slice(theirs.start * width..theirs.end * width)?;
                let at = inbox + mine.start * theirs.len();
                pe.put(inboxes.slice(at..at + source.len())?, source, other)?;
            }
            pe.barrier_all()?;
            let came = inboxes.slice(inbox..inbox + room)?;
            came.copy_to_host(&mut block)?;
            for theirs in (0..pe.n_pes()).map(|pe| blocks.range(pe)) {
                let block = &block[theirs.start * width..theirs.end * width];
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
    outbox.free()?;
    inboxes.free()?;
    Ok((b, seconds))
}
