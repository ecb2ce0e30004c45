//! The ranks of an MPI started by Flux itself.

use std::process::Command;

use super::Installation;
use crate::Family;
use crate::environment::launchers::outside_of_job;
use crate::library::candidates::CHOICE;

impl Installation {
    /// The command by which `flux run` starts `ranks` ranks in an instance of Flux; program and
    /// arguments are to be appended.
    ///
    /// On `hosts` Flux distributes them evenly; no hosts leave it to Flux.
    pub fn flux_run(&self, ranks: usize, hosts: &[String]) -> Command {
        let mut command = outside_of_job("flux");
        command.env(CHOICE, &self.library);
        self.set_parameters(&mut command);
        command.arg("run").arg(format!("--ntasks={ranks}"));
        if !hosts.is_empty() {
            // A node has a task at least.
            command.arg(format!("--nodes={}", hosts.len().min(ranks)));
            command.arg(format!("--requires=host:{}", hosts.join(",")));
        }
        if self.family == Family::OpenMpi {
            // Since release 5 it knows no other.
            command.args(["-o", "pmi=pmix"]);
        }
        command
    }
}
