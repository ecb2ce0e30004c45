//! The launchers and ranks that recorded environments of real launchers are taken for.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use ranks_launch::{Environment, Launcher, Pmi};

fn recorded(file: &str) -> Environment {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(file);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let variables: HashMap<&str, &str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .collect();
    Environment::from_vars(|name| variables.get(name).map(|value| (*value).to_owned()))
}

type Place = (Option<usize>, Option<usize>, Option<usize>, Option<usize>);

fn place(environment: &Environment) -> Place {
    (
        environment.rank,
        environment.size,
        environment.local_rank,
        environment.local_size,
    )
}

#[test]
fn without_a_scheduler() {
    for (name, launcher) in [
        ("hydra_mpich402", Launcher::Hydra),
        ("hydra_mpich502", Launcher::Hydra),
        ("hydra_impi2021.19", Launcher::IntelHydra),
        ("orte_ompi414", Launcher::Orte),
        ("prrte_ompi5011", Launcher::Prrte),
    ] {
        for rank in [1, 3] {
            let environment = recorded(&format!("launcher_env/{name}.rank{rank}.env"));
            assert_eq!(environment.launcher, Some(launcher), "{name}");
            assert_eq!(
                place(&environment),
                (Some(rank), Some(4), Some(1), Some(2)),
                "{name}"
            );
            assert_eq!(environment.malformed, [], "{name}");
        }
    }
}

#[test]
fn launchers_that_few_know_are_launchers() {
    for (file, launcher, wanted) in [
        ("prterun_prrte", Launcher::Pmix, (Some(1), None, None, None)),
        (
            "jsrun_manual",
            Launcher::Jsm,
            (Some(1), Some(4), Some(1), Some(2)),
        ),
        (
            "mpirun_rsh_manual",
            Launcher::MpirunRsh,
            (Some(1), Some(4), Some(1), Some(2)),
        ),
        (
            "pals_manual",
            Launcher::Pals,
            (Some(1), Some(4), Some(1), Some(2)),
        ),
        // Flux does not say how many there are on a node.
        (
            "flux_manual",
            Launcher::Flux,
            (Some(1), Some(4), Some(1), None),
        ),
        (
            "torchrun_manual",
            Launcher::Torchrun,
            (Some(1), Some(4), Some(1), Some(2)),
        ),
    ] {
        let environment = recorded(&format!("launcher_env/{file}.rank1.env"));
        assert_eq!(environment.launcher, Some(launcher), "{file}");
        assert_eq!(place(&environment), wanted, "{file}");
        assert_eq!(environment.malformed, [], "{file}");
    }
}

#[test]
fn mpiexec_inside_an_allocation_is_mpiexec() {
    // Slurm's own variables say rank 1 of 2 here: they are about the step of the daemons.
    for (name, launcher) in [
        ("mpich4", Launcher::Hydra),
        ("mpich5", Launcher::Hydra),
        // This recording has no variable that only Intel's launcher sets.
        ("impi", Launcher::Hydra),
        ("ompi4", Launcher::Orte),
        ("ompi5", Launcher::Prrte),
    ] {
        let environment = recorded(&format!("slurm_env/mpiexec_in_salloc_{name}.rank3.env"));
        assert_eq!(environment.launcher, Some(launcher), "{name}");
        assert_eq!(
            place(&environment),
            (Some(3), Some(4), Some(1), Some(2)),
            "{name}"
        );
    }
}

#[test]
fn steps_of_srun_by_protocol() {
    for (file, pmi, place_wanted) in [
        (
            "srun_N2_tpn2_pmi2.rank3",
            Pmi::Pmi2,
            (Some(3), Some(4), Some(1), None),
        ),
        (
            "srun_N2_tpn2_pmix.rank3",
            Pmi::Pmix,
            (Some(3), Some(4), Some(1), None),
        ),
        (
            "sbatch_N2_tpn2.rank1",
            Pmi::None,
            (Some(1), Some(4), Some(1), None),
        ),
        (
            "srun_het.rank3",
            Pmi::None,
            (Some(3), Some(4), Some(0), None),
        ),
        (
            "sbatch_substep.rank1",
            Pmi::None,
            (Some(1), Some(2), Some(1), None),
        ),
    ] {
        let environment = recorded(&format!("slurm_env/{file}.env"));
        assert_eq!(environment.launcher, Some(Launcher::Slurm(pmi)), "{file}");
        assert_eq!(place(&environment), place_wanted, "{file}");
        assert!(environment.job.is_some(), "{file}");
    }
    let environment = recorded("slurm_env/srun_N4_n13_block.rank12.env");
    assert_eq!((environment.rank, environment.size), (Some(12), Some(13)));
}

#[test]
fn scripts_and_shells_of_slurm_are_not_ranks() {
    for file in [
        "sbatch_N2_tpn2.batch",
        "sbatch_het.batch",
        "sbatch_array.task1",
        "salloc_N2_tpn2_mem.shell",
        // One task without PMI is a place to work in.
        "srun_n1.rank0",
    ] {
        assert_eq!(
            recorded(&format!("slurm_env/{file}.env")),
            Environment::default(),
            "{file}"
        );
    }
}
