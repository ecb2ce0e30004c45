//! Errors before there are ranks: of the launcher, of `RANKS_MPI` and `RANKS_BACKEND`, and of jobs
//! that do not start.

use std::path::{Path, PathBuf};
use std::{env, io};

use ranks_launch::{
    ConfigError, Environment, Family, Ground, Job, JobError, Launcher, LoadedMpi, Malformed,
    Mismatch, Pmi, Undecided, check_after_init, check_before_init,
};
use ranks_test::driver::DriverError;

use crate::Text;

pub(crate) fn texts() -> Vec<Text> {
    let mut texts = configured();
    texts.extend(undecided());
    texts.extend(mismatched());
    texts.extend(started());
    texts.push(("ranks_launch::Malformed", malformed().to_string()));
    texts
}

fn configured() -> Vec<Text> {
    let value = || "/opt/mpi".to_owned();
    let errors = [
        (
            "ranks_launch::ConfigError::NotThere",
            ConfigError::NotThere { value: value() },
        ),
        (
            "ranks_launch::ConfigError::NotALibrary",
            ConfigError::NotALibrary {
                value: value(),
                what: "a linker script",
                instead: Some(PathBuf::from("/opt/lib/libmpi.so.12")),
            },
        ),
        (
            "ranks_launch::ConfigError::NotAnMpi",
            ConfigError::NotAnMpi {
                value: value(),
                file: PathBuf::from("/usr/lib/libm.so.6"),
            },
        ),
        (
            "ranks_launch::ConfigError::NoLibraryIn",
            ConfigError::NoLibraryIn {
                value: value(),
                searched: vec!["/opt/mpi/lib".into(), "/opt/mpi/lib64".into()],
            },
        ),
        (
            "ranks_launch::ConfigError::Relative",
            ConfigError::Relative {
                variable: "RANKS_MPI",
                value: "mpi/lib/libmpi.so.12".to_owned(),
            },
        ),
        (
            "ranks_launch::ConfigError::FromHere",
            ConfigError::FromHere {
                value: "libmpi.so.12".to_owned(),
                entry: String::new(),
            },
        ),
        (
            "ranks_launch::ConfigError::Unknown",
            ConfigError::Unknown {
                value: "mpitch".to_owned(),
                names: vec!["mpich-4.0.2".to_owned(), "openmpi-4.1.4".to_owned()],
            },
        ),
    ];
    let here = env::current_dir().unwrap();
    let here = here.to_string_lossy();
    let text = |error: ConfigError| error.to_string().replace(&*here, "/home/me");
    errors.map(|(place, error)| (place, text(error))).into()
}

fn undecided() -> Vec<Text> {
    let decided = |variables: &[(&str, &str)]| {
        let ground = Ground::from_vars(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        ground.unwrap_err().to_string()
    };
    let reason = ConfigError::NotThere {
        value: "/opt/mpi".to_owned(),
    };
    vec![
        (
            "ranks_launch::Undecided::Unknown",
            decided(&[("RANKS_BACKEND", "threads")]),
        ),
        (
            "ranks_launch::Undecided::WorldsApart",
            decided(&[
                ("RANKS_BACKEND", "inprocess"),
                ("OMPI_COMM_WORLD_RANK", "1"),
                ("OMPI_COMM_WORLD_SIZE", "4"),
            ]),
        ),
        (
            "ranks_launch::Undecided::OneHostOfSeveral",
            decided(&[("PE_HOSTFILE", "/f"), ("NHOSTS", "2"), ("NSLOTS", "16")]),
        ),
        (
            "ranks_launch::Undecided::PodOfIndexedJob",
            decided(&[("JOB_COMPLETION_INDEX", "3")]),
        ),
        (
            "ranks_launch::Undecided::LauncherPod",
            decided(&[("K_MPI_JOB_ROLE", "launcher")]),
        ),
        (
            "ranks_launch::Undecided::OneOfSeveral",
            decided(&[("MASTER_ADDR", "node1"), ("RANK", "1"), ("WORLD_SIZE", "4")]),
        ),
        (
            "ranks_launch::Undecided::NoSuchMpi",
            Undecided::NoSuchMpi { reason }.to_string(),
        ),
    ]
}

fn mismatched() -> Vec<Text> {
    let started = |launcher| {
        let mut environment = Environment::default();
        environment.launcher = Some(launcher);
        (environment.rank, environment.size) = (Some(1), Some(4));
        environment
    };
    let library = LoadedMpi {
        family: Some(Family::Mpich),
        name: "MPICH 5.0.2",
        file: Path::new("/opt/mpich/lib/libmpi.so.12"),
        pmix: false,
        pmi: true,
    };
    let text = |outcome: Result<(), Mismatch>| outcome.unwrap_err().to_string();
    let before = |launcher| text(check_before_init(&started(launcher), &library));
    vec![
        ("ranks_launch::Mismatch::Family", before(Launcher::Prrte)),
        (
            "ranks_launch::Mismatch::Protocol",
            before(Launcher::Slurm(Pmi::Pmix)),
        ),
        (
            "ranks_launch::Mismatch::Closed",
            text(Err(Mismatch::Closed {
                started: started(Launcher::Hydra).to_string(),
                number: "7".to_owned(),
            })),
        ),
        (
            "ranks_launch::Mismatch::Size",
            text(check_after_init(&started(Launcher::Hydra), &library, 1)),
        ),
    ]
}

fn started() -> Vec<Text> {
    let not_found = || io::Error::from(io::ErrorKind::NotFound);
    let program = || PathBuf::from("/opt/mpi/bin/mpiexec");
    vec![
        (
            "ranks_launch::JobError::NoRanks",
            Job::new("heat").ranks(0).run().unwrap_err().to_string(),
        ),
        (
            "ranks_launch::JobError::Separator",
            JobError::Separator.to_string(),
        ),
        (
            "ranks_launch::JobError::Start",
            JobError::Start {
                program: program(),
                source: not_found(),
            }
            .to_string(),
        ),
        (
            "ranks_test::driver::DriverError::Binary",
            DriverError::Binary {
                path: PathBuf::from("target/debug/deps/heat-1f"),
                why: "it lists no tests".to_owned(),
            }
            .to_string(),
        ),
        (
            "ranks_test::driver::DriverError::Launcher",
            DriverError::Launcher {
                program: program(),
                why: not_found(),
            }
            .to_string(),
        ),
        (
            "ranks_test::driver::DriverError::Records",
            DriverError::Records {
                folder: PathBuf::from("/scratch/ranks-test-7"),
                why: not_found(),
            }
            .to_string(),
        ),
    ]
}

fn malformed() -> Malformed {
    let environment = Environment::from_vars(|name| match name {
        "OMPI_COMM_WORLD_RANK" => Some("4".to_owned()),
        "OMPI_COMM_WORLD_SIZE" => Some("4".to_owned()),
        _ => None,
    });
    environment.malformed.into_iter().next().unwrap()
}
