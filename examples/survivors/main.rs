//! Heat in a rod that is computed to its end although a rank is killed on the way.
//!
//! Each rank owns a piece of the rod. Every few steps it keeps a copy of it, and one of the piece
//! of the rank before it. When a rank is lost the others go back to the last copies, share the rod
//! among themselves, and go on. The rod starts in its first eigenmode, which the scheme shrinks by
//! a known factor per step: so the result is checked against arithmetic, on every point.
//!
//! ```text
//! mpiexec --with-ft ulfm -n 4 survivors    # Open MPI 5: rank 2 kills itself
//! RANKS_NP=4 survivors                     # elsewhere nobody is lost
//! ```
#![expect(clippy::print_stdout, reason = "a program that reports to its user")]

mod rod;

use std::error::Error;
use std::process::{Command, id};

use ranks::prelude::*;

use rod::{POINTS, Piece, exact};

/// Time steps.
const STEPS: usize = 400;
/// The number of steps between two copies.
const PHASE: usize = 50;
/// In which of them a rank is lost.
const LOSS: usize = 175;
/// The largest error that a temperature may have.
const TOLERANCE: f64 = 1e-12;
/// The tag of a copy on its way to the next rank.
const COPY: i32 = 3;

type Outcome<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A state to go back to: the rank's own piece, and that of the rank before it, after so many
/// steps.
struct Kept {
    step: usize,
    own: Piece,
    before: Piece,
}

fn main() -> Outcome<()> {
    ranks::run(|world| simulate(&world))
}

fn simulate(world: &Communicator) -> Outcome<()> {
    let tolerant = world.fault_tolerance();
    // A thread cannot be killed without its process.
    let victim = (tolerant.is_ok() && world.library() != "in process").then_some(world.size() / 2);
    if let (0, Err(why_not)) = (world.rank(), &tolerant) {
        println!("nobody is lost: {why_not}");
    }
    let mut comm = world.clone();
    let mut kept = keep(&comm, Piece::at_the_start(comm.rank(), comm.size()), 0)?;
    while kept.step < STEPS {
        let victim = victim.filter(|_| comm.size() == world.size());
        let next = phase(&comm, &kept, victim);
        if tolerant.is_err() {
            kept = next?;
        } else if let Some(next) = committed(&comm, next)? {
            kept = next;
        } else {
            (comm, kept) = without_the_lost(&comm, &kept)?;
        }
    }
    report(&comm, world.size(), &kept)
}

/// From one copy to the next. What is kept stays as it is, whatever goes wrong.
fn phase(comm: &Communicator, kept: &Kept, victim: Option<usize>) -> Result<Kept> {
    let mut piece = kept.own.clone();
    for step in kept.step..kept.step + PHASE {
        if step == LOSS && victim == Some(comm.rank()) {
            die();
        }
        piece.step(comm)?;
    }
    keep(comm, piece, kept.step + PHASE)
}

/// The end of this process, with no chance to say goodbye.
fn die() {
    let killed = Command::new("kill")
        .args(["-KILL", &id().to_string()])
        .status();
    panic!("it lives: {killed:?}");
}

/// The new copies, if every rank has made them: nobody may go on with new ones where others have
/// only the old ones.
fn committed(comm: &Communicator, next: Result<Kept>) -> Result<Option<Kept>> {
    let next = match next {
        Err(error) if error.kind().is_loss() => {
            // So that those come too who wait for others than the lost one.
            comm.revoke()?;
            None
        }
        next => Some(next?),
    };
    let agreed = comm.agree_flags(u32::from(next.is_some()))?;
    Ok(next.filter(|_| agreed.flags == 1 && !agreed.news))
}

/// A copy of the piece on this rank and on the next one.
fn keep(comm: &Communicator, own: Piece, step: usize) -> Result<Kept> {
    let (rank, size) = (comm.rank(), comm.size());
    let previous = (rank + size - 1) % size;
    let mut before = Piece::at_the_start(previous, size);
    comm.sendrecv(
        own.cells(),
        (rank + 1) % size,
        COPY,
        before.cells_mut(),
        previous,
        COPY,
    )?;
    Ok(Kept { step, own, before })
}

/// The ranks that are left, with the rod as it was kept, in new pieces.
fn without_the_lost(comm: &Communicator, kept: &Kept) -> Outcome<(Communicator, Kept)> {
    comm.revoke()?;
    let left = comm.shrink()?.quorum()?;
    let (before, after) = (comm.group()?, left.group()?);
    let all: Vec<usize> = (0..comm.size()).collect();
    let new_ranks = before.translate(&all, &after)?;
    let is_lost = |rank: usize| new_ranks[rank].is_none();
    // Each puts what it has where it belongs: its own piece, and that of the rank before it if that
    // one is gone.
    let mut mine = vec![0.0; POINTS];
    let mut times = vec![0_u8; POINTS];
    let previous = (comm.rank() + comm.size() - 1) % comm.size();
    let inherited = is_lost(previous).then_some(&kept.before);
    for piece in inherited.into_iter().chain([&kept.own]) {
        mine[piece.range()].copy_from_slice(piece.cells());
        times[piece.range()].fill(1);
    }
    let (mut rod, mut there) = (vec![0.0; POINTS], vec![0_u8; POINTS]);
    left.allreduce(&mine, &mut rod, Sum)?;
    left.allreduce(&times, &mut there, Sum)?;
    if there.iter().any(|&times| times != 1) {
        return Err("two neighbours are lost, and with them the copy of a piece".into());
    }
    if left.rank() == 0 {
        let lost: Vec<usize> = all.into_iter().filter(|&rank| is_lost(rank)).collect();
        let (left, step) = (left.size(), kept.step);
        println!("lost {lost:?}; {left} ranks go on from step {step}");
    }
    let own = Piece::of(&rod, left.rank(), left.size());
    let kept = keep(&left, own, kept.step)?;
    Ok((left, kept))
}

fn report(comm: &Communicator, began: usize, kept: &Kept) -> Outcome<()> {
    let mut worst = [0.0];
    comm.allreduce(&[kept.own.error_against(exact(STEPS))], &mut worst, Max)?;
    let verified = worst[0] <= TOLERANCE;
    if comm.rank() == 0 {
        println!(
            "result survivors ranks={began} left={} verified={} error={:.1e} library={}",
            comm.size(),
            if verified { "yes" } else { "no" },
            worst[0],
            comm.library()
        );
    }
    if !verified {
        return Err(format!("a temperature is off by {:e}", worst[0]).into());
    }
    Ok(())
}
