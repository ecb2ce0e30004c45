//! Checks that the MPI that was opened belongs to the launcher that started the process.
//!
//! Most wrong pairs start n worlds of one rank each and report success, some abort inside of
//! `MPI_Init`. Both are turned into an error here, the former before `MPI_Init` where the launcher
//! binds to a family.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::environment::ancestors::VariablesOf;
use crate::environment::{Environment, Launcher, Pmi, process_variable};
use crate::family::Family;
use crate::machine::files;

/// The variable that names the library by which Intel MPI finds its ranks.
const INTEL_PMI: &str = "I_MPI_PMI_LIBRARY";

/// The MPI that was opened, as far as this question needs it.
#[derive(Debug, Clone, Copy)]
pub struct LoadedMpi<'a> {
    /// Its family, if known, as from [`Family::from_version_text`].
    pub family: Option<Family>,
    /// Its name for messages: `MPICH 5.0.2`.
    pub name: &'a str,
    /// The file that was opened.
    pub file: &'a Path,
    /// `true` if it may understand PMIx: `false` only where it is known that it does not.
    pub pmix: bool,
    /// `true` if it may understand PMI-1 or PMI-2: `false` only where it is known that it does not.
    pub pmi: bool,
}

impl LoadedMpi<'_> {
    fn text(&self) -> String {
        let file = self
            .file
            .file_name()
            .map(PathBuf::from)
            .unwrap_or_else(|| self.file.to_path_buf());
        format!("{} ({})", self.name, file.display())
    }
}

/// The launcher and the library do not make one job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// The launcher starts another family.
    #[error("{started}, but the MPI loaded is {library}; set RANKS_MPI={}", word.word())]
    Family {
        /// The launcher that started the process, and the rank, in words.
        started: String,
        /// The library that was loaded.
        library: String,
        /// The family that the launcher belongs to.
        word: Family,
    },
    /// The library does not understand the protocol that the launcher was told to offer.
    #[error("{started}, but {library} does not understand {protocol}; {advice}")]
    Protocol {
        /// The launcher that started the process, and the rank, in words.
        started: String,
        /// The library that was loaded.
        library: String,
        /// The protocol that it does not understand.
        protocol: &'static str,
        /// The change to make.
        advice: &'static str,
    },
    /// The connection to the launcher is none of this process.
    #[error(
        "{started}, but PMI_FD={number}, the connection to it, is no open file of this process; \
         let what lies between them hand on open files, or, if no launcher has started this process, unset PMI_FD, PMI_RANK and PMI_SIZE"
    )]
    Closed {
        /// The launcher that started the process, and the rank, in words.
        started: String,
        /// The value of the variable.
        number: String,
    },
    /// The library sees another number of ranks than the launcher started.
    #[error(
        "{started}, but {library} sees {world} of them: the library and the launcher do not understand each other; {advice}"
    )]
    Size {
        /// The launcher that started the process, and the rank, in words.
        started: String,
        /// The library that was loaded.
        library: String,
        /// The size of `MPI_COMM_WORLD`.
        world: usize,
        /// The change to make.
        advice: &'static str,
    },
}

/// Checks, before `MPI_Init`, that the library is of the family that the launcher starts, and that
/// it understands the launcher.
///
/// A launcher that binds to no family, no launcher, and a library of unknown family pass, as does
/// what a library may understand; [`check_after_init`] tells then.
///
/// # Errors
/// [`Mismatch::Family`] and [`Mismatch::Protocol`], naming both sides and what to change;
/// [`Mismatch::Closed`] where a library would abort since its launcher cannot be reached.
pub fn check_before_init(
    environment: &Environment,
    library: &LoadedMpi<'_>,
) -> Result<(), Mismatch> {
    let launcher = environment.launcher.and_then(Launcher::family);
    match (launcher, library.family) {
        (Some(launcher), Some(family)) if !launcher.starts(family) => Err(Mismatch::Family {
            started: environment.to_string(),
            library: library.text(),
            word: launcher,
        }),
        _ => understood(environment, library)
            .and_then(|()| reached(environment, &process_variable, Path::new("/proc/self/fd"))),
    }
}

/// Checks that the connection to the launcher of MPICH or Intel MPI is among the open files, which
/// a container or a shell that was left may not have. The library aborts in `MPI_Init` without it.
fn reached(
    environment: &Environment,
    variable: &dyn Fn(&str) -> Option<String>,
    open: &Path,
) -> Result<(), Mismatch> {
    if !matches!(
        environment.launcher,
        Some(Launcher::Hydra | Launcher::IntelHydra | Launcher::Pmi)
    ) {
        return Ok(());
    }
    let number = variable("PMI_FD").filter(|number| !number.is_empty());
    match number {
        Some(number) if open.is_dir() && fs::symlink_metadata(open.join(&number)).is_err() => {
            Err(Mismatch::Closed {
                started: environment.to_string(),
                number,
            })
        }
        _ => Ok(()),
    }
}

/// Checks that the library understands the launcher's protocol. One that does not aborts in
/// `MPI_Init`, with a text that does not say what to do, or its ranks are alone.
fn understood(environment: &Environment, library: &LoadedMpi<'_>) -> Result<(), Mismatch> {
    let (launcher, protocol) = match environment.launcher {
        Some(launcher @ (Launcher::Slurm(Pmi::Pmix) | Launcher::Pmix | Launcher::Jsm))
            if !library.pmix =>
        {
            (launcher, "PMIx")
        }
        Some(launcher @ Launcher::Slurm(Pmi::Pmi2)) if !library.pmi => (launcher, "PMI-2"),
        Some(launcher @ (Launcher::Pmi | Launcher::MpirunRsh)) if !library.pmi => (launcher, "PMI"),
        Some(launcher @ Launcher::Slurm(Pmi::None)) if !library.pmi => {
            (launcher, "a launcher without PMIx")
        }
        _ => return Ok(()),
    };
    Err(Mismatch::Protocol {
        started: environment.to_string(),
        library: library.text(),
        protocol,
        advice: advice(launcher, library.family),
    })
}

/// Checks, after `MPI_Init`, that `MPI_COMM_WORLD` is as large as the launcher said.
///
/// Without a launcher everything passes. Where it does not tell the size, as those that offer PMIx
/// alone, its rank must be one of the world, and a world of one is believed where no other rank of
/// the job is on this node, of Intel MPI only where it was told of a PMIx besides.
///
/// # Errors
/// [`Mismatch::Size`], naming both sides and what to change.
pub fn check_after_init(
    environment: &Environment,
    library: &LoadedMpi<'_>,
    world: usize,
) -> Result<(), Mismatch> {
    let Some(launcher) = environment.launcher else {
        return Ok(());
    };
    let fits = match (environment.size, environment.rank) {
        (Some(size), _) => size == world,
        (None, Some(rank)) if rank >= world => false,
        (None, _) if world > 1 => true,
        (None, rank) => {
            let is_told = || process_variable(INTEL_PMI).is_some();
            let intel = library.family == Some(Family::Intel);
            (!intel || is_told()) && !has_peers(environment.job.as_deref(), rank)
        }
    };
    if fits {
        return Ok(());
    }
    Err(Mismatch::Size {
        started: environment.to_string(),
        library: library.text(),
        world,
        advice: advice(launcher, library.family),
    })
}

/// Time in which other ranks of the job are seen, if there are any. One may not have started yet,
/// or have ended already, and then the launcher ends this one.
const PEERS_SHOW: Duration = Duration::from_secs(1);

/// Returns `true` if another rank of the job, by the name that PMIx gives it, runs on this node.
/// Where the system does not tell, there is none.
fn has_peers(job: Option<&str>, rank: Option<usize>) -> bool {
    let (Some(job), Some(rank)) = (job, rank) else {
        return false;
    };
    let rank = rank.to_string();
    // Another user's processes are none of this job.
    let is_peer = |folder: PathBuf| {
        VariablesOf::process(&folder).is_some_and(|variables| {
            let other = variables.get("PMIX_RANK");
            variables.get("PMIX_NAMESPACE") == Some(job.as_bytes())
                && other.is_some_and(|other| other != rank.as_bytes())
        })
    };
    let begun = Instant::now();
    loop {
        if files::entries(Path::new("/proc")).into_iter().any(is_peer) {
            return true;
        }
        if begun.elapsed() > PEERS_SHOW {
            return false;
        }
        thread::sleep(PEERS_SHOW / 20);
    }
}

fn advice(launcher: Launcher, family: Option<Family>) -> &'static str {
    match (launcher, family) {
        (Launcher::Slurm(Pmi::Pmix), Some(Family::OpenMpi)) => {
            "this Open MPI does not understand the PMIx of this Slurm: start it with its own mpiexec inside salloc"
        }
        (Launcher::Slurm(_), Some(Family::OpenMpi)) => {
            "use srun --mpi=pmix, or its own mpiexec inside salloc"
        }
        (Launcher::Slurm(_), Some(Family::Cray)) => "use srun --mpi=cray_shasta",
        (Launcher::Slurm(_), Some(Family::Mpich | Family::Intel)) => {
            "use srun --mpi=pmi2 (Intel MPI: and set I_MPI_PMI_LIBRARY to Slurm's libpmi2.so), or its own mpiexec inside salloc"
        }
        (Launcher::Slurm(_), None) => {
            "use another srun --mpi=…; srun --mpi=list shows which there are"
        }
        (Launcher::Pmix | Launcher::Jsm, Some(Family::Intel)) => {
            "set I_MPI_PMI_LIBRARY to the libpmix.so.2 of the launcher, start the program with Intel MPI's own mpiexec, or set RANKS_MPI=openmpi"
        }
        (Launcher::Pmix | Launcher::Jsm, _) => {
            "start the program with the mpiexec of that MPI, or set RANKS_MPI to an MPI that understands PMIx, such as RANKS_MPI=openmpi"
        }
        _ => {
            "start the program with the mpiexec of that MPI, or set RANKS_MPI to the MPI of this launcher"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(launcher: Launcher) -> Environment {
        Environment {
            launcher: Some(launcher),
            rank: Some(1),
            size: Some(4),
            ..Environment::default()
        }
    }

    fn mpich() -> LoadedMpi<'static> {
        LoadedMpi {
            family: Some(Family::Mpich),
            name: "MPICH 5.0.2",
            file: Path::new("/opt/m/lib/libmpi.so.12"),
            pmix: true,
            pmi: true,
        }
    }

    /// MPICH aborted with the number of a file, and not with what to do.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_launcher_that_cannot_be_reached_is_told_before_init() {
        let reached = |launcher, number: &str| {
            let variable = |name: &str| (name == "PMI_FD").then(|| number.to_owned());
            super::reached(
                &environment(launcher),
                &variable,
                Path::new("/proc/self/fd"),
            )
        };
        for number in ["99999", "x"] {
            let error = reached(Launcher::Hydra, number).unwrap_err();
            let text = format!("as rank 1 of 4, but PMI_FD={number}, the connection to it,");
            assert!(error.to_string().contains(&text), "{error}");
        }
        for (launcher, number) in [
            (Launcher::Hydra, "2"),
            (Launcher::Hydra, ""),
            (Launcher::Prrte, "99999"),
        ] {
            assert_eq!(reached(launcher, number), Ok(()), "{launcher}: {number}");
        }
    }

    #[test]
    fn both_sides_are_named_before_init() {
        let error = check_before_init(&environment(Launcher::Prrte), &mpich()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "started by Open MPI's mpiexec as rank 1 of 4, but the MPI loaded is MPICH 5.0.2 (libmpi.so.12); \
             set RANKS_MPI=openmpi"
        );
    }

    #[test]
    fn any_hydra_starts_any_descendant_of_mpich() {
        for launcher in [
            Launcher::Hydra,
            Launcher::IntelHydra,
            Launcher::Slurm(Pmi::Pmi2),
            Launcher::Pals,
        ] {
            for family in [
                Some(Family::Mpich),
                Some(Family::Intel),
                Some(Family::Cray),
                None,
            ] {
                let library = LoadedMpi { family, ..mpich() };
                assert_eq!(check_before_init(&environment(launcher), &library), Ok(()));
            }
        }
        let open_mpi = LoadedMpi {
            family: Some(Family::OpenMpi),
            name: "Open MPI 5.0.11",
            ..mpich()
        };
        for launcher in [Launcher::Hydra, Launcher::IntelHydra] {
            assert!(check_before_init(&environment(launcher), &open_mpi).is_err());
        }
        assert_eq!(
            check_before_init(&Environment::default(), &open_mpi),
            Ok(())
        );
    }

    #[test]
    fn what_a_library_does_not_understand_is_known_before_init() {
        let mpich = LoadedMpi {
            pmix: false,
            ..mpich()
        };
        let open_mpi = LoadedMpi {
            family: Some(Family::OpenMpi),
            name: "Open MPI 5.0.11",
            pmi: false,
            ..self::mpich()
        };
        for (library, pmi, text) in [
            (
                mpich,
                Pmi::Pmix,
                "MPICH 5.0.2 (libmpi.so.12) does not understand PMIx; use srun --mpi=pmi2 ",
            ),
            (
                open_mpi,
                Pmi::Pmi2,
                "Open MPI 5.0.11 (libmpi.so.12) does not understand PMI-2; use srun --mpi=pmix, ",
            ),
            (
                open_mpi,
                Pmi::None,
                "does not understand a launcher without PMIx; use srun --mpi=pmix, ",
            ),
        ] {
            let environment = environment(Launcher::Slurm(pmi));
            let error = check_before_init(&environment, &library).unwrap_err();
            let error = error.to_string();
            assert!(
                error.starts_with("started by srun (") && error.contains(text),
                "{error}"
            );
        }
        for (library, pmi) in [
            (mpich, Pmi::Pmi2),
            // One that was built with Slurm's PMI-1 finds its ranks in the variables of Slurm
            // alone.
            (mpich, Pmi::None),
            (open_mpi, Pmi::Pmix),
            (self::mpich(), Pmi::Pmix),
        ] {
            let environment = environment(Launcher::Slurm(pmi));
            assert_eq!(check_before_init(&environment, &library), Ok(()), "{pmi:?}");
        }
        let by_mpiexec = environment(Launcher::Prrte);
        assert_eq!(check_before_init(&by_mpiexec, &open_mpi), Ok(()));
    }

    #[test]
    fn singletons_are_found_after_init() {
        let environment = environment(Launcher::Slurm(Pmi::Pmix));
        let error = check_after_init(&environment, &mpich(), 1)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("as rank 1 of 4, but MPICH 5.0.2 (libmpi.so.12) sees 1"),
            "{error}"
        );
        assert!(error.contains("--mpi=pmi2"), "{error}");
        assert_eq!(check_after_init(&environment, &mpich(), 4), Ok(()));
        assert_eq!(
            check_after_init(&Environment::default(), &mpich(), 1),
            Ok(())
        );
    }

    /// A launcher that offers PMIx, and does not say how many ranks it has started.
    fn by_prterun(rank: usize) -> Environment {
        Environment {
            launcher: Some(Launcher::Pmix),
            rank: Some(rank),
            ..Environment::default()
        }
    }

    #[test]
    fn lone_ranks_of_a_launcher_that_tells_no_size_are_found() {
        let without = LoadedMpi {
            pmix: false,
            ..mpich()
        };
        let error = check_before_init(&by_prterun(0), &without).unwrap_err();
        let error = error.to_string();
        for part in [
            "started by a launcher that offers PMIx as rank 0, but MPICH 5.0.2 (libmpi.so.12) does not understand PMIx",
            "set RANKS_MPI to an MPI that understands PMIx",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
        // One that may understand it is asked afterwards: rank 1 is in no world of 1.
        assert_eq!(check_before_init(&by_prterun(1), &mpich()), Ok(()));
        assert!(check_after_init(&by_prterun(1), &mpich(), 1).is_err());
        assert_eq!(check_after_init(&by_prterun(1), &mpich(), 2), Ok(()));
        assert_eq!(check_after_init(&by_prterun(0), &mpich(), 1), Ok(()));
    }

    #[test]
    fn intel_mpi_alone_under_pmix_is_told_what_to_set() {
        let intel = LoadedMpi {
            family: Some(Family::Intel),
            name: "Intel MPI 2021.19.0",
            ..mpich()
        };
        let error = check_after_init(&by_prterun(0), &intel, 1).unwrap_err();
        let error = error.to_string();
        for part in [
            "Intel MPI 2021.19.0 (libmpi.so.12) sees 1",
            "I_MPI_PMI_LIBRARY",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert_eq!(check_after_init(&by_prterun(0), &intel, 2), Ok(()));
    }
}
