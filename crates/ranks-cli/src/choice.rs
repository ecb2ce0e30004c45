//! Which MPI a job runs on.

use std::path::{Path, PathBuf};

use ranks_launch::{Allocation, Environment, Family, Installation, Scheduler, Search};

use crate::probe;

/// The variable by which a user names the MPI.
pub(crate) const CHOICE: &str = "RANKS_MPI";

/// The folder of installations that are not in their usual places, if there is one.
pub(crate) fn provisioned() -> Option<PathBuf> {
    std::env::var_os("RANKS_MPI_DIR")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Whether Slurm has given us nodes on which no rank runs yet: `srun` starts them then.
pub(crate) fn in_slurm() -> bool {
    Allocation::detect().is_some_and(|allocation| {
        allocation.scheduler == Scheduler::Slurm && allocation.step.is_none()
    })
}

/// Every installation that is found.
pub(crate) fn installations() -> Vec<Installation> {
    Installation::all(provisioned().as_deref())
}

/// The MPI that `name` or else `RANKS_MPI` names; or else that of the first `mpiexec` in `PATH`, or that of the library which the
/// dynamic linker finds. `None` where there is none, or where `none` was asked for: ranks are threads then.
///
/// # Errors
/// A sentence when one is named that is not there, cannot be opened, or has no launcher.
pub(crate) fn choose(name: Option<&str>) -> Result<Option<Installation>, String> {
    let variable = |name: &str| std::env::var(name).ok();
    let in_process = variable("RANKS_BACKEND").is_some_and(|name| name.trim() == "inprocess");
    if name == Some("none") || name.is_none() && in_process {
        return Ok(None);
    }
    let chosen = variable(CHOICE).filter(|chosen| !chosen.trim().is_empty());
    match name.or(chosen.as_deref().map(str::trim)) {
        Some(name) => named(name).map(Some),
        None => Ok(launcher_in_path()
            .and_then(|(_, installation)| installation)
            .or_else(of_the_linker)),
    }
}

fn named(name: &str) -> Result<Installation, String> {
    let known = installations();
    if let Some(found) = known.iter().find(|installation| installation.name == name) {
        return Ok(found.clone());
    }
    let variables = |variable: &str| match variable {
        CHOICE => Some(name.to_owned()),
        _ => std::env::var(variable).ok(),
    };
    let search = Search {
        variables: &variables,
        ancestor: None,
        preference: ranks_launch::Preference::default(),
        installations: &|| known.clone(),
    };
    let candidates = search
        .candidates(&Environment::default())
        .map_err(|error| error.to_string())?;
    let mut reasons = String::new();
    for candidate in candidates {
        match probe::mpi(&candidate.file) {
            Ok(mpi) => {
                let found = Installation::of_library(&mpi.path, provisioned().as_deref());
                return found.ok_or_else(|| {
                    format!(
                        "{} ({}) has no launcher beside it: give the prefix of an MPI with a bin/mpiexec",
                        mpi.name,
                        mpi.path.display()
                    )
                });
            }
            Err(reason) => {
                reasons.push_str(&format!("\n  {}: {reason}", candidate.file.display()));
            }
        }
    }
    Err(format!(
        "{name}: no MPI of this name can be opened{reasons}"
    ))
}

/// The MPI of the library that the dynamic linker finds.
fn of_the_linker() -> Option<Installation> {
    let candidates = ranks_launch::candidates(&Environment::default()).ok()?;
    let mpi = candidates
        .iter()
        .find_map(|candidate| probe::mpi(&candidate.file).ok())?;
    Installation::of_library(&mpi.path, provisioned().as_deref())
}

/// The first `mpiexec` in `PATH`, with the MPI that it belongs to where that can be told.
pub(crate) fn launcher_in_path() -> Option<(PathBuf, Option<Installation>)> {
    let path = std::env::var_os("PATH")?;
    let file = std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("mpiexec"))
        .find(|file| file.is_file())?;
    let prefix = file.parent().and_then(Path::parent)?;
    let alone = Installation::at(prefix, "mpiexec").into_iter().next();
    let installation = alone.or_else(|| {
        let family = family_of(&file)?;
        let mut of_system = Installation::of_system().into_iter();
        of_system.find(|found| found.family == family)
    });
    Some((file, installation))
}

/// The family of a launcher, by the name of the file behind its links.
fn family_of(launcher: &Path) -> Option<Family> {
    let real = launcher.canonicalize().ok()?;
    let name = real.file_name()?.to_string_lossy().into_owned();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    if has(&["openmpi", "orte", "prte"]) {
        Some(Family::OpenMpi)
    } else if has(&["hydra", "mpich"]) {
        Some(Family::Mpich)
    } else {
        None
    }
}
