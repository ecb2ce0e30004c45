//! Each PE puts the rows at its edges to the parts of the symmetric heap that the PEs above and
//! below read.

use ranks::nvshmem::Nvshmem;
use ranks::prelude::*;

use super::{RADIUS, apply, plane};
use crate::prk::{Problem, heap};

/// The output of this PE's rows, and the seconds that it took.
pub(super) fn run(pe: &Nvshmem<'_>, problem: Problem, blocks: &Blocks) -> Result<(Vec<f64>, f64)> {
    let order = problem.order;
    let halo = RADIUS * order;
    let rows = blocks.range(pe.my_pe());
    let own = halo..halo + rows.len() * order;
    let mut cells = vec![0.0; own.end + halo]; // halo, own rows, halo
    for (cell, value) in cells[own.clone()]
        .iter_mut()
        .zip(plane(rows.clone(), order))
    {
        *cell = value;
    }
    let mut output = vec![0.0; own.len()];
    let above = pe.my_pe().checked_sub(1);
    let below = Some(pe.my_pe() + 1).filter(|&below| below < pe.n_pes());

    // Two pairs of halos: one is put to while the other is read, and so one barrier does for an
    // iteration.
    let halos = pe.alloc(4 * halo)?;
    let mut edges = pe.alloc(2 * halo)?; // the upper ones, the lower ones
    let mut both = vec![0.0; 2 * halo];
    let ((), seconds) = heap::timed(pe, || {
        for iteration in 0..=problem.iterations {
            let upper = 2 * halo * (iteration % 2);
            let lower = upper + halo;
            both[..halo].copy_from_slice(&cells[own.start..own.start + halo]);
            both[halo..].copy_from_slice(&cells[own.end - halo..own.end]);
            edges.copy_from_host(&both)?;
            if let Some(above) = above {
                let dest = halos.slice(lower..lower + halo)?;
                pe.put(dest, edges.slice(..halo)?, above)?;
            }
            if let Some(below) = below {
                let dest = halos.slice(upper..upper + halo)?;
                pe.put(dest, edges.slice(halo..)?, below)?;
            }
            pe.barrier_all()?;
            let came = halos.slice(upper..upper + 2 * halo)?;
            came.copy_to_host(&mut both)?;
            cells[..own.start].copy_from_slice(&both[..halo]);
            cells[own.end..].copy_from_slice(&both[halo..]);
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
    edges.free()?;
    halos.free()?;
    Ok((output, seconds))
}
