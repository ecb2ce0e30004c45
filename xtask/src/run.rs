//! `cargo xtask run`: builds an example and runs it on n ranks of one MPI, or in process.

use crate::Outcome;

/// What to run, and on what.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn main(_arguments: &Arguments) -> Outcome {
    Err("not written yet".into())
}
