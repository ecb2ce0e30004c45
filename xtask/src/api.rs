//! `cargo xtask api`: lists the public items of all published crates, or checks the lists. A program
//! of its own does, `xtask/api`.

use ranks_harness::workspace;

use crate::Outcome;
use crate::command::ends_as;

/// The action on the lists.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Writes nothing, and fails with the differences if a list is not what would be written.
    #[arg(long)]
    check: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--quiet", "--package", "api", "--"]);
    if arguments.check {
        cargo.arg("--check");
    }
    ends_as(&mut cargo)
}
