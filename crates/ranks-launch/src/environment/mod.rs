//! The environment that this process runs in: under which launcher, as which rank of how many.

use std::fmt;
use std::path::Path;

use self::launchers::{RULES, Rule};
use crate::count::Count;
use crate::family::Family;

pub use ancestors::Ancestor;
pub use launcher::{Launcher, Pmi};
pub(crate) use launchers::Variables;

pub(crate) mod ancestors;
mod launcher;
pub(crate) mod launchers;

/// The facts that the launcher told this process, before any MPI is asked.
///
/// Numbers that the launcher did not give, or gave as something that is no number, are `None`; the
/// latter are listed in [`malformed`](Environment::malformed).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Environment {
    /// The launcher; `None` for a process that was started alone, also inside a batch job.
    pub launcher: Option<Launcher>,
    /// Rank in the job, from 0.
    pub rank: Option<usize>,
    /// Ranks in the job.
    pub size: Option<usize>,
    /// Rank among those of this node, from 0.
    pub local_rank: Option<usize>,
    /// Ranks of the job on this node.
    pub local_size: Option<usize>,
    /// A name of the job, equal on all its ranks, where the launcher gives one.
    pub job: Option<String>,
    /// Variables of the launcher that make no sense.
    pub malformed: Vec<Malformed>,
}

/// A variable whose value makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {variable} is set to {value:?}, which {what}")]
pub struct Malformed {
    /// Its name.
    pub variable: String,
    /// Its value.
    pub value: String,
    /// The reason why it makes no sense.
    pub(crate) what: &'static str,
}

impl Environment {
    /// Looks at the variables of this process, and at its ancestors where the variables of two
    /// launchers are set.
    ///
    /// Both are set when a job is started inside a rank of another job, and for torchrun inside of
    /// one; the nearest launcher is then the right one.
    pub fn detect() -> Environment {
        let read = |name: &str| process_variable(name);
        let nearest = || Ancestor::find().and_then(|ancestor| ancestor.family());
        Self::decide(&read, nearest, |own, outer| {
            ancestors::is_within(Path::new("/proc"), std::process::id(), own, outer)
        })
    }

    /// Detects the environment from any source of variables, such as a recorded one; ancestors are
    /// not looked at.
    pub fn from_vars(vars: impl Fn(&str) -> Option<String>) -> Environment {
        Self::decide(&vars, || None, |_, _| false)
    }

    fn decide(
        read: &dyn Fn(&str) -> Option<String>,
        nearest: impl FnOnce() -> Option<Family>,
        is_within: impl FnOnce(&str, &str) -> bool,
    ) -> Environment {
        let variables = Variables::new(read);
        let applying: Vec<&Rule> = RULES
            .into_iter()
            .filter(|rule| (rule.applies)(&variables))
            .collect();
        let Some(&first) = applying.first() else {
            return Environment::default();
        };
        let families = |rule: &&&Rule| rule.launcher.family();
        let other = applying.iter().find(|rule| {
            families(rule)
                .zip(first.launcher.family())
                .is_some_and(|(one, other)| !one.starts(other))
        });
        let rule = match other {
            Some(&other)
                if nearest().is_some_and(|near| {
                    other.launcher.family().is_some_and(|f| f.starts(near))
                }) =>
            {
                other
            }
            _ => first,
        };
        // Each of torchrun's processes would take itself for the one task that torchrun runs in.
        let torchrun = applying
            .last()
            .filter(|last| last.launcher == Launcher::Torchrun);
        let outer = rule.rank.iter().find(|name| variables.has(name));
        let rule = match (torchrun, outer) {
            (Some(&torchrun), Some(outer))
                if torchrun
                    .job
                    .first()
                    .is_some_and(|own| is_within(own, outer)) =>
            {
                torchrun
            }
            _ => rule,
        };
        Self::read(rule, variables)
    }

    fn read(rule: &Rule, variables: Variables<'_>) -> Environment {
        let size = variables.number(rule.size).filter(|&size| {
            if size == 0 {
                variables.note(
                    rule.size.first().unwrap_or(&"size"),
                    "0",
                    "is no number of ranks",
                );
            }
            size > 0
        });
        let rank = variables
            .number(rule.rank)
            .filter(|&rank| below(&variables, rule.rank, rank, size));
        let local_size = variables.number(rule.local_size).filter(|&size| size > 0);
        let local_rank = variables
            .number(rule.local_rank)
            .filter(|&rank| below(&variables, rule.local_rank, rank, local_size));
        Environment {
            launcher: Some(rule.launcher),
            rank,
            size,
            local_rank,
            local_size,
            job: variables.first(rule.job),
            malformed: variables.into_malformed(),
        }
    }
}

/// Returns `true` if `rank` is below `size`, or the size is not known; notes the variable if it is
/// not below.
fn below(variables: &Variables<'_>, names: &[&str], rank: usize, size: Option<usize>) -> bool {
    let good = size.is_none_or(|size| rank < size);
    if !good {
        variables.note(
            names.first().unwrap_or(&"rank"),
            &rank.to_string(),
            "is not below the number of ranks",
        );
    }
    good
}

/// A variable of this process; bytes that are not text are replaced rather than taken for "not
/// set".
pub(crate) fn process_variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

impl fmt::Display for Environment {
    /// `started by Open MPI's mpiexec as rank 1 of 4`, or `not started by a launcher`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(launcher) = self.launcher else {
            return f.write_str("not started by a launcher");
        };
        write!(f, "started by {launcher}")?;
        match (self.rank, self.size) {
            (Some(rank), Some(size)) => write!(f, " as rank {rank} of {size}"),
            (Some(rank), None) => write!(f, " as rank {rank}"),
            (None, Some(size)) => write!(f, " as one of {}", Count(size, "rank")),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Family;

    fn vars<'a>(list: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| {
            list.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        }
    }

    #[test]
    fn garbage_is_named_and_never_panics() {
        for bad in [
            "-1",
            "x",
            "99999999999999999999999",
            "1e3",
            "٣",
            "0x1",
            "4;rm",
            "1 2",
        ] {
            let list = [
                ("PMI_FD", "8"),
                ("PMI_RANK", bad),
                ("PMI_SIZE", "4"),
                ("MPI_LOCALRANKID", "0"),
            ];
            let environment = Environment::from_vars(vars(&list));
            assert_eq!(environment.launcher, Some(Launcher::Hydra));
            assert_eq!(
                (environment.rank, environment.size),
                (None, Some(4)),
                "{bad}"
            );
            let text = environment.malformed[0].to_string();
            assert!(text.contains("PMI_RANK") && text.contains(bad), "{text}");
        }
    }

    #[test]
    fn a_rank_beyond_the_size_is_no_rank() {
        let list = [
            ("PMI_RANK", "4"),
            ("PMI_SIZE", "4"),
            ("MPI_LOCALRANKID", "0"),
        ];
        let environment = Environment::from_vars(vars(&list));
        assert_eq!((environment.rank, environment.size), (None, Some(4)));
        assert_eq!(environment.malformed.len(), 1);
    }

    #[test]
    fn zero_ranks_are_no_size() {
        let list = [
            ("PMI_RANK", "0"),
            ("PMI_SIZE", "0"),
            ("MPI_LOCALRANKID", "0"),
        ];
        let environment = Environment::from_vars(vars(&list));
        assert_eq!(environment.size, None);
        assert_eq!(environment.malformed.len(), 1);
    }

    #[test]
    fn of_two_launchers_the_nearest_counts() {
        let list = [
            ("OMPI_COMM_WORLD_RANK", "0"),
            ("OMPI_COMM_WORLD_SIZE", "1"),
            ("PMI_RANK", "2"),
            ("PMI_SIZE", "3"),
            ("MPI_LOCALRANKID", "2"),
        ];
        let near = |family| move || family;
        let decide = |family| Environment::decide(&vars(&list), near(family), |_, _| false);
        let hydra = decide(Some(Family::Mpich));
        assert_eq!(
            (hydra.launcher, hydra.rank),
            (Some(Launcher::Hydra), Some(2))
        );
        let orte = decide(Some(Family::OpenMpi));
        assert_eq!((orte.launcher, orte.size), (Some(Launcher::Orte), Some(1)));
        assert_eq!(decide(None), orte);
    }

    /// Each of its processes took itself for rank 0 of 1, which the task is that torchrun runs in.
    #[test]
    fn torchrun_in_a_task_was_taken_for_the_task() {
        let torchrun = [
            ("TORCHELASTIC_RUN_ID", "none"),
            ("RANK", "3"),
            ("WORLD_SIZE", "4"),
        ];
        let tasks: [&[(&str, &str)]; 3] = [
            &[
                ("SLURM_STEP_ID", "0"),
                ("SLURM_PROCID", "0"),
                ("SLURM_NTASKS", "1"),
                ("PMIX_RANK", "0"),
            ],
            &[("FLUX_TASK_RANK", "0"), ("FLUX_JOB_SIZE", "1")],
            &[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")],
        ];
        for task in tasks {
            let list = [task, &torchrun].concat();
            let within = |own: &str, outer: &str| {
                own == "TORCHELASTIC_RUN_ID" && task.iter().any(|(name, _)| *name == outer)
            };
            let environment = Environment::decide(&vars(&list), || None, within);
            assert_eq!(environment.launcher, Some(Launcher::Torchrun));
            assert_eq!((environment.rank, environment.size), (Some(3), Some(4)));
            // A process of torchrun's has started the task.
            let environment = Environment::decide(&vars(&list), || None, |_, _| false);
            assert_eq!((environment.rank, environment.size), (Some(0), Some(1)));
        }
    }

    #[test]
    fn special_steps_of_slurm_are_no_ranks() {
        for (step, launcher) in [
            ("4294967290", None),
            ("4294967291", None),
            ("0", Some(Launcher::Slurm(crate::Pmi::None))),
        ] {
            let list = [
                ("SLURM_STEP_ID", step),
                ("SLURM_PROCID", "0"),
                ("SLURM_NTASKS", "4"),
            ];
            assert_eq!(
                Environment::from_vars(vars(&list)).launcher,
                launcher,
                "{step}"
            );
        }
    }

    #[test]
    fn what_intel_mpi_sets_itself_makes_no_hydra_of_slurm() {
        // Recorded from Intel MPI 2021.19 under `srun --mpi=pmi2`, behind MPI_Init, which sets the
        // last two.
        let list = [
            ("SLURM_STEP_ID", "0"),
            ("SLURM_STEP_NUM_TASKS", "4"),
            ("SLURM_PROCID", "3"),
            ("PMI_FD", "11"),
            ("PMI_JOBID", "30.0"),
            ("PMI_RANK", "3"),
            ("PMI_SIZE", "4"),
            ("MPI_LOCALRANKID", "1"),
            ("MPI_LOCALNRANKS", "2"),
        ];
        let environment = Environment::from_vars(vars(&list));
        assert_eq!(
            environment.launcher,
            Some(Launcher::Slurm(crate::Pmi::Pmi2))
        );
        // mpiexec in an allocation whose default plugin is pmi2: the step is of its daemons, one on
        // each of two nodes.
        let mut inside = list;
        inside[1].1 = "2";
        inside[2].1 = "1";
        let environment = Environment::from_vars(vars(&inside));
        assert_eq!(environment.launcher, Some(Launcher::Hydra));
        assert_eq!(
            (environment.rank, environment.local_rank),
            (Some(3), Some(1))
        );
    }

    #[test]
    fn pals_and_flux_and_plain_protocols() {
        let pals = [
            ("PALS_RANKID", "5"),
            ("PMI_SIZE", "8"),
            ("PALS_LOCAL_RANKID", "1"),
            ("PALS_LOCAL_SIZE", "4"),
            ("PMI_RANK", "5"),
        ];
        let environment = Environment::from_vars(vars(&pals));
        assert_eq!(environment.launcher, Some(Launcher::Pals));
        assert_eq!(
            (environment.rank, environment.size, environment.local_size),
            (Some(5), Some(8), Some(4))
        );
        let flux = [
            ("FLUX_TASK_RANK", "1"),
            ("FLUX_JOB_SIZE", "2"),
            ("PMI_RANK", "1"),
            ("PMI_FD", "3"),
            ("PMI_SIZE", "2"),
        ];
        assert_eq!(
            Environment::from_vars(vars(&flux)).launcher,
            Some(Launcher::Flux)
        );
        let pmix = [("PMIX_RANK", "1"), ("PMIX_NAMESPACE", "x")];
        let environment = Environment::from_vars(vars(&pmix));
        assert_eq!(
            (environment.launcher, environment.size),
            (Some(Launcher::Pmix), None)
        );
        let torchrun = [
            ("TORCHELASTIC_RUN_ID", "none"),
            ("RANK", "3"),
            ("WORLD_SIZE", "4"),
            ("LOCAL_RANK", "1"),
            ("LOCAL_WORLD_SIZE", "2"),
        ];
        let environment = Environment::from_vars(vars(&torchrun));
        assert_eq!(environment.launcher, Some(Launcher::Torchrun));
        assert_eq!(
            (environment.rank, environment.size, environment.local_rank),
            (Some(3), Some(4), Some(1))
        );
        let pmi = [("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("PMI_FD", "3")];
        assert_eq!(
            Environment::from_vars(vars(&pmi)).launcher,
            Some(Launcher::Pmi)
        );
    }

    #[test]
    fn it_says_what_it_is() {
        let list = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")];
        assert_eq!(
            Environment::from_vars(vars(&list)).to_string(),
            "started by Open MPI's mpiexec as rank 1 of 4"
        );
        assert_eq!(
            Environment::from_vars(vars(&[])).to_string(),
            "not started by a launcher"
        );
    }
}
