//! Launchers that are known only by the protocol that they speak.

use super::{Rule, Variables};
use crate::environment::launcher::Launcher;

fn is_pmix(variables: &Variables<'_>) -> bool {
    variables.has("PMIX_RANK") && variables.has("PMIX_NAMESPACE")
}

fn is_pmi(variables: &Variables<'_>) -> bool {
    variables.has("PMI_RANK")
        && ["PMI_FD", "PMI_PORT", "PMI_SIZE"]
            .iter()
            .any(|name| variables.has(name))
}

pub(super) const PMIX: Rule = Rule {
    launcher: Launcher::Pmix,
    applies: is_pmix,
    rank: &["PMIX_RANK"],
    size: &[],
    local_rank: &["PMIX_LOCAL_RANK"],
    local_size: &["PMIX_LOCAL_SIZE"],
    job: &["PMIX_NAMESPACE"],
};

pub(super) const PMI: Rule = Rule {
    launcher: Launcher::Pmi,
    applies: is_pmi,
    rank: &["PMI_RANK"],
    size: &["PMI_SIZE"],
    local_rank: &["MPI_LOCALRANKID", "PMI_LOCAL_RANK"],
    local_size: &["MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"],
    job: &["PMI_JOBID"],
};
