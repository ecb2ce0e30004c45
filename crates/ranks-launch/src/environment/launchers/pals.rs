//! PALS, the launcher of HPE Cray systems without Slurm.

use super::{Rule, Variables};
use crate::environment::launcher::Launcher;

fn applies(variables: &Variables<'_>) -> bool {
    variables.has("PALS_RANKID")
}

pub(super) const PALS: Rule = Rule {
    launcher: Launcher::Pals,
    applies,
    rank: &["PALS_RANKID", "PMI_RANK"],
    size: &["PMI_SIZE"],
    local_rank: &["PALS_LOCAL_RANKID", "PMI_LOCAL_RANK"],
    local_size: &["PALS_LOCAL_SIZE", "PMI_LOCAL_SIZE"],
    job: &["PALS_APID"],
};
