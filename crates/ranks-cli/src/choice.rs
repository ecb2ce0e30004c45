//! The choice of the MPI of a job.

use std::path::{Path, PathBuf};

use ranks_launch::{Environment, Family, Ground, Installation, Search};

use crate::probe;

/// The variable by which a user names the MPI.
pub(crate) const CHOICE: &str = "RANKS_MPI";

/// The folder of installations that are not in their usual places, if there is one.
pub(crate) fn provisioned() -> Option<PathBuf> {
    std::env::var_os("RANKS_MPI_DIR")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Every installation that is found.
pub(crate) fn installations() -> Vec<Installation> {
    Installation::all(provisioned().as_deref())
}

/// The form of a job's ranks, and the reason for it.
pub(crate) enum Choice {
    /// Processes over this MPI.
    Mpi(Box<Chosen>),
    /// Threads of one process.
    Threads {
        /// The reason why there is no MPI, unless threads were asked for.
        missing: Option<String>,
    },
}

/// An MPI, and the launcher that starts its ranks.
pub(crate) struct Chosen {
    pub(crate) installation: Installation,
    /// The source that has named the library.
    pub(crate) why: String,
}

impl Choice {
    /// The MPI; `None` for threads.
    pub(crate) fn installation(self) -> Option<Installation> {
        match self {
            Choice::Mpi(chosen) => Some(chosen.installation),
            Choice::Threads { .. } => None,
        }
    }
}

/// The MPI that `name` or else `RANKS_MPI` names, or else the first of [`ranks_launch::candidates`]
/// that opens, which a program that is started alone takes as well; and the launcher that belongs
/// to it. Threads where there is none and `RANKS_BACKEND` does not ask for one, or where `none` was
/// asked for.
///
/// `mpiexec` is the launcher to use instead: it names the MPI where nothing else does.
///
/// # Errors
/// A sentence when an MPI is named that is not there, cannot be opened, or has no launcher, when
/// one is asked for and there is none, or when `mpiexec` is of another family.
pub(crate) fn choose(name: Option<&str>, mpiexec: Option<&Path>) -> Result<Choice, String> {
    let variable = |name: &str| std::env::var(name).ok();
    let asked = match name {
        Some("none") => Some(Ground::InProcess),
        Some(_) => Some(Ground::Mpi),
        None => Ground::asked().map_err(|reason| reason.to_string())?,
    };
    if asked == Some(Ground::InProcess) {
        return match mpiexec {
            Some(file) => Err(format!(
                "without an MPI ranks are threads of one process, which --mpiexec {} does not start",
                file.display()
            )),
            None => Ok(Choice::Threads { missing: None }),
        };
    }
    let launcher = mpiexec.map(launcher).transpose()?;
    let chosen = variable(CHOICE).filter(|chosen| !chosen.trim().is_empty());
    let choice = match (name, chosen.as_deref().map(str::trim), &launcher) {
        (Some(name), ..) => mpi(named(name).map_err(by_option)?, format!("--mpi {name}")),
        (None, Some(name), _) => mpi(named(name)?, format!("{CHOICE}={name}")),
        (None, None, Some(Launcher { of: Some(of), .. })) => {
            mpi(of.clone(), "--mpiexec".to_owned())
        }
        (None, None, _) => first_that_opens()?,
    };
    match (choice, launcher) {
        (Choice::Mpi(chosen), Some(launcher)) => started_by(*chosen, launcher),
        (Choice::Threads { missing }, Some(launcher)) => Err(format!(
            "--mpiexec {}: {}",
            launcher.file.display(),
            missing.unwrap_or_default()
        )),
        (Choice::Threads { missing }, None) if asked == Some(Ground::Mpi) => Err(format!(
            "RANKS_BACKEND=mpi: {}; install one, name one in {CHOICE}, or unset RANKS_BACKEND",
            missing.unwrap_or_default()
        )),
        (choice, None) => Ok(choice),
    }
}

fn mpi(installation: Installation, why: String) -> Choice {
    Choice::Mpi(Box::new(Chosen { installation, why }))
}

/// A launcher that was named or found.
pub(crate) struct Launcher {
    pub(crate) file: PathBuf,
    /// The MPI that it belongs to, where that can be told.
    pub(crate) of: Option<Installation>,
}

/// The launcher that `--mpiexec` names: a path, or a word that is looked for in `PATH`.
fn launcher(name: &Path) -> Result<Launcher, String> {
    let is_word = name.components().count() == 1 && !name.is_absolute();
    let file = if is_word {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    } else {
        std::path::absolute(name).ok().filter(|file| file.is_file())
    };
    let file = file.ok_or_else(|| format!("--mpiexec {}: no such file", name.display()))?;
    let of = Installation::of_launcher(&file);
    Ok(Launcher { file, of })
}

/// The choice with another launcher: of another family it would start as many worlds as ranks.
fn started_by(chosen: Chosen, launcher: Launcher) -> Result<Choice, String> {
    let Chosen { installation, why } = chosen;
    let by_name = || Family::of_launcher(&launcher.file.canonicalize().ok()?);
    let family = launcher.of.as_ref().map(|of| of.family).or_else(by_name);
    if let Some(family) = family.filter(|family| !family.starts(installation.family)) {
        return Err(format!(
            "--mpiexec {} is {family}'s, and the MPI is {} ({}, by {why}), of which each rank would be alone: \
             leave it out for {}, or take --mpi {}",
            launcher.file.display(),
            installation.family,
            installation.library.display(),
            installation.launcher.display(),
            family.word()
        ));
    }
    let installation = Installation {
        launcher: launcher.file,
        ..installation
    };
    Ok(mpi(installation, why))
}

/// The error about `RANKS_MPI` as one about `--mpi`, which has named the same.
fn by_option(error: String) -> String {
    match error.strip_prefix("RANKS_MPI=") {
        Some(rest) => format!("--mpi {rest}"),
        None => error,
    }
}

fn named(name: &str) -> Result<Installation, String> {
    let known = installations();
    if let Some(found) = known.iter().find(|installation| installation.name == name) {
        return Ok(found.clone());
    }
    // Who types a path means the folder that they are in; a variable is read in others as well.
    let is_typed = std::env::var(CHOICE).map_or(true, |chosen| chosen.trim() != name);
    let path = (is_typed && name.contains('/')).then(|| std::path::absolute(name).ok());
    let path = path.flatten().map(|path| path.display().to_string());
    let variables = |variable: &str| match variable {
        CHOICE => Some(path.clone().unwrap_or_else(|| name.to_owned())),
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
                return launcher_of(&mpi).ok_or_else(|| {
                    format!(
                        "{}: give the prefix of an MPI with a bin/mpiexec",
                        without_launcher(&mpi)
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

/// The library that a singleton takes.
fn first_that_opens() -> Result<Choice, String> {
    let candidates =
        ranks_launch::candidates(&Environment::default()).map_err(|error| error.to_string())?;
    let mut opening = candidates
        .into_iter()
        .filter_map(|candidate| Some((probe::mpi(&candidate.file).ok()?, candidate.why)));
    let missing = match opening.next() {
        Some((library, why)) => match launcher_of(&library) {
            Some(installation) => return Ok(mpi(installation, why)),
            None => without_launcher(&library),
        },
        None => "no MPI is found".to_owned(),
    };
    Ok(Choice::Threads {
        missing: Some(missing),
    })
}

/// The library with the launcher that belongs to it.
pub(crate) fn launcher_of(mpi: &probe::Mpi) -> Option<Installation> {
    let installation = Installation::of_library(&mpi.path, provisioned().as_deref())?;
    Some(Installation {
        library: mpi.path.clone(),
        ..installation
    })
}

fn without_launcher(mpi: &probe::Mpi) -> String {
    format!(
        "{} ({}) has no launcher beside it",
        mpi.name,
        mpi.path.display()
    )
}

/// The first `mpiexec` in `PATH`.
pub(crate) fn launcher_in_path() -> Option<Launcher> {
    let (file, of) = Installation::of_first_launcher(&std::env::var_os("PATH")?)?;
    // By the name that it is listed under.
    let known = |of: Installation| {
        Installation::of_library(&of.library, provisioned().as_deref()).unwrap_or(of)
    };
    Some(Launcher {
        file,
        of: of.map(known),
    })
}
