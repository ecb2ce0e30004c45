//! The command that starts the ranks of a job.

use std::process::Command;

use crate::allocation::{Allocation, Scheduler};
use crate::environment::process_variable;
use crate::family::Family;
use crate::library::Installation;

use super::output::Labels;

/// The starter of the ranks of a job: the launcher of the MPI, or the batch system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Starter {
    /// The launcher that belongs to the MPI.
    #[default]
    Launcher,
    /// Slurm: `srun`.
    Srun,
    /// Flux: `flux run`.
    FluxRun,
}

impl Starter {
    /// The one for jobs that this process starts: the batch system itself in an allocation of Slurm
    /// or Flux in which no rank runs yet, else the launcher.
    pub fn detect() -> Starter {
        Self::from_vars(process_variable)
    }

    /// Detects it from any source of variables, such as a recorded environment.
    pub fn from_vars(vars: impl Fn(&str) -> Option<String>) -> Starter {
        let slurm = |given: &Allocation| given.scheduler == Scheduler::Slurm;
        let given = Allocation::from_vars(&vars, |_| None).filter(slurm);
        let set = |name: &str| vars(name).is_some_and(|value| !value.is_empty());
        match given {
            Some(given) if given.step.is_none() => Starter::Srun,
            // A task of `flux run` has the first of them, too.
            None if set("FLUX_URI") && !set("FLUX_TASK_RANK") => Starter::FluxRun,
            _ => Starter::Launcher,
        }
    }

    /// The hosts to name to it, so that a job has all nodes of its allocation; none where it finds
    /// them by itself.
    ///
    /// Of PBS and LSF launchers know the nodes if they were built for that, and else start all
    /// ranks on this one. `flux run` fills one node after the other.
    pub fn hosts(self, family: Family) -> Vec<String> {
        let nodes = match self {
            Starter::Srun => return Vec::new(),
            Starter::FluxRun => of_flux(),
            Starter::Launcher => named(Allocation::detect(), family),
        };
        // What is alone needs no name.
        Some(nodes)
            .filter(|nodes| nodes.len() > 1)
            .unwrap_or_default()
    }

    /// The command that starts ranks of an MPI, and how it labels what they write.
    pub(super) fn command(
        self,
        installation: &Installation,
        ranks: usize,
        hosts: &[String],
    ) -> (Command, Labels) {
        match self {
            Starter::Launcher => {
                let command = installation.command_on(ranks, hosts);
                (command, Labels::of(installation))
            }
            Starter::Srun => (installation.srun(ranks, hosts), Labels::Slurm),
            Starter::FluxRun => (installation.flux_run(ranks, hosts), Labels::Flux),
        }
    }
}

/// The nodes of an allocation that a launcher need not know of. Cray's is part of the system.
fn named(given: Option<Allocation>, family: Family) -> Vec<String> {
    let unknown = |given: &Allocation| given.scheduler != Scheduler::Slurm;
    let given = given.filter(|given| unknown(given) && family != Family::Cray);
    given.map(|given| given.nodes).unwrap_or_default()
}

/// The hosts of this instance of Flux, which no variable names; none where it does not tell.
fn of_flux() -> Vec<String> {
    let mut flux = Command::new("flux");
    let said = flux.args(["hostlist", "--expand", "instance"]).output();
    let said = said.map_or_else(|_| Vec::new(), |said| said.stdout);
    let words = String::from_utf8_lossy(&said);
    words.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn of<'a>(text: &'a str) -> impl Fn(&str) -> Option<String> + 'a {
        move |name| {
            let mut lines = text.lines().filter_map(|line| line.split_once('='));
            let found = lines.find(|(other, _)| *other == name);
            found.map(|(_, value)| value.to_owned())
        }
    }

    /// A recorded environment.
    macro_rules! recorded {
        ($file:literal) => {
            of(include_str!(concat!("../../tests/fixtures/", $file)))
        };
    }

    #[test]
    fn an_allocation_without_ranks_is_started_on_by_its_own_system() {
        let batch = Starter::from_vars(recorded!("slurm_env/sbatch_N2_tpn2.batch.env"));
        assert_eq!(batch, Starter::Srun);
        let rank = Starter::from_vars(recorded!("slurm_env/sbatch_N2_tpn2.rank1.env"));
        assert_eq!(rank, Starter::Launcher);
        let flux = Starter::from_vars(recorded!("batch_env/flux_manual.script.env"));
        assert_eq!(flux, Starter::FluxRun);
        let task = "FLUX_URI=local:///run/flux/local-0\nFLUX_TASK_RANK=1\n";
        assert_eq!(Starter::from_vars(of(task)), Starter::Launcher);
        assert_eq!(Starter::from_vars(|_| None), Starter::Launcher);
    }

    #[test]
    fn launchers_are_told_the_nodes_of_pbs_and_lsf() {
        let file = |_: &Path| Some("x0\nx0\nx1\nx1\n".to_owned());
        let pbs = Allocation::from_vars(recorded!("batch_env/pbs_manual.script.env"), file);
        let lsf = Allocation::from_vars(recorded!("batch_env/lsf_manual.script.env"), file);
        let slurm = Allocation::from_vars(recorded!("slurm_env/sbatch_N2_tpn2.batch.env"), file);
        for given in [&pbs, &lsf] {
            assert_eq!(named(given.clone(), Family::Mpich), ["x0", "x1"]);
        }
        assert_eq!(named(pbs, Family::Cray), [""; 0]);
        assert_eq!(named(slurm, Family::Mpich), [""; 0]);
        assert_eq!(named(None, Family::Mpich), [""; 0]);
    }
}
