//! Flux: its shell offers several protocols, so it binds to no family.

use super::{Rule, Variables};
use crate::environment::launcher::Launcher;

fn applies(variables: &Variables<'_>) -> bool {
    variables.has("FLUX_TASK_RANK")
}

pub(super) const FLUX: Rule = Rule {
    launcher: Launcher::Flux,
    applies,
    rank: &["FLUX_TASK_RANK"],
    size: &["FLUX_JOB_SIZE", "PMI_SIZE"],
    local_rank: &["FLUX_TASK_LOCAL_ID"],
    local_size: &[],
    job: &["FLUX_JOB_ID"],
};
