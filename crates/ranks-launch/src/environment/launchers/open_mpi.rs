//! Open MPI's launchers: ORTE up to 4.1, PRRTE from 5.0.

use super::{Rule, Variables};
use crate::environment::launcher::Launcher;

fn applies(variables: &Variables<'_>) -> bool {
    variables.has("OMPI_COMM_WORLD_SIZE") && variables.has("OMPI_COMM_WORLD_RANK")
}

fn is_prrte(variables: &Variables<'_>) -> bool {
    let names = [
        "PRTE_LAUNCHED",
        "OMPI_VERSION",
        "OMPI_LIBDIR_LOC",
        "PMIX_PARAM_FILE_PASSED",
    ];
    let named = || {
        variables
            .text("PMIX_NAMESPACE")
            .is_some_and(|name| name.starts_with("prte"))
    };
    applies(variables) && (variables.first(&names).is_some() || named())
}

pub(super) const ORTE: Rule = Rule {
    launcher: Launcher::Orte,
    applies,
    rank: &["OMPI_COMM_WORLD_RANK"],
    size: &["OMPI_COMM_WORLD_SIZE"],
    local_rank: &["OMPI_COMM_WORLD_LOCAL_RANK"],
    local_size: &["OMPI_COMM_WORLD_LOCAL_SIZE"],
    job: &["PMIX_NAMESPACE"],
};

pub(super) const PRRTE: Rule = Rule {
    launcher: Launcher::Prrte,
    applies: is_prrte,
    ..ORTE
};
