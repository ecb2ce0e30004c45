//! mpirun_rsh, a launcher of MVAPICH: its daemons offer PMI-1, and number ranks by `PMI_ID` where
//! Hydra does by `PMI_RANK`. Early releases of MVAPICH2 set no other number of the rank.

use super::{Rule, Variables};
use crate::environment::launcher::Launcher;

fn applies(variables: &Variables<'_>) -> bool {
    let has_one = |names| variables.first(names).is_some();
    has_one(MPIRUN_RSH.rank) && has_one(MPIRUN_RSH.size)
}

pub(super) const MPIRUN_RSH: Rule = Rule {
    launcher: Launcher::MpirunRsh,
    applies,
    rank: &["MV2_COMM_WORLD_RANK", "MPIRUN_RANK", "PMI_ID"],
    size: &["MV2_COMM_WORLD_SIZE", "MPIRUN_NPROCS"],
    local_rank: &["MV2_COMM_WORLD_LOCAL_RANK"],
    local_size: &["MV2_COMM_WORLD_LOCAL_SIZE"],
    job: &["MPIRUN_ID"],
};
