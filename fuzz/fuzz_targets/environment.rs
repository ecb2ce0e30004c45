//! What launchers and batch systems say in variables of the environment, and in the files that
//! these name.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use ranks_fuzz::variables;
use ranks_launch::{
    Allocation, Binding, Environment, Family, LoadedMpi, Scheduler, check_after_init,
    check_before_init,
};

/// More nodes than a list may stand for are none.
const MOST_NODES: usize = 1 << 17;
/// All CPUs that a list of masks may name.
const MOST_CPUS: usize = 1 << 20;

fuzz_target!(|text: &str| {
    let (variables, file) = variables(text);
    let read = |name: &str| variables.get(name).map(|value| (*value).to_owned());

    let environment = Environment::from_vars(read);
    let below = |rank: Option<usize>, size: Option<usize>| match (rank, size) {
        (Some(rank), Some(size)) => rank < size,
        (_, size) => size != Some(0),
    };
    assert!(below(environment.rank, environment.size));
    assert!(below(environment.local_rank, environment.local_size));
    assert!(environment.launcher.is_some() || environment == Environment::default());
    assert!(!environment.to_string().is_empty());
    for malformed in &environment.malformed {
        assert!(malformed.to_string().contains(&malformed.variable));
    }
    // Other ranks of a named job are looked for among the processes of this machine, for a second.
    let mut environment = environment;
    environment.job = None;
    for family in [None, Some(Family::Mpich), Some(Family::OpenMpi)] {
        let mpi = LoadedMpi {
            family,
            name: "MPI",
            file: Path::new("libmpi.so"),
            pmix: false,
            pmi: false,
        };
        let before = check_before_init(&environment, &mpi);
        let after = check_after_init(&environment, &mpi, 1);
        for mismatch in [before.err(), after.err()].into_iter().flatten() {
            assert!(!mismatch.to_string().is_empty());
        }
    }

    let Some(all) = Allocation::from_vars(read, |_| Some(file.to_owned())) else {
        return;
    };
    for list in [&all.nodes, &all.step_nodes] {
        assert!(list.len() <= MOST_NODES);
        assert!(list.iter().all(|name| !name.is_empty()));
    }
    for list in [&all.tasks_per_node, &all.cpus_per_node] {
        assert!(list.len() <= MOST_NODES);
    }
    let parts = all.components.iter();
    assert!(parts.clone().map(|part| part.nodes.len()).sum::<usize>() <= MOST_NODES);
    assert!(parts.map(|part| part.cpus_per_node.len()).sum::<usize>() <= MOST_NODES);
    if let Some(Binding::Cpus(lists) | Binding::Domains(lists)) = &all.binding {
        assert!(lists.iter().map(Vec::len).sum::<usize>() <= MOST_CPUS);
    }
    let _ = (all.memory_here(), all.remaining());
    match all.scheduler {
        Scheduler::Slurm if all.nodes.len() <= 256 => named_one_by_one(&all.nodes),
        Scheduler::Lsf => assert_eq!(all.nodes.len(), all.tasks_per_node.len()),
        Scheduler::Pbs => {
            assert_eq!(all.nodes.len(), all.tasks_per_node.len());
            let tasks = all.tasks_per_node.iter().sum();
            assert!(all.nodes.is_empty() || all.tasks == Some(tasks));
        }
        _ => {}
    }
});

/// A list of the names that a list stands for stands for them too.
fn named_one_by_one(nodes: &[String]) {
    assert!(nodes.iter().all(|name| name.len() <= 255));
    let list = nodes.join(",");
    let again = Allocation::from_vars(
        |name| match name {
            "SLURM_JOB_ID" => Some("1".to_owned()),
            "SLURM_JOB_NODELIST" => Some(list.clone()),
            _ => None,
        },
        |_| None,
    );
    assert_eq!(again.map(|again| again.nodes).as_deref(), Some(nodes));
}
