//! The allocation of a batch system.

use ranks_launch::{Allocation, Environment, Family, Scheduler};
use serde::Serialize;

use crate::probe::Mpi;

use super::finding::Finding;

/// An allocation of a batch system.
#[derive(Debug, Serialize)]
pub(super) struct Batch {
    pub(super) scheduler: String,
    pub(super) job: String,
    pub(super) nodes: Vec<String>,
    pub(super) tasks: Option<usize>,
    pub(super) cpus_per_task: Option<usize>,
    /// The time that is left, in seconds.
    pub(super) seconds_left: Option<u64>,
    /// The command that starts ranks on it.
    pub(super) start: String,
    /// The step of Slurm that this is a task of, as a shell by `srun --pty` is.
    pub(super) step: Option<String>,
    /// A line about a program that is started as this was, where there are other hosts.
    alone: Option<String>,
    malformed: Vec<(String, String)>,
}

impl Batch {
    pub(super) fn look(used: Option<&Mpi>) -> Option<Batch> {
        let found = Allocation::detect()?;
        let family: Option<Family> = used
            .and_then(|mpi| mpi.family.as_deref())
            .and_then(|word| word.parse().ok());
        let plugin = family.map_or("PLUGIN", Family::slurm_plugin);
        let is_slurm = found.scheduler == Scheduler::Slurm;
        let left = found.ends.map(|ends| {
            let left = ends.duration_since(std::time::SystemTime::now());
            left.map_or(0, |left| left.as_secs())
        });
        let overlap = if found.step.is_some() {
            "--overlap "
        } else {
            ""
        };
        let malformed = found.malformed.iter();
        Some(Batch {
            alone: found.alone(&Environment::detect()),
            scheduler: found.scheduler.to_string(),
            start: if is_slurm {
                format!("srun {overlap}--mpi={plugin} PROGRAM")
            } else {
                "mpiexec PROGRAM".to_owned()
            },
            malformed: malformed
                .map(|malformed| (malformed.variable.clone(), malformed.to_string()))
                .collect(),
            job: found.job,
            nodes: found.nodes,
            tasks: found.tasks,
            cpus_per_task: found.cpus_per_task,
            seconds_left: left,
            step: found.step,
        })
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let malformed = self.malformed.iter();
        let malformed =
            malformed.map(|(variable, what)| Finding::note(what, format!("unset {variable}")));
        malformed
            .chain(self.in_step())
            .chain(self.alone())
            .collect()
    }

    fn alone(&self) -> Option<Finding> {
        let alone = self.alone.as_ref()?;
        Some(Finding::note(
            format!("a program that no launcher starts has all its ranks here, {alone}"),
            format!("start one that is to use all of them with `{}`", self.start),
        ))
    }

    fn in_step(&self) -> Option<Finding> {
        let step = self.step.as_ref()?;
        let set = std::env::var_os("SLURM_OVERLAP").is_some();
        (!set).then(|| {
            Finding::note(
                format!(
                    "this is a task of step {step} of Slurm, which holds what it was given: \
                     srun, and an mpiexec that starts its daemons by it, wait until the step ends"
                ),
                "export SLURM_OVERLAP=1 (ranks run sets it)",
            )
        })
    }
}
