//! `cargo xtask mpi`: the MPI builds that the tests run on, provisioned below `target/mpi` without root.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::{Outcome, workspace};

mod provision;
mod wheels;

use wheels::{WHEELS, Wheel};

/// What to do with the MPIs.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(clap::Subcommand)]
enum What {
    /// Shows which are known, which are provisioned and where.
    List,
    /// Downloads and unpacks the named ones, or the default set.
    Install {
        /// Names as `list` shows them.
        names: Vec<String>,
    },
    /// Prints the prefix of one.
    Path {
        /// A name as `list` shows it.
        name: String,
    },
}

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    match arguments.what.as_ref().unwrap_or(&What::List) {
        What::List => list(),
        What::Install { names } => install(names),
        What::Path { name } => path(name),
    }
}

/// Where the provisioned MPIs lie: always in the workspace, so that every target folder shares them.
pub(crate) fn folder() -> PathBuf {
    workspace::root().join("target").join("mpi")
}

fn named(name: &str) -> Result<&'static Wheel, String> {
    wheels::named(name).ok_or_else(|| {
        let known: Vec<&str> = WHEELS.iter().map(|wheel| wheel.folder).collect();
        format!("no MPI is named {name}; known are {}", known.join(", "))
    })
}

fn list() -> Outcome {
    for wheel in WHEELS {
        let prefix = folder().join(wheel.folder);
        let state = match (prefix.is_dir(), wheel.runs) {
            (true, _) => prefix.display().to_string(),
            (false, true) => format!("not provisioned: cargo xtask mpi install {}", wheel.folder),
            (false, false) => format!("headers, not provisioned: cargo xtask mpi install {}", wheel.folder),
        };
        println!("{:<22} {state}", wheel.folder);
    }
    Ok(ExitCode::SUCCESS)
}

/// Provisions each; one that fails is reported and the rest goes on.
fn install(names: &[String]) -> Outcome {
    let chosen: Vec<&Wheel> = if names.is_empty() {
        WHEELS.iter().filter(|wheel| wheel.by_default).collect()
    } else {
        names.iter().map(|name| named(name)).collect::<Result<_, _>>()?
    };
    let mut missing = Vec::new();
    for wheel in chosen {
        match provision::provision(wheel, &folder()) {
            Ok(prefix) => println!("{:<22} {}", wheel.folder, prefix.display()),
            Err(error) => {
                eprintln!("{:<22} missing: {error}", wheel.folder);
                missing.push(wheel.folder);
            }
        }
    }
    if missing.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(format!("could not be provisioned: {}", missing.join(", ")).into()) }
}

fn path(name: &str) -> Outcome {
    let prefix = folder().join(named(name)?.folder);
    if !prefix.is_dir() {
        return Err(format!("{name} is not provisioned; cargo xtask mpi install {name}").into());
    }
    println!("{}", prefix.display());
    Ok(ExitCode::SUCCESS)
}
