//! The variables of Slurm.

use std::time::{Duration, SystemTime};

use super::nodes::MOST;
use super::{Allocation, Component, MemoryLimit, Scheduler, binding, counts, nodes};
use crate::environment::launchers::slurm_step;
use crate::environment::{Environment, Launcher, Variables};

/// The most parts of a heterogeneous job that are looked for.
const MOST_COMPONENTS: usize = 128;

const NO_NODES: &str = "is no list of nodes";
const NO_COUNTS: &str = "is no list of numbers of nodes";
const NO_MEMORY: &str = "is no amount of memory";
const NO_GPUS: &str = "is no number of GPUs";
const NO_BINDING: &str = "is nothing to bind to";

pub(super) fn read(variables: &Variables<'_>, environment: &Environment) -> Option<Allocation> {
    let job = variables.first(&["SLURM_JOB_ID", "SLURM_JOBID"])?;
    let mut all = Allocation::of(Scheduler::Slurm, job);
    all.name = variables.text("SLURM_JOB_NAME");
    all.queue = variables.text("SLURM_JOB_PARTITION");
    all.node = variables.text("SLURMD_NODENAME");
    all.nodes = list(variables, &["SLURM_JOB_NODELIST", "SLURM_NODELIST"], MOST);
    all.cpus_per_node = each(variables, &["SLURM_JOB_CPUS_PER_NODE"], MOST);
    all.cpus_here = variables.number(&["SLURM_CPUS_ON_NODE"]);
    all.cpus_per_task = variables.number(&["SLURM_CPUS_PER_TASK"]);
    all.memory = memory(variables);
    all.gpus = gpus(variables);
    all.gpus_here = variables
        .number(&["SLURM_GPUS_ON_NODE"])
        .or_else(|| variables.parsed(&["SLURM_GPUS_PER_NODE"], NO_GPUS, counts::gpus));
    all.components = components(variables);
    all.array = variables
        .text("SLURM_ARRAY_JOB_ID")
        .zip(variables.number(&["SLURM_ARRAY_TASK_ID"]));
    all.restarts = variables.number(&["SLURM_RESTART_COUNT"]).unwrap_or(0);
    all.ends = variables
        .number(&["SLURM_JOB_END_TIME"])
        .and_then(|seconds| u64::try_from(seconds).ok())
        .and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
    all.step_nodes.clone_from(&all.nodes);
    tasks(&mut all, variables, environment);
    Some(all)
}

/// Tasks are ranks in a step of `srun`, and not yet there in a batch script; under `mpiexec` the
/// step is of its daemons.
fn tasks(all: &mut Allocation, variables: &Variables<'_>, environment: &Environment) {
    let step = slurm_step(variables);
    let ours = matches!(environment.launcher, Some(Launcher::Slurm(_)) | None);
    if step.is_some() && !ours {
        return;
    }
    all.tasks_per_node = each(
        variables,
        &["SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"],
        MOST,
    );
    if step.is_some() {
        all.step = step;
        all.tasks = variables.number(&["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"]);
        all.binding = variables.parsed(&["SLURM_CPU_BIND"], NO_BINDING, binding::read);
        if variables.has("SLURM_STEP_NODELIST") {
            all.step_nodes = list(variables, &["SLURM_STEP_NODELIST"], MOST);
        }
    } else {
        all.tasks = variables.number(&["SLURM_NTASKS", "SLURM_NPROCS"]);
    }
}

fn list(variables: &Variables<'_>, names: &[&str], most: usize) -> Vec<String> {
    variables
        .parsed(names, NO_NODES, |text| nodes::expanded(text, most))
        .unwrap_or_default()
}

fn each(variables: &Variables<'_>, names: &[&str], most: usize) -> Vec<usize> {
    variables
        .parsed(names, NO_COUNTS, |text| counts::per_node(text, most))
        .unwrap_or_default()
}

fn memory(variables: &Variables<'_>) -> Option<MemoryLimit> {
    let amount = |name: &str| variables.parsed(&[name], NO_MEMORY, counts::mebibytes);
    // A job that was given a node with all its memory says 0.
    let some = |bytes: u64| (bytes > 0).then_some(bytes);
    amount("SLURM_MEM_PER_NODE")
        .and_then(some)
        .map(MemoryLimit::PerNode)
        .or_else(|| {
            amount("SLURM_MEM_PER_CPU")
                .and_then(some)
                .map(MemoryLimit::PerCpu)
        })
        .or_else(|| {
            amount("SLURM_MEM_PER_GPU")
                .and_then(some)
                .map(MemoryLimit::PerGpu)
        })
}

/// The names of GPUs, of the step before those of the job.
fn gpus(variables: &Variables<'_>) -> Vec<String> {
    let names = ["SLURM_STEP_GPUS", "SLURM_JOB_GPUS"];
    let text = variables.first(&names).unwrap_or_default();
    let names = text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// Before release 20.02 they were called packs; `srun` of a heterogeneous job tells them so to this
/// day.
fn components(variables: &Variables<'_>) -> Vec<Component> {
    let many = variables
        .number(&["SLURM_HET_SIZE", "SLURM_PACK_SIZE"])
        .unwrap_or(0);
    // All parts together have no more nodes than a machine has.
    let (mut nodes, mut counts) = (MOST, MOST);
    (0..many.min(MOST_COMPONENTS))
        .map(|number| {
            let component = component(variables, number, nodes, counts);
            nodes = nodes.saturating_sub(component.nodes.len());
            counts = counts.saturating_sub(component.cpus_per_node.len());
            component
        })
        .collect()
}

/// One of them, of so many nodes and numbers of CPUs at most.
fn component(
    variables: &Variables<'_>,
    number: usize,
    most_nodes: usize,
    most_counts: usize,
) -> Component {
    let names =
        |what: &str| ["HET", "PACK"].map(|group| format!("SLURM_{what}_{group}_GROUP_{number}"));
    let [nodes, tasks, cpus, per_task] = [
        "JOB_NODELIST",
        "NTASKS",
        "JOB_CPUS_PER_NODE",
        "CPUS_PER_TASK",
    ]
    .map(names);
    Component {
        nodes: list(variables, &nodes.each_ref().map(String::as_str), most_nodes),
        tasks: variables.number(&tasks.each_ref().map(String::as_str)),
        cpus_per_node: each(variables, &cpus.each_ref().map(String::as_str), most_counts),
        cpus_per_task: variables.number(&per_task.each_ref().map(String::as_str)),
    }
}
