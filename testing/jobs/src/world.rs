//! Starts, says what the world is, and ends.

use crate::outcome::Outcome;

pub(crate) fn main() -> Outcome {
    ranks::run(|world| {
        println!(
            "rank {} of {} on {}",
            world.rank(),
            world.size(),
            world.library()
        );
        Ok::<(), ranks::Error>(())
    })?;
    Ok(())
}
