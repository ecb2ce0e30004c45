//! torchrun, PyTorch's launcher: its processes find each other by a store, and no MPI takes part.

use super::{Rule, Variables};
use crate::environment::launcher::Launcher;

/// `RANK` and `WORLD_SIZE` are names that others use as well; the elastic agent's own is not.
fn applies(variables: &Variables<'_>) -> bool {
    variables.has("TORCHELASTIC_RUN_ID") && variables.has("RANK") && variables.has("WORLD_SIZE")
}

pub(super) const TORCHRUN: Rule = Rule {
    launcher: Launcher::Torchrun,
    applies,
    rank: &["RANK"],
    size: &["WORLD_SIZE"],
    local_rank: &["LOCAL_RANK"],
    local_size: &["LOCAL_WORLD_SIZE"],
    job: &["TORCHELASTIC_RUN_ID"],
};
