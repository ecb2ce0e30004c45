//! Heat in a square plate whose edges are kept at zero, split over ranks by rows.
//!
//! Each rank owns a slab of rows and trades its edge rows with the ranks above and below before
//! each time step. The plate starts in its first eigenmode, which the scheme shrinks by a known
//! factor per step: so the result is checked against arithmetic, on every grid point. The same
//! executable runs on threads and under MPI:
//!
//! ```text
//! RANKS_NP=4 heat2d --png heat.png
//! mpiexec -n 4 heat2d
//! ```
#![expect(clippy::print_stdout, reason = "a program that reports to its user")]

mod picture;
mod slab;

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ranks::prelude::*;

use slab::{INTERIOR, Slab, WIDTH, decay, rows_of};

/// Time steps.
const STEPS: i32 = 500;
/// The largest error that a temperature may have.
const TOLERANCE: f64 = 1e-12;
/// The tag of a slab on its way to rank 0.
const SLAB: i32 = 3;

type Outcome<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let png = parse(env::args().skip(1))?;
    ranks::run(|world| simulate(&world, png.as_deref()))
}

/// The path after `--png`, if there is one.
fn parse(mut arguments: impl Iterator<Item = String>) -> Outcome<Option<PathBuf>> {
    match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => Ok(None),
        (Some("--png"), Some(path)) => Ok(Some(path.into())),
        _ => Err("usage: heat2d [--png PATH]".into()),
    }
}

/// The program of every rank.
fn simulate(world: &Communicator, png: Option<&Path>) -> Outcome<()> {
    if world.size() > INTERIOR {
        return Err(format!("{INTERIOR} rows are too few for {} ranks", world.size()).into());
    }
    let column = world.cart_create(&[world.size()], &[false], false)?;
    let column = column.ok_or("the column has no room for this rank")?;
    let mut slab = Slab::new(&column)?;
    world.barrier()?;
    let start = Instant::now();
    for _ in 0..STEPS {
        slab.exchange_halos()?;
        slab.step();
    }
    let seconds = start.elapsed().as_secs_f64();

    let exact = decay().powi(STEPS);
    let mut worst = [0.0];
    world.allreduce(&[slab.error_against(exact)], &mut worst, Max)?;
    let verified = worst[0] <= TOLERANCE;

    if let Some(plate) = collect(world, &slab)? {
        let centre = plate[(WIDTH / 2) * WIDTH + WIDTH / 2];
        println!("heat in a plate of {INTERIOR} x {INTERIOR} points, {STEPS} steps");
        println!(
            "  carried by     {}, {} ranks",
            world.library(),
            world.size()
        );
        println!("  centre         {centre:.16}");
        println!("  exact          {exact:.16}");
        println!("  largest error  {:.1e} (may be {TOLERANCE:.0e})", worst[0]);
        if let Some(path) = png {
            picture::write(path, &plate, exact)?;
            println!("  picture        {}", path.display());
        }
        println!(
            "result heat2d ranks={} verified={} seconds={seconds:.6} library={}",
            world.size(),
            if verified { "yes" } else { "no" },
            world.library()
        );
    }
    if !verified {
        return Err(format!("a temperature is off by {:e}", worst[0]).into());
    }
    Ok(())
}

/// The whole plate at rank 0, boundary included; `None` elsewhere.
fn collect(world: &Communicator, slab: &Slab) -> Result<Option<Vec<f64>>> {
    if world.rank() != 0 {
        world.send(slab.own(), 0, SLAB)?;
        return Ok(None);
    }
    let mut plate = vec![0.0; WIDTH * WIDTH];
    for rank in 0..world.size() {
        let rows = rows_of(rank, world.size());
        let cells = &mut plate[rows.start * WIDTH..rows.end * WIDTH];
        if rank == 0 {
            cells.copy_from_slice(slab.own());
        } else {
            world.recv(cells, rank, SLAB)?;
        }
    }
    Ok(Some(plate))
}
