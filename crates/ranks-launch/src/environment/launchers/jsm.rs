//! jsrun, the launcher of IBM's Job Step Manager inside of LSF. It offers PMIx, and sets Open MPI's
//! variables too where the MPI is Spectrum MPI.

use super::{Rule, Variables};
use crate::environment::launcher::Launcher;

/// Leaves out the ranks of an `mpiexec` that a task of jsrun has started: they inherit the task's
/// variables.
fn applies(variables: &Variables<'_>) -> bool {
    let of_open_mpi = variables.text("OMPI_COMM_WORLD_SIZE");
    let same = of_open_mpi.is_none() || of_open_mpi == variables.text("JSM_NAMESPACE_SIZE");
    variables.has("JSM_NAMESPACE_RANK") && !variables.has("PMI_RANK") && same
}

pub(super) const JSM: Rule = Rule {
    launcher: Launcher::Jsm,
    applies,
    rank: &["JSM_NAMESPACE_RANK"],
    size: &["JSM_NAMESPACE_SIZE"],
    local_rank: &["JSM_NAMESPACE_LOCAL_RANK"],
    local_size: &["JSM_NAMESPACE_LOCAL_SIZE"],
    job: &["JSM_NAMESPACE_ID", "PMIX_NAMESPACE"],
};
