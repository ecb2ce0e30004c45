//! Hydra, the launcher of MPICH, and Intel MPI's descendant of it.

use super::{Rule, Variables, slurm};
use crate::environment::launcher::Launcher;

/// Both set these; of the PMI-2 servers only Hydra gives the ranks of a node by `MPI_LOCAL…`. Intel
/// MPI's `MPI_Init` sets those itself under other servers, so they are no mark of a task that Slurm
/// serves.
fn applies(variables: &Variables<'_>) -> bool {
    variables.has("PMI_RANK")
        && (variables.has("MPI_LOCALRANKID") || variables.has("HYDI_CONTROL_FD"))
        && !slurm::serves(variables)
}

fn is_intel(variables: &Variables<'_>) -> bool {
    applies(variables)
        && (variables.has("I_MPI_HYDRA_UUID") || variables.has("HYDRA_BSTRAP_NODE_ID"))
}

pub(super) const HYDRA: Rule = Rule {
    launcher: Launcher::Hydra,
    applies,
    rank: &["PMI_RANK"],
    size: &["PMI_SIZE"],
    local_rank: &["MPI_LOCALRANKID"],
    local_size: &["MPI_LOCALNRANKS"],
    job: &[],
};

pub(super) const INTEL: Rule = Rule {
    launcher: Launcher::IntelHydra,
    applies: is_intel,
    job: &["I_MPI_HYDRA_UUID"],
    ..HYDRA
};
