//! `cargo xtask bench`: what ranks costs, measured against C on the same library in the same run.

use crate::Outcome;

mod calls;
#[cfg(test)]
mod complete;
mod gates;
mod heap;
mod profile;
mod report;
mod times;
mod yardstick;

/// The choice of what to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Counts instructions per call under callgrind, in C and in ranks, on a job of one rank.
    Calls(calls::Arguments),
    /// Times messages and collectives of ranks, of C, of rsmpi, ferrompi and mpi4py on two ranks,
    /// and those in process beside channels and rayon.
    Times(times::Arguments),
}

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    match &arguments.what {
        What::Calls(arguments) => calls::main(arguments),
        What::Times(arguments) => times::main(arguments),
    }
}
