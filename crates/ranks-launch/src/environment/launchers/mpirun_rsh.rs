//! mpirun_rsh, a launcher of MVAPICH2: its daemons offer PMI-1, and number ranks by `PMI_ID` where
//! Hydra does by `PMI_RANK`.

use super::{Rule, Variables};
use crate::environment::launcher::Launcher;

fn applies(variables: &Variables<'_>) -> bool {
    variables.has("MPIRUN_RANK") && variables.has("MPIRUN_NPROCS")
        || variables.has("MV2_COMM_WORLD_RANK") && variables.has("MV2_COMM_WORLD_SIZE")
}

pub(super) const MPIRUN_RSH: Rule = Rule {
    launcher: Launcher::MpirunRsh,
    applies,
    rank: &["MV2_COMM_WORLD_RANK", "MPIRUN_RANK"],
    size: &["MV2_COMM_WORLD_SIZE", "MPIRUN_NPROCS"],
    local_rank: &["MV2_COMM_WORLD_LOCAL_RANK"],
    local_size: &["MV2_COMM_WORLD_LOCAL_SIZE"],
    job: &["MPIRUN_ID"],
};
