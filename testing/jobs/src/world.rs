//! Starts, says what the world is, and ends.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::outcome::Outcome;

pub(crate) fn main() -> Outcome {
    // The lowest rank of this process: its only one over MPI, 0 in process.
    let lowest = AtomicUsize::new(usize::MAX);
    let rank = ranks::run(|world| {
        println!(
            "rank {} of {} on {}",
            world.rank(),
            world.size(),
            world.library()
        );
        lowest.fetch_min(world.rank(), Ordering::Relaxed);
        Ok::<_, ranks::Error>(world.rank())
    })?;
    if rank != lowest.into_inner() {
        return Err(format!("the value of rank {rank} came back").into());
    }
    Ok(())
}
