//! What a batch system gave us.

use ranks_launch::{Allocation, Family, Scheduler};
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
    /// How many seconds are left.
    pub(super) seconds_left: Option<u64>,
    /// The command that starts ranks on it.
    pub(super) start: String,
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
        let malformed = found.malformed.iter();
        Some(Batch {
            scheduler: if is_slurm { "Slurm" } else { "PBS" }.to_owned(),
            start: if is_slurm {
                format!("srun --mpi={plugin} PROGRAM")
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
        })
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let malformed = self.malformed.iter();
        malformed
            .map(|(variable, what)| Finding::note(what, format!("unset {variable}")))
            .collect()
    }
}
