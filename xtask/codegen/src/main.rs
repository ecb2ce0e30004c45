//! Writes the generated part of `ranks-mpi-sys` from the headers of MPI libraries, and checks it
//! against others; and those of `ranks-nccl-sys` from NCCL's and of `ranks-nvshmem-sys` from
//! NVSHMEM's.
//!
//! Called by `cargo xtask codegen` and `cargo xtask abi-check`, which provision headers and
//! libclang.

#![allow(clippy::print_stdout, reason = "a command talks to its user")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};

mod abi_check;
mod called;
mod classes;
mod columns;
mod constants;
mod cuda_stubs;
mod defines;
mod families;
mod functions;
mod groups;
mod headers;
mod kinds;
mod layout;
mod library;
mod model;
mod nccl;
mod nvshmem;
mod output;
mod probe;
mod table;
mod types;

const USAGE: &str =
    "usage: codegen write <target/mpi> <generated folder of MPI> <that of NCCL> <that of NVSHMEM>
       codegen check <target/mpi> <generated folder of MPI> <that of NCCL> <that of NVSHMEM>
       codegen abi-check <generated folder> <header>...";

/// The files for MPI, those for NCCL, and those for NVSHMEM.
fn generated(headers: &Path) -> Result<[Vec<output::File>; 3]> {
    let wheels = headers;
    let headers = headers::Headers::read(headers)?;
    let model = model::Model::new(&headers)?;
    let mut files = functions::files(&headers)?;
    files.push(types::file(&headers.canonical)?);
    files.push(constants::file(&model)?);
    files.push(columns::file(&model, headers.canonical.functions.len()));
    files.push(output::root());
    Ok([
        output::formatted(files)?,
        output::formatted(nccl::files(wheels)?)?,
        output::formatted(nvshmem::files(wheels)?)?,
    ])
}

fn run() -> Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [what @ ("write" | "check"), headers, folders @ ..] if folders.len() == 3 => {
            let mut all = ExitCode::SUCCESS;
            for (files, folder) in generated(Path::new(headers))?.iter().zip(folders) {
                let folder = Path::new(folder);
                let done = if *what == "write" {
                    output::write(files, folder)?
                } else {
                    output::compare(files, folder)?
                };
                if done != ExitCode::SUCCESS {
                    all = done;
                }
            }
            Ok(all)
        }
        ["abi-check", folder, headers @ ..] => {
            let headers: Vec<PathBuf> = headers.iter().map(PathBuf::from).collect();
            abi_check::check(Path::new(folder), &headers)
        }
        _ => bail!(USAGE),
    }
}

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
