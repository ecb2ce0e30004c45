//! `cargo xtask bench calls`: instructions per call, C against ranks, library by library.

use std::path::{Path, PathBuf};

use ranks_harness::programs;
use ranks_launch::Installation;

use super::gates::Gates;
use super::report::{Column, Report};
use super::{heap, profile, yardstick};
use crate::command::exit;
use crate::{Outcome, lanes, mpi};

/// The choice of what to count on.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Fails if a gate is missed, or if an MPI of the default set is not here.
    #[arg(long)]
    check: bool,
    /// An MPI, as `cargo xtask mpi` lists it; may be given several times.
    #[arg(long = "mpi")]
    mpis: Vec<String>,
}

/// The number of calls of each kind.
const CALLS: u32 = 1000;
/// One of each family, and both libraries of one installation.
const DEFAULT: [&str; 4] = [
    "debian-mpich",
    "debian-openmpi",
    "mpich-5.0.2",
    "mpich-5.0.2-abi",
];
const LEVELS: [&str; 2] = ["single", "multiple"];

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let gates = Gates::read()?;
    profile::valgrind()?;
    let chosen = if arguments.mpis.is_empty() {
        DEFAULT.map(str::to_owned).to_vec()
    } else {
        arguments.mpis.clone()
    };
    println!("building the calls, as for release");
    let programs = build()?;
    let folder = programs
        .calls
        .parent()
        .unwrap_or(Path::new("."))
        .join("bench-calls");

    let mut report = Report::default();
    let found = chosen.iter().map(|name| {
        let found = mpi::matrix(std::slice::from_ref(name), true)?;
        let first = found.into_iter().next();
        first.ok_or_else(|| format!("{name} is not here"))
    });
    let found: Vec<_> = found.collect();
    // Instructions are as many, whoever else runs.
    let counted = lanes::side_by_side(&found, lanes::of(1), |installation| {
        let installation = installation.as_ref().map_err(String::clone)?;
        let folder = folder.join(&installation.name);
        columns(installation, &programs.calls, &folder)
    });
    for (name, counted) in chosen.iter().zip(counted) {
        match counted {
            Ok(columns) => report.columns.extend(columns),
            Err(error) => report.absent.push(format!("{name}: {error}")),
        }
    }
    let mut table = String::new();
    let mut missed = 0;
    if arguments.mpis.is_empty() {
        let counted = heap::count(&programs.heap, CALLS, &folder.join("heap"))?;
        missed += heap::show(&counted, &gates, &mut table)?;
    }
    missed += report.show(&gates, &mut table)?;
    println!("{table}");
    match missed {
        0 => println!("every gate holds, or is known not to"),
        1 => println!("1 gate is missed"),
        _ => println!("{missed} gates are missed"),
    }
    println!(
        "where they go: callgrind_annotate on the profiles in {}",
        folder.display()
    );
    Ok(exit(!arguments.check || missed == 0))
}

/// Counts both programs on one library, at each thread level.
fn columns(installation: &Installation, ours: &Path, folder: &Path) -> Result<Vec<Column>, String> {
    let yardstick = yardstick::build(installation, "benches/calls/c/calls.c", folder)?;
    let mut environment = installation.env.clone();
    environment.push(("RANKS_BACKEND".into(), "mpi".into()));
    environment.push((
        "RANKS_MPI".into(),
        installation.library.display().to_string(),
    ));
    let mut columns = Vec::new();
    for level in LEVELS {
        let count = |program: &Path, language: &str| {
            profile::count(
                program,
                level,
                CALLS,
                &environment,
                &folder.join(level).join(language),
            )
        };
        let (c, ranks) = (count(&yardstick, "c")?, count(ours, "ranks")?);
        if columns.is_empty() {
            println!(
                "{}: C on {}; ranks as {}",
                installation.name, c.library, ranks.library
            );
        }
        columns.push(Column {
            mpi: installation.name.clone(),
            standard: yardstick::is_standard(installation),
            level,
            c: c.counts,
            ranks: ranks.counts,
        });
    }
    Ok(columns)
}

/// The Rust programs.
struct Programs {
    calls: PathBuf,
    heap: PathBuf,
}

/// Builds the Rust programs; returns where they are.
fn build() -> Result<Programs, String> {
    let built = programs::built(&[
        "--quiet",
        "--release",
        "--package=ranks-bench-calls",
        "--bins",
        "--benches",
    ])?;
    let program = |name: &str| {
        let found = built.iter().find(|(built, _)| built == name);
        let found = found.ok_or_else(|| format!("cargo named no program {name} of benches/calls"));
        found.map(|(_, path)| path.clone())
    };
    Ok(Programs {
        calls: program("bench_calls")?,
        heap: program("bench_nvshmem")?,
    })
}
