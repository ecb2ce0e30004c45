//! The ranks of an MPI started by its own launcher.

use std::process::Command;

use super::parameters::{RDMA_PER_REQUEST, WITHOUT_RDMA, has_user_set};
use super::{Installation, cores};
use crate::Family;
use crate::environment::launchers::outside_of_job;
use crate::library::candidates::CHOICE;

/// The variable from which UCX, below any MPI, reads what it does at a fault signal.
///
/// Its handler writes a backtrace, which allocates and takes locks. In 15 of 400 processes whose
/// stack overflowed it then waited for ever, and in none of 400 without it, in which Rust names the
/// overflow. UCX has none by default from 1.20 on.
const UCX_FAULTS: &str = "UCX_HANDLE_ERRORS";

impl Installation {
    /// The command that starts `ranks` ranks on this node; program and arguments are to be
    /// appended.
    ///
    /// It names the library in `RANKS_MPI`, allows more ranks than the job has cores where there
    /// are more, and takes away the variables of a job that this process may itself be a rank of.
    pub fn command(&self, ranks: usize) -> Command {
        let mut command = self.command_in_allocation(ranks, &[]);
        if ranks > cores::of_job() {
            command.envs(oversubscribed(self.family).iter().copied());
        }
        command
    }

    /// A [`command`](Self::command) on these hosts, in blocks of equally many ranks; no hosts leave
    /// it to the launcher.
    pub fn command_on(&self, ranks: usize, hosts: &[String]) -> Command {
        let mut command = self.command(ranks);
        self.place(&mut command, ranks, hosts);
        command
    }

    /// A [`command_on`](Self::command_on) for a job that a batch system will have given a core for
    /// each rank, as for a script of one: the number of cores of this machine does not matter.
    pub fn command_in_allocation(&self, ranks: usize, hosts: &[String]) -> Command {
        let mut command = outside_of_job(&self.launcher);
        command
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env(CHOICE, &self.library)
            .arg("-n")
            .arg(ranks.to_string());
        if self.family == Family::OpenMpi {
            command.args(["-x", CHOICE]);
        }
        self.set_parameters(&mut command);
        self.place(&mut command, ranks, hosts);
        command
    }

    /// Sets the parameters of every job, unless the user has set them.
    pub(super) fn set_parameters(&self, command: &mut Command) {
        let mut set = |name, value| {
            if !has_user_set(name) {
                command.env(name, value);
            }
        };
        set(UCX_FAULTS, "none");
        if self.family == Family::OpenMpi && !has_user_set(RDMA_PER_REQUEST) {
            set(RDMA_PER_REQUEST, "0");
            for (name, value) in WITHOUT_RDMA {
                set(name, value);
            }
        }
    }

    /// Puts ranks on hosts in blocks of equally many.
    fn place(&self, command: &mut Command, ranks: usize, hosts: &[String]) {
        if hosts.is_empty() {
            return;
        }
        let slots = ranks.div_ceil(hosts.len());
        if self.family == Family::OpenMpi {
            // Without a number it takes a host for one rank.
            let with_slots = hosts.iter().map(|host| format!("{host}:{slots}"));
            let list: Vec<String> = with_slots.collect();
            command.arg("--host").arg(list.join(","));
            // Allowed more ranks than cores, version 5 takes the first host for all of them.
            command.arg("--map-by");
            command.arg(format!("ppr:{slots}:node:oversubscribe"));
        } else {
            // Without a number MPICH deals ranks by turns, and Intel MPI fills the first host's
            // cores.
            let slots = slots.to_string();
            command.args(["-hosts", &hosts.join(","), "-ppn", &slots]);
        }
    }
}

/// The variables that a family needs for more ranks than cores: leave to do so, no pinning, and no
/// spinning where that is an option.
fn oversubscribed(family: Family) -> &'static [(&'static str, &'static str)] {
    match family {
        Family::OpenMpi => &[
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
            ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
            ("OMPI_MCA_hwloc_base_binding_policy", "none"),
            ("PRTE_MCA_hwloc_default_binding_policy", "none"),
            ("OMPI_MCA_mpi_yield_when_idle", "1"),
        ],
        Family::Intel => &[("I_MPI_PIN", "0")],
        // Known since 4.1; releases before it yield by `sched_yield` alone.
        Family::Mpich | Family::Cray => &[("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")],
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_command_names_the_library_and_allows_what_is_needed() {
        let library = PathBuf::from("/m/lib/libmpi.so.40");
        let installation = Installation::new(
            "m".into(),
            Family::OpenMpi,
            Some("5.0.11".into()),
            library,
            "/m/bin/mpiexec".into(),
        );
        let variable = |command: &Command, name: &str| {
            command
                .get_envs()
                .find(|(key, _)| *key == name)
                .and_then(|(_, value)| value.map(|v| v.to_string_lossy().into_owned()))
        };
        let few = installation.command(1);
        assert_eq!(
            variable(&few, "RANKS_MPI").as_deref(),
            Some("/m/lib/libmpi.so.40")
        );
        assert_eq!(
            variable(&few, "PRTE_MCA_rmaps_default_mapping_policy"),
            None
        );
        let off = [(RDMA_PER_REQUEST, "0"), (UCX_FAULTS, "none")];
        for (parameter, value) in off.into_iter().chain(WITHOUT_RDMA) {
            let set = (!has_user_set(parameter)).then_some(value);
            assert_eq!(variable(&few, parameter).as_deref(), set);
        }
        let many = installation.command(cores::physical() + 1);
        assert_eq!(
            variable(&many, "PRTE_MCA_rmaps_default_mapping_policy").as_deref(),
            Some(":oversubscribe")
        );
        let args: Vec<_> = many
            .get_args()
            .map(|arg| arg.to_string_lossy().into_owned())
            .collect();
        assert_eq!(
            args[..2],
            ["-n".to_owned(), (cores::physical() + 1).to_string()]
        );
    }
}
