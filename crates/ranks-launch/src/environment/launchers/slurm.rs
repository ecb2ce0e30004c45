//! Slurm's `srun`, by the protocol that `--mpi` chose.
//!
//! Only a step has ranks. A batch script has `SLURM_PROCID=0` and `SLURM_NTASKS=4` too, the shell
//! of `salloc` has the latter, and neither is a rank of anything.

use super::{Rule, Variables};
use crate::environment::launcher::{Launcher, Pmi};

/// Numbers from here on are no steps of `srun`: the batch script, the interactive shell, the
/// external step.
const FIRST_SPECIAL_STEP: u32 = 0xffff_fffa;

/// The step of `srun` that this process belongs to.
pub(crate) fn step(variables: &Variables<'_>) -> Option<String> {
    let special = |step: &str| {
        step.trim()
            .parse::<u32>()
            .is_ok_and(|number| number >= FIRST_SPECIAL_STEP)
    };
    variables
        .first(&["SLURM_STEP_ID", "SLURM_STEPID"])
        .filter(|step| !special(step))
}

fn in_step(variables: &Variables<'_>) -> bool {
    step(variables).is_some() && variables.has("SLURM_PROCID")
}

fn is_cray(variables: &Variables<'_>) -> bool {
    let by_name = variables
        .text("SLURM_MPI_TYPE")
        .is_some_and(|name| name.starts_with("cray"));
    in_step(variables) && (by_name || variables.has("PALS_APID") || variables.has("PALS_SPOOL_DIR"))
}

fn is_pmi2(variables: &Variables<'_>) -> bool {
    in_step(variables) && variables.has("PMI_RANK") && !variables.has("PMIX_RANK")
}

/// Returns `true` if this is a task to which Slurm itself offers PMI-2, as the rank that it has in
/// the step. Under an `mpiexec` whose daemons Slurm started may be such tasks: the ranks inherit
/// the number of the step, but not its size.
pub(super) fn serves(variables: &Variables<'_>) -> bool {
    let same = |one: &str, others: &[&str]| {
        let others = variables.first(others);
        others.is_some() && variables.text(one) == others
    };
    is_pmi2(variables)
        && variables.has("PMI_JOBID")
        && same("PMI_RANK", &["SLURM_PROCID"])
        && same("PMI_SIZE", &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"])
}

fn is_pmix(variables: &Variables<'_>) -> bool {
    in_step(variables) && variables.has("PMIX_RANK")
}

/// A step of one task without PMI is what `srun --pty bash` makes: a place to work in, not a job of
/// one rank.
fn is_without(variables: &Variables<'_>) -> bool {
    in_step(variables) && variables.number(NONE.size) != Some(1)
}

pub(super) const NONE: Rule = Rule {
    launcher: Launcher::Slurm(Pmi::None),
    applies: is_without,
    rank: &["SLURM_PROCID"],
    size: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
    local_rank: &["SLURM_LOCALID"],
    local_size: &[],
    job: &["SLURM_JOB_ID", "SLURM_JOBID"],
};

pub(super) const PMI2: Rule = Rule {
    launcher: Launcher::Slurm(Pmi::Pmi2),
    applies: is_pmi2,
    rank: &["PMI_RANK"],
    size: &["PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
    ..NONE
};

pub(super) const PMIX: Rule = Rule {
    launcher: Launcher::Slurm(Pmi::Pmix),
    applies: is_pmix,
    rank: &["PMIX_RANK"],
    ..NONE
};

pub(super) const CRAY: Rule = Rule {
    launcher: Launcher::Slurm(Pmi::Cray),
    applies: is_cray,
    ..NONE
};
