//! Each rank puts the rows at its edges to the ranks above and below.

use std::ops::Range;

use ranks::prelude::*;

use super::{RADIUS, apply, plane};
use crate::prk::Problem;
use crate::report::timed;

/// The output of this rank's `rows`, and the seconds that it took.
pub(super) fn run(
    world: &Communicator,
    problem: Problem,
    rows: Range<usize>,
) -> Result<(Vec<f64>, f64)> {
    let order = problem.order;
    let halo = RADIUS * order;
    let own = halo..halo + rows.len() * order;
    let mut cells = vec![0.0; own.end + halo]; // halo, own rows, halo
    for (cell, value) in cells[own.clone()]
        .iter_mut()
        .zip(plane(rows.clone(), order))
    {
        *cell = value;
    }
    let mut output = vec![0.0; own.len()];
    let above = world.rank().checked_sub(1);
    let below = Some(world.rank() + 1).filter(|&below| below < world.size());

    // Two pairs of halos: one is put to while the other is read, and so one fence does for an
    // iteration.
    let mut epoch = Window::allocate(world, 4 * halo)?.fence()?;
    let ((), seconds) = timed(world, || {
        for iteration in 0..=problem.iterations {
            let upper = 2 * halo * (iteration % 2);
            let lower = upper + halo;
            epoch.step(|ops| {
                if let Some(above) = above {
                    ops.put(&cells[own.start..own.start + halo], above, lower)?;
                }
                if let Some(below) = below {
                    ops.put(&cells[own.end - halo..own.end], below, upper)?;
                }
                Ok(())
            })?;
            epoch.read(upper, &mut cells[..own.start])?;
            epoch.read(lower, &mut cells[own.end..])?;
            let input = |row: usize| {
                let at = (row + RADIUS - rows.start) * order;
                &cells[at..at + order]
            };
            apply(rows.clone(), order, input, &mut output);
            for cell in &mut cells[own.clone()] {
                *cell += 1.0;
            }
        }
        Ok(())
    })?;
    epoch.close()?.free()?;
    Ok((output, seconds))
}
