//! The MPIs of this machine: which would be used, which else there are, and what was tried in vain.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;

use ranks_launch::{
    ConfigError, Environment, Family, Ground, LinkerScript, LoadedMpi, Starter, Undecided,
};
use ranks_load::Candidate;
use serde::Serialize;

use crate::choice::{self, CHOICE, Choice};
use crate::probe::{self, Mpi};

use super::finding::Finding;

mod diagnosis;

/// The libraries that were found, and how.
#[derive(Debug, Serialize)]
pub(super) struct Libraries {
    /// The facts that the launcher, if any, told this process.
    pub(super) started: String,
    /// The ground on which ranks of a program that is started as this one would stand, or why that
    /// cannot be decided.
    pub(super) ranks: String,
    /// The library and launcher of `ranks run`, or the reason why it starts no ranks.
    pub(super) run: Result<Run, String>,
    /// Set if a program that is started as this one opens no MPI unless it is asked for.
    pub(super) unless_asked: bool,
    /// Set if `RANKS_BACKEND` asks for no MPI.
    in_process: bool,
    /// The reason why a program that is started as this one is refused.
    #[serde(skip)]
    undecided: Option<Undecided>,
    /// The settings that such a program is refused for.
    #[serde(skip)]
    settings: Vec<String>,
    /// The reason why `RANKS_MPI` cannot be followed.
    choice: Option<String>,
    /// The libraries that a program that is started as this one would try, in order.
    pub(super) tried: Vec<Tried>,
    /// Its launcher.
    pub(super) launcher: Option<Launcher>,
    /// The first `mpiexec` in `PATH`.
    pub(super) in_path: Option<Launcher>,
    /// Every MPI with a launcher that is found.
    pub(super) installations: Vec<Installed>,
    pub(super) linker_scripts: Vec<LinkerScript>,
    #[serde(skip)]
    environment: Environment,
    /// Another library that `RANKS_MPI` may have meant.
    #[serde(skip)]
    instead: Option<PathBuf>,
    /// The variable whose path is relative.
    #[serde(skip)]
    relative: Option<&'static str>,
}

/// The default library and launcher of `ranks run`.
#[derive(Debug, Serialize)]
pub(super) struct Run {
    /// The library; none for threads.
    pub(super) library: Option<PathBuf>,
    /// Its launcher.
    pub(super) launcher: Option<PathBuf>,
    /// The source that has named the library, or the reason why there is none.
    pub(super) why: String,
}

impl Run {
    fn look() -> Result<Run, String> {
        Ok(match choice::choose(None, None)? {
            Choice::Mpi(chosen) => Run {
                library: Some(chosen.installation.library),
                launcher: Some(match Starter::detect() {
                    Starter::Srun => "srun".into(),
                    Starter::FluxRun => "flux run".into(),
                    _ => chosen.installation.launcher,
                }),
                why: chosen.why,
            },
            Choice::Threads { missing } => Run {
                library: None,
                launcher: None,
                why: missing.unwrap_or_else(|| "RANKS_BACKEND=inprocess".to_owned()),
            },
        })
    }
}

/// A library that was tried.
#[derive(Debug, Serialize)]
pub(super) struct Tried {
    pub(super) file: PathBuf,
    pub(super) why: String,
    pub(super) answer: Result<Mpi, String>,
}

/// A launcher.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Launcher {
    pub(super) file: PathBuf,
    /// The name of the MPI that it belongs to.
    pub(super) of: Option<String>,
    #[serde(skip)]
    pub(super) family: Option<Family>,
}

/// An MPI with its launcher.
#[derive(Debug, Serialize)]
pub(super) struct Installed {
    pub(super) name: String,
    pub(super) library: PathBuf,
    pub(super) launcher: PathBuf,
    pub(super) answer: Result<Mpi, String>,
}

impl Libraries {
    pub(super) fn look() -> Libraries {
        let environment = Environment::detect();
        let (candidates, choice) = match ranks_launch::candidates(&environment) {
            Ok(candidates) => (candidates, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let instead = match &choice {
            Some(ConfigError::NotALibrary { instead, .. }) => instead.clone(),
            _ => None,
        };
        let relative = match &choice {
            Some(ConfigError::Relative { variable, .. }) => Some(*variable),
            _ => None,
        };
        let installations = choice::installations();
        let mut files: Vec<&Path> = candidates.iter().map(|c| c.file.as_path()).collect();
        files.extend(installations.iter().map(|found| found.library.as_path()));
        let mut answers = ask_all(&files).into_iter();
        let tried: Vec<Tried> = candidates
            .iter()
            .zip(answers.by_ref())
            .map(|(Candidate { file, why }, answer)| Tried {
                file: file.clone(),
                why: why.clone(),
                answer,
            })
            .collect();
        let linker_scripts = scripts(&candidates);
        let installed = installations
            .iter()
            .zip(answers)
            .map(|(found, answer)| Installed {
                name: found.name.clone(),
                library: found.library.clone(),
                launcher: found.launcher.clone(),
                answer,
            });
        let installed = installed.collect();
        let used = tried.iter().find_map(|tried| tried.answer.as_ref().ok());
        let of_used = used.and_then(choice::launcher_of);
        let in_path = choice::launcher_in_path().map(|found| Launcher {
            file: found.file,
            family: found.of.as_ref().map(|of| of.family),
            of: found.of.map(|of| of.name),
        });
        let ground = Ground::of(&environment, None);
        let settings = ranks_comm::backend::refused(*ground.as_ref().unwrap_or(&Ground::Mpi));
        Libraries {
            started: environment.to_string(),
            unless_asked: ground == Ok(Ground::InProcess),
            ranks: match &ground {
                Ok(ground) => ground.to_string(),
                Err(reason) => reason.to_string(),
            },
            settings: settings.iter().map(ToString::to_string).collect(),
            undecided: ground.err(),
            run: Run::look(),
            in_process: Ground::asked() == Ok(Some(Ground::InProcess)),
            choice: choice.map(|error| error.to_string()),
            tried,
            launcher: of_used.map(|of| Launcher {
                file: of.launcher,
                family: Some(of.family),
                of: Some(of.name),
            }),
            in_path,
            installations: installed,
            linker_scripts,
            environment,
            instead,
            relative,
        }
    }

    /// The library that a program which is started as this one would use.
    pub(super) fn used(&self) -> Option<&Mpi> {
        self.used_and_why().map(|(mpi, _)| mpi)
    }

    /// The same with what has named it.
    pub(super) fn used_and_why(&self) -> Option<(&Mpi, &str)> {
        self.tried
            .iter()
            .find_map(|tried| Some((tried.answer.as_ref().ok()?, tried.why.as_str())))
    }

    /// Returns `true` if `ranks run` takes that library too.
    pub(super) fn run_takes_used(&self) -> bool {
        let library = self.run.as_ref().ok().and_then(|run| run.library.as_ref());
        self.used().is_some_and(|used| library == Some(&used.path))
    }

    /// Finds a mismatch of library and launcher before MPI is initialised.
    fn mismatch(&self) -> Option<ranks_launch::Mismatch> {
        let used = self.used()?;
        let library = LoadedMpi {
            family: Family::from_version_text(&used.version),
            name: &used.name,
            file: &used.path,
            pmix: used.may_use_pmix,
            pmi: used.may_use_pmi,
        };
        ranks_launch::check_before_init(&self.environment, &library).err()
    }
}

/// Asks each of these libraries, side by side; the same file once.
fn ask_all(files: &[&Path]) -> Vec<Result<Mpi, String>> {
    let distinct: BTreeSet<&Path> = files.iter().copied().collect();
    thread::scope(|scope| {
        for file in distinct {
            // Where there is no room for threads, they are asked one after the other.
            let ask = thread::Builder::new().spawn_scoped(scope, || probe::mpi(file));
            if ask.is_err() {
                break;
            }
        }
    });
    files.iter().map(|file| probe::mpi(file)).collect()
}

/// Linker scripts in the folders that the dynamic linker or we look into.
fn scripts(candidates: &[Candidate]) -> Vec<LinkerScript> {
    let paths = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&paths).collect();
    folders.extend(
        candidates
            .iter()
            .filter_map(|candidate| candidate.file.parent().map(Path::to_path_buf)),
    );
    let named = std::env::var_os(CHOICE).map(PathBuf::from);
    folders.extend(named.iter().flat_map(|named| {
        let parent = named.parent().map(Path::to_path_buf);
        parent.into_iter().chain([named.clone(), named.join("lib")])
    }));
    let mut seen = BTreeSet::new();
    folders
        .iter()
        .filter(|folder| folder.is_absolute() && seen.insert((*folder).clone()))
        .flat_map(|folder| LinkerScript::in_folder(folder))
        .collect()
}
