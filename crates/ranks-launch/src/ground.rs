//! The kind of the ranks of a program that is started here: the one decision that programs,
//! `ranks run` and `ranks doctor` share.

use std::fmt;

use crate::environment::{Environment, Launcher, process_variable};
use crate::library::candidates::{CHOICE, ConfigError, candidates, chosen_is_no_mpi};

/// The variable by which a user says it.
const VARIABLE: &str = "RANKS_BACKEND";

/// The kind of ranks: processes or threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ground {
    /// An MPI library, each rank a process.
    Mpi,
    /// Threads of one process.
    InProcess,
}

/// The reason why it cannot be decided.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Undecided {
    /// `RANKS_BACKEND` is none of its words.
    #[error("{VARIABLE} is `{0}`; it must be `mpi`, `inprocess` or `auto`")]
    Unknown(String),
    /// Ranks that a launcher has started would each be a world of its own.
    #[error(
        "{started}, but {VARIABLE}=inprocess makes each of these processes a world of its own; unset {VARIABLE}, \
         or start the program without {launcher} and set RANKS_NP to the number of ranks"
    )]
    WorldsApart {
        /// The launcher that started the process, and the rank, in words.
        started: String,
        /// The launcher.
        launcher: Launcher,
    },
    /// Grid Engine has no launcher, and leaves hosts to a program that was started on one of them.
    #[error(
        "Grid Engine has given {hosts} hosts with {slots} slots to this job, but the program was started without a launcher, \
         and would be alone on one of them; start it with mpiexec -n {slots}, or set {VARIABLE}=inprocess"
    )]
    OneHostOfSeveral {
        /// The hosts.
        hosts: usize,
        /// The number of slots to start ranks on.
        slots: usize,
    },
    /// An Indexed Job of Kubernetes tells a pod which it is and not of how many: they may be ranks,
    /// or work on their own.
    #[error(
        "Kubernetes has started this as pod {index} of an Indexed Job (JOB_COMPLETION_INDEX), which does not say of how many, and is no launcher: \
         each pod would be a world of its own; start one job with mpiexec, or set {VARIABLE}=inprocess if each pod is to work on its own"
    )]
    PodOfIndexedJob {
        /// Its index, as the variable has it.
        index: String,
    },
    /// The MPI Operator of Kubernetes has workers ready for what its launcher pod starts.
    #[error(
        "this is the launcher pod of Kubernetes' MPI Operator (K_MPI_JOB_ROLE=launcher), but the program was started without a launcher, \
         and would be alone in this pod; start it with mpiexec, or set {VARIABLE}=inprocess"
    )]
    LauncherPod,
    /// torchrun, or what sets the variables of PyTorch as a PyTorchJob of Kubernetes does, has
    /// started other processes besides; they make no job of an MPI.
    #[error(
        "{started}: that makes no job of an MPI, and each process would be a world of its own; start one job with mpiexec, use NCCL alone over a TcpStore, \
         or set {VARIABLE}=inprocess if each process is to work on its own"
    )]
    OneOfSeveral {
        /// The process and the number of them, in words.
        started: String,
    },
    /// `RANKS_MPI` names an MPI that is not there, and without a launcher ranks would be threads,
    /// on no MPI at all.
    #[error(
        "{reason}\n(not started by a launcher, ranks would be threads of this process, without that MPI: \
         correct or unset {CHOICE}, or set {VARIABLE}=inprocess)"
    )]
    NoSuchMpi {
        /// The reason why it cannot be followed.
        reason: ConfigError,
    },
}

impl Ground {
    /// The kind of ranks that `RANKS_BACKEND` asks for; `None` leaves it to the launcher.
    ///
    /// # Errors
    /// [`Undecided::Unknown`].
    pub fn asked() -> Result<Option<Ground>, Undecided> {
        Self::named(process_variable(VARIABLE).as_deref())
    }

    fn named(word: Option<&str>) -> Result<Option<Ground>, Undecided> {
        match word.map(str::trim) {
            Some("mpi") => Ok(Some(Ground::Mpi)),
            Some("inprocess") => Ok(Some(Ground::InProcess)),
            Some("auto" | "") | None => Ok(None),
            Some(_) => Err(Undecided::Unknown(word.unwrap_or_default().to_owned())),
        }
    }

    /// The kind of ranks that the program asks for, or else `RANKS_BACKEND`; if neither does, MPI
    /// under a launcher, else threads.
    ///
    /// # Errors
    /// [`Undecided`]: n silent worlds of one rank each would be worse than an error, and so would
    /// an MPI that is named and not used.
    pub fn of(environment: &Environment, asked: Option<Ground>) -> Result<Ground, Undecided> {
        let asked = asked.map_or_else(Self::asked, |asked| Ok(Some(asked)))?;
        Self::decide(asked, environment, &process_variable, || {
            let reason = match candidates(environment) {
                Ok(candidates) => chosen_is_no_mpi(&process_variable, &candidates),
                Err(reason) => Some(reason).filter(ConfigError::is_of_choice),
            };
            reason.map(|reason| Undecided::NoSuchMpi { reason })
        })
    }

    /// The kind of ranks by any source of variables, such as a recorded one; no libraries are
    /// looked for.
    ///
    /// # Errors
    /// Those of [`of`](Ground::of).
    pub fn from_vars(vars: impl Fn(&str) -> Option<String>) -> Result<Ground, Undecided> {
        let asked = Self::named(vars(VARIABLE).as_deref())?;
        Self::decide(asked, &Environment::from_vars(&vars), &vars, || None)
    }

    fn decide(
        asked: Option<Ground>,
        environment: &Environment,
        variable: &dyn Fn(&str) -> Option<String>,
        no_such_mpi: impl FnOnce() -> Option<Undecided>,
    ) -> Result<Ground, Undecided> {
        // torchrun starts no job of an MPI: whoever asks for threads in each of its processes means
        // it.
        let launcher = environment
            .launcher
            .filter(|&launcher| launcher != Launcher::Torchrun);
        let alone = || {
            one_host_of_several(variable)
                .or_else(|| pod(variable))
                .or_else(|| one_of_several(environment, variable))
        };
        match (asked, launcher) {
            (Some(Ground::InProcess), Some(launcher)) if environment.size != Some(1) => {
                Err(Undecided::WorldsApart {
                    started: environment.to_string(),
                    launcher,
                })
            }
            (Some(Ground::InProcess), _) => Ok(Ground::InProcess),
            (_, Some(_)) => Ok(Ground::Mpi),
            // An MPI that is not there is told when it is opened.
            (Some(Ground::Mpi), None) => alone().map_or(Ok(Ground::Mpi), Err),
            (None, None) => no_such_mpi()
                .or_else(alone)
                .map_or(Ok(Ground::InProcess), Err),
        }
    }
}

/// The error of a process that was started alone in a job of Grid Engine over several hosts, by the
/// variables that its manual names.
fn one_host_of_several(variable: &dyn Fn(&str) -> Option<String>) -> Option<Undecided> {
    let number = |name: &str| variable(name)?.trim().parse().ok();
    variable("PE_HOSTFILE")?;
    let (hosts, slots) = (number("NHOSTS")?, number("NSLOTS")?);
    (hosts > 1).then_some(Undecided::OneHostOfSeveral { hosts, slots })
}

/// The error of a process that was started alone in a pod of Kubernetes that may be one of several.
fn pod(variable: &dyn Fn(&str) -> Option<String>) -> Option<Undecided> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    if set("K_MPI_JOB_ROLE").is_some_and(|role| role.trim() == "launcher") {
        return Some(Undecided::LauncherPod);
    }
    let index = set("JOB_COMPLETION_INDEX")?;
    Some(Undecided::PodOfIndexedJob { index })
}

/// The error of a process of torchrun, or of one that `torch.distributed` would take for one of
/// several. All three of its variables are asked for: the names of the first two are anybody's.
fn one_of_several(
    environment: &Environment,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Option<Undecided> {
    if environment.launcher == Some(Launcher::Torchrun) {
        let started = environment.to_string();
        return (environment.size != Some(1)).then_some(Undecided::OneOfSeveral { started });
    }
    let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
    variable("MASTER_ADDR").filter(|value| !value.trim().is_empty())?;
    let (rank, size) = (number("RANK")?, number("WORLD_SIZE")?);
    let started = format!(
        "RANK={rank}, WORLD_SIZE={size} and MASTER_ADDR say that this is one of {size} processes, as in a PyTorchJob of Kubernetes"
    );
    (size > 1).then_some(Undecided::OneOfSeveral { started })
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ground::Mpi => "ranks are processes, over MPI",
            Ground::InProcess => "ranks are threads of one process",
        })
    }
}

#[cfg(test)]
mod tests {
    use ranks_load::Candidate;

    use super::*;

    fn under(launcher: Launcher, size: Option<usize>) -> Environment {
        Environment {
            launcher: Some(launcher),
            rank: Some(1),
            size,
            ..Environment::default()
        }
    }

    fn decide(asked: &str, environment: &Environment) -> Result<Ground, Undecided> {
        Ground::decide(Ground::named(Some(asked))?, environment, &|_| None, || None)
    }

    #[test]
    fn threads_under_a_launcher_are_worlds_apart() {
        for size in [Some(2), None] {
            let error = decide("inprocess", &under(Launcher::Hydra, size)).unwrap_err();
            let text = error.to_string();
            for part in [
                "started by MPICH's mpiexec as rank 1",
                "RANKS_BACKEND=inprocess makes each",
                "unset RANKS_BACKEND",
                "without MPICH's mpiexec and set RANKS_NP",
            ] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
        for alone in [
            Environment::default(),
            under(Launcher::Hydra, Some(1)),
            under(Launcher::Torchrun, Some(4)),
        ] {
            assert_eq!(decide("inprocess", &alone), Ok(Ground::InProcess));
        }
    }

    #[test]
    fn a_launcher_decides_where_nothing_is_asked_for() {
        assert_eq!(
            decide("auto", &Environment::default()),
            Ok(Ground::InProcess)
        );
        assert_eq!(decide(" ", &under(Launcher::Jsm, Some(4))), Ok(Ground::Mpi));
        assert_eq!(decide("mpi", &Environment::default()), Ok(Ground::Mpi));
        assert!(matches!(
            decide("tcp", &Environment::default()),
            Err(Undecided::Unknown(word)) if word == "tcp"
        ));
    }

    #[test]
    fn an_mpi_that_is_named_and_not_there_is_not_passed_over() {
        let reason = ConfigError::NotThere {
            value: "/nonexistent".into(),
        };
        let decide = |asked| {
            let reason = reason.clone();
            let not_there = || Some(Undecided::NoSuchMpi { reason });
            Ground::decide(asked, &Environment::default(), &|_| None, not_there)
        };
        let text = decide(None).unwrap_err().to_string();
        for part in [
            "RANKS_MPI=/nonexistent: there is no such",
            "unset RANKS_MPI",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(decide(Some(Ground::InProcess)), Ok(Ground::InProcess));
        assert_eq!(decide(Some(Ground::Mpi)), Ok(Ground::Mpi));
    }

    /// Without a launcher it was passed over, and ranks were threads.
    #[test]
    fn a_library_that_is_no_mpi_was_taken_for_one_that_is_there() {
        let refused = |value: &str| {
            let candidates = [Candidate::new(value, "$RANKS_MPI")];
            let variable = |name: &str| (name == CHOICE).then(|| value.to_owned());
            chosen_is_no_mpi(&variable, &candidates).map(|error| error.to_string())
        };
        let folder = std::env::temp_dir().join(format!("ranks-no-mpi-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let file = folder.join(name);
            std::fs::write(&file, bytes).unwrap();
            file.to_string_lossy().into_owned()
        };
        let long = [b"\x7fELF".as_slice(), &[0; (1 << 16) - 8]].concat();
        let has = write("a.so", &[&long, b"PMPI_Init\0".as_slice()].concat());
        let needs = write("b.so", b"\x7fELF libmpi_of_another.so.1");
        let is_none = write("c.so", &long);
        let told = refused(&is_none);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(
            told.as_ref()
                .is_some_and(|told| told.contains("is a library, but no MPI")),
            "{told:?}"
        );
        for file in [&has, &needs, "libmpi-of-nobody.so.12"] {
            assert_eq!(refused(file), None, "{file}");
        }
    }

    #[test]
    fn alone_on_one_of_the_hosts_that_grid_engine_has_given_is_no_job() {
        let of = |hosts: &'static str| {
            one_host_of_several(&move |name| {
                let value = match name {
                    "PE_HOSTFILE" => "/spool/pe_hostfile",
                    "NHOSTS" => hosts,
                    "NSLOTS" => "8",
                    _ => return None,
                };
                Some(value.to_owned())
            })
        };
        let text = of("2").map(|error| error.to_string()).unwrap_or_default();
        for part in [
            "2 hosts with 8 slots",
            "mpiexec -n 8",
            "RANKS_BACKEND=inprocess",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // Slots of one host are as good for threads.
        assert_eq!(of("1"), None);
        assert_eq!(one_host_of_several(&|_| None), None);
    }
    /// Each was a world of its own, and a success.
    #[test]
    fn pods_of_kubernetes_came_up_as_singletons() {
        let of = |name: &'static str, value: &'static str| {
            let pod = pod(&move |asked| (asked == name).then(|| value.to_owned()));
            pod.map(|error| error.to_string()).unwrap_or_default()
        };
        for (name, value, parts) in [
            (
                "JOB_COMPLETION_INDEX",
                "3",
                ["pod 3 of an Indexed Job", "start one job with mpiexec"],
            ),
            (
                "K_MPI_JOB_ROLE",
                "launcher",
                [
                    "launcher pod of Kubernetes' MPI Operator",
                    "start it with mpiexec",
                ],
            ),
        ] {
            let text = of(name, value);
            for part in parts.into_iter().chain(["RANKS_BACKEND=inprocess"]) {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
        // Processes in a worker were started by the launcher's daemons, which say so, or by
        // somebody who has logged in.
        assert_eq!(of("K_MPI_JOB_ROLE", "worker"), "");
        assert_eq!(of("JOB_COMPLETION_INDEX", " "), "");
    }

    /// Each was a world of its own, and a success. The variables are those that its Training
    /// Operator sets.
    #[test]
    fn pods_of_a_pytorch_job_came_up_as_singletons() {
        let of = |size: &'static str, address: &'static str| {
            one_of_several(&Environment::default(), &move |name| {
                let value = match name {
                    "RANK" => "1",
                    "WORLD_SIZE" => size,
                    "MASTER_ADDR" => address,
                    _ => return None,
                };
                Some(value.to_owned())
            })
        };
        let text = of("4", "job-master-0").map(|error| error.to_string());
        for part in [
            "RANK=1, WORLD_SIZE=4",
            "one of 4 processes",
            "start one job with mpiexec",
            "RANKS_BACKEND=inprocess",
        ] {
            assert!(
                text.as_ref().is_some_and(|text| text.contains(part)),
                "{part}: {text:?}"
            );
        }
        for (size, address) in [("1", "job-master-0"), ("4", " "), ("four", "job-master-0")] {
            assert_eq!(of(size, address), None);
        }
    }
}
