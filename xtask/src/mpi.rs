//! `cargo xtask mpi`: the MPI builds that the tests run on, provisioned below `target/mpi` without
//! root.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ranks_harness::mpi::folder;
use ranks_harness::wheels::{self, AARCH64_PLATFORM, WHEELS, Wheel};
use ranks_launch::Installation;

use crate::Outcome;

mod provision;

/// The action on the MPIs.
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
}

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    match arguments.what.as_ref().unwrap_or(&What::List) {
        What::List => list(),
        What::Install { names } => install(names),
    }
}

fn named(name: &str) -> Result<&'static Wheel, String> {
    wheels::named(name).ok_or_else(|| {
        let known: Vec<&str> = WHEELS.iter().map(|wheel| wheel.folder).collect();
        format!("no MPI is named {name}; known are {}", known.join(", "))
    })
}

/// The MPIs to run on, as [`ranks_harness::mpi::matrix`] has them. With `provision` they are
/// brought first.
///
/// # Errors
/// A sentence when one that was named is not here in the end.
pub(crate) fn matrix(select: &[String], provision: bool) -> Result<Vec<Installation>, String> {
    if provision {
        bring(select);
    }
    ranks_harness::mpi::matrix(select)
}

/// Brings what is known and not here: what `select` names, or the default set. One that cannot be
/// brought is reported on standard error.
pub(crate) fn bring(select: &[String]) {
    let chosen: Vec<&Wheel> = if select.is_empty() {
        by_default()
    } else {
        select
            .iter()
            .filter_map(|name| wheels::named(name))
            .collect()
    };
    each(chosen, &folder(), None);
}

/// Brings each; one that cannot be brought is reported on standard error, and returned.
fn each<'a>(
    wheels: impl IntoIterator<Item = &'a Wheel>,
    folder: &Path,
    platform: Option<&str>,
) -> Vec<&'a str> {
    let is_missing = |wheel: &&Wheel| {
        let brought = provision::provision(wheel, folder, platform);
        let brought =
            brought.inspect_err(|error| eprintln!("{} is missing: {error}", wheel.folder));
        brought.is_err()
    };
    let missing = wheels.into_iter().filter(is_missing);
    missing.map(|wheel| wheel.folder).collect()
}

/// Brings the MPIs for aarch64 into a folder, and those whose launchers start their ranks. One that
/// cannot be brought is reported on standard error.
pub(crate) fn bring_aarch64(folder: &Path) {
    let wheels: Vec<Wheel> = wheels::aarch64().collect();
    let names: Vec<String> = wheels.iter().map(|wheel| wheel.folder.to_owned()).collect();
    bring(&names);
    each(&wheels, folder, Some(AARCH64_PLATFORM));
}

fn by_default() -> Vec<&'static Wheel> {
    WHEELS.iter().filter(|wheel| wheel.by_default).collect()
}

fn list() -> Outcome {
    let here = Installation::all(Some(&folder()));
    for installation in &here {
        println!(
            "{:<22} {}",
            installation.name,
            installation.library.display()
        );
    }
    for wheel in WHEELS {
        let prefix = folder().join(wheel.folder);
        let what = if wheel.runs { "" } else { "headers, " };
        if !prefix.is_dir() {
            println!(
                "{:<22} {what}not provisioned: cargo xtask mpi install {}",
                wheel.folder, wheel.folder
            );
        } else if here
            .iter()
            .all(|installation| installation.name != wheel.folder)
        {
            println!("{:<22} {what}{}", wheel.folder, prefix.display());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Provisions each; one that fails is reported and the rest goes on.
fn install(names: &[String]) -> Outcome {
    let chosen: Vec<&Wheel> = if names.is_empty() {
        by_default()
    } else {
        names
            .iter()
            .map(|name| named(name))
            .collect::<Result<_, _>>()?
    };
    let missing = each(chosen.iter().copied(), &folder(), None);
    for wheel in chosen {
        let prefix = folder().join(wheel.folder);
        if !missing.contains(&wheel.folder) {
            println!("{:<22} {}", wheel.folder, prefix.display());
        }
    }
    if missing.is_empty() {
        Ok(ExitCode::SUCCESS)
    } else {
        Err(format!("could not be provisioned: {}", missing.join(", ")).into())
    }
}

/// The prefix of one for another command, provisioned first unless it is already.
pub(crate) fn provide(name: &str) -> Result<PathBuf, Box<dyn std::error::Error>> {
    Ok(provision::provision(named(name)?, &folder(), None)?)
}

/// A file of a wheel that is no MPI, or how to get it. With `provision` the wheel is brought first.
pub(crate) fn library(wheel: &str, file: &str, provision: bool) -> Result<PathBuf, String> {
    if provision {
        provide(wheel).map_err(|error| error.to_string())?;
    }
    let library = folder().join(wheel).join(file);
    if library.is_file() {
        Ok(library)
    } else {
        Err(format!(
            "{wheel} is not here: cargo xtask mpi install {wheel}"
        ))
    }
}
