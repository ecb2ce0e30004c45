//! The ranks of an MPI started by Slurm itself.

use std::path::Path;
use std::process::Command;

use super::Installation;
use crate::Family;
use crate::environment::launchers::outside_of_job;
use crate::library::candidates::CHOICE;

/// The paths of Slurm's library for Intel MPI, by the names that distributions give it.
const PMI2: [&str; 4] = [
    "/usr/lib64/libpmi2.so",
    "/usr/lib64/slurm/libpmi2.so",
    "/usr/lib/x86_64-linux-gnu/libpmi2.so.0",
    "/usr/lib/x86_64-linux-gnu/libpmi2.so",
];

impl Installation {
    /// The command by which `srun` starts `ranks` ranks inside an allocation; program and arguments
    /// are to be appended.
    ///
    /// All ranks end when one of them fails. On `hosts` they are in blocks of equally many; no
    /// hosts leave it to Slurm.
    pub fn srun(&self, ranks: usize, hosts: &[String]) -> Command {
        let mut command = outside_of_job("srun");
        command.env(CHOICE, &self.library);
        self.set_parameters(&mut command);
        if self.family == Family::Intel && std::env::var_os("I_MPI_PMI_LIBRARY").is_none() {
            let found = PMI2.into_iter().find(|file| Path::new(file).is_file());
            command.envs(found.map(|file| ("I_MPI_PMI_LIBRARY", file)));
        }
        command
            .arg(format!("--ntasks={ranks}"))
            .arg(format!("--mpi={}", self.family.slurm_plugin()))
            .arg("--kill-on-bad-exit=1");
        // A node has a task at least.
        let hosts = &hosts[..hosts.len().min(ranks)];
        if !hosts.is_empty() {
            // The list alone asks for these nodes at least: ranks come on all others of the
            // allocation, too.
            command.arg(format!("--nodelist={}", hosts.join(",")));
            command.arg(format!("--nodes={}", hosts.len()));
            let each = ranks.div_ceil(hosts.len());
            command.arg(format!("--ntasks-per-node={each}"));
        }
        command.args(cpus_per_task(ranks, |name| std::env::var(name).ok()));
        command
    }
}

/// The CPUs that a batch script was given for each task. Since release 22.05 `srun` gives a task
/// one CPU unless it is told again.
fn cpus_per_task(ranks: usize, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
    let cpus = number("SLURM_CPUS_PER_TASK")?;
    // More ranks than it was asked for with cannot have as many CPUs each.
    let enough = number("SLURM_NTASKS").is_none_or(|tasks| ranks <= tasks);
    enough.then(|| format!("--cpus-per-task={cpus}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_nodes_are_asked_for_than_there_are_tasks() {
        let library = "/m/lib/libmpi.so.12".into();
        let launcher = "/m/bin/mpiexec".into();
        let mpi = Installation::new("m".into(), Family::Mpich, None, library, launcher);
        let of = |ranks| {
            let command = mpi.srun(ranks, &["a".to_owned(), "b".to_owned()]);
            let arguments = command
                .get_args()
                .map(|argument| argument.to_str().unwrap().to_owned());
            arguments
                .filter(|text| text.contains("node"))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(1), ["--nodelist=a", "--nodes=1", "--ntasks-per-node=1"]);
        assert_eq!(
            of(3),
            ["--nodelist=a,b", "--nodes=2", "--ntasks-per-node=2"]
        );
    }

    #[test]
    fn tasks_keep_their_cpus() {
        let of = |ranks, tasks: Option<&str>, cpus: Option<&str>| {
            cpus_per_task(ranks, |name| {
                let value = if name == "SLURM_NTASKS" { tasks } else { cpus };
                value.map(str::to_owned)
            })
        };
        assert_eq!(
            of(4, Some("4"), Some("3")).as_deref(),
            Some("--cpus-per-task=3")
        );
        assert_eq!(of(2, None, Some("3")).as_deref(), Some("--cpus-per-task=3"));
        assert_eq!(of(5, Some("4"), Some("3")), None);
        assert_eq!(of(4, Some("4"), None), None);
        assert_eq!(of(4, Some("4"), Some("many")), None);
    }
}
