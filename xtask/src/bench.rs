//! `cargo xtask bench`: what ranks costs, measured against C on the same library in the same run.

use crate::Outcome;

mod calls;
#[cfg(test)]
mod complete;
mod gates;
mod heap;
mod nas;
mod profile;
mod provenance;
mod report;
mod samples;
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
    /// Times the NAS kernels of the examples and those of the reference in Fortran and C.
    Nas(nas::Arguments),
}

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    match &arguments.what {
        What::Calls(arguments) => calls::main(arguments),
        What::Times(arguments) => times::main(arguments),
        What::Nas(arguments) => nas::main(arguments),
    }
}
