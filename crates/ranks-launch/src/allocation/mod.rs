//! The resources that a batch system has given to the job that this process belongs to.

use std::fmt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::environment::{Environment, Malformed, Variables, process_variable};
use crate::machine::files;

pub use binding::Binding;
pub use stop::StopRequest;

mod binding;
mod counts;
mod lsf;
mod nodes;
mod pbs;
mod slurm;
mod stop;

/// A batch system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheduler {
    /// Slurm.
    Slurm,
    /// PBS Professional, OpenPBS, Torque.
    Pbs,
    /// LSF.
    Lsf,
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scheduler::Slurm => "Slurm",
            Scheduler::Pbs => "PBS",
            Scheduler::Lsf => "LSF",
        })
    }
}

/// A batch system's description of a job. A value that it did not give, or gave in a way that makes
/// no sense, is `None` or empty; the latter is listed in [`malformed`](Self::malformed).
///
/// A *step* is the tasks that one `srun` starts: the ranks, or under an MPI's own `mpiexec` the
/// daemons that start the ranks. Values of steps are given here where the ranks are its tasks, and
/// left out where daemons are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Allocation {
    /// The batch system that describes it.
    pub scheduler: Scheduler,
    /// The job's number.
    pub job: String,
    /// The job's name.
    pub name: Option<String>,
    /// The queue or partition.
    pub queue: Option<String>,
    /// The step, if this process is one of its tasks.
    pub step: Option<String>,
    /// The nodes of the job.
    pub nodes: Vec<String>,
    /// The nodes of the step; of the job where there is no step.
    pub step_nodes: Vec<String>,
    /// The scheduler's name for this node.
    pub node: Option<String>,
    /// Tasks of the step; where there is none, those that the job was asked for with.
    pub tasks: Option<usize>,
    /// Tasks on each of [`step_nodes`](Self::step_nodes).
    pub tasks_per_node: Vec<usize>,
    /// CPUs of the job on each of [`nodes`](Self::nodes).
    pub cpus_per_node: Vec<usize>,
    /// CPUs of the job on this node.
    pub cpus_here: Option<usize>,
    /// CPUs for each task, where the job was asked for so.
    pub cpus_per_task: Option<usize>,
    /// The memory there is. Slurm does not tell a step that was started without a batch script, nor
    /// a job that has all of it.
    pub memory: Option<MemoryLimit>,
    /// The GPUs of this step or job on this node, by the scheduler's names.
    pub gpus: Vec<String>,
    /// The number of GPUs of the job on this node.
    pub gpus_here: Option<usize>,
    /// The binding that was asked for tasks.
    pub binding: Option<Binding>,
    /// Parts of a heterogeneous job.
    pub components: Vec<Component>,
    /// The number of the array of jobs that this job is one of, and its index in it.
    pub array: Option<(String, usize)>,
    /// The number of times that the job was put back into the queue and started again.
    pub restarts: usize,
    /// The time at which the scheduler will end it.
    pub ends: Option<SystemTime>,
    /// Variables that make no sense.
    pub malformed: Vec<Malformed>,
}

/// Memory that a job may use, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryLimit {
    /// The memory on each node.
    PerNode(u64),
    /// The memory for each of the CPUs that it has.
    PerCpu(u64),
    /// The memory for each of the GPUs that it has.
    PerGpu(u64),
}

/// A part of a heterogeneous job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Component {
    /// Its nodes.
    pub nodes: Vec<String>,
    /// Its tasks, where they are told.
    pub tasks: Option<usize>,
    /// CPUs on each of its nodes.
    pub cpus_per_node: Vec<usize>,
    /// CPUs for each task, where it was asked for so.
    pub cpus_per_task: Option<usize>,
}

impl Allocation {
    /// The allocation of this process; `None` outside of batch systems.
    pub fn detect() -> Option<Allocation> {
        let environment = Environment::detect();
        Self::read(&process_variable, &files::read, &environment)
    }

    /// Detects the allocation from any source of variables, such as a recorded environment. `file`
    /// gives the text of the files that they name.
    pub fn from_vars(
        vars: impl Fn(&str) -> Option<String>,
        file: impl Fn(&Path) -> Option<String>,
    ) -> Option<Allocation> {
        let environment = Environment::from_vars(&vars);
        Self::read(&vars, &file, &environment)
    }

    fn read(
        vars: &dyn Fn(&str) -> Option<String>,
        file: &dyn Fn(&Path) -> Option<String>,
        environment: &Environment,
    ) -> Option<Allocation> {
        let variables = Variables::new(vars);
        let mut allocation = slurm::read(&variables, environment)
            .or_else(|| pbs::read(&variables, file))
            .or_else(|| lsf::read(&variables))?;
        allocation.malformed = variables.into_malformed();
        Some(allocation)
    }

    /// An allocation of which only the scheduler and the job are known.
    fn of(scheduler: Scheduler, job: String) -> Self {
        Allocation {
            scheduler,
            job,
            name: None,
            queue: None,
            step: None,
            nodes: Vec::new(),
            step_nodes: Vec::new(),
            node: None,
            tasks: None,
            tasks_per_node: Vec::new(),
            cpus_per_node: Vec::new(),
            cpus_here: None,
            cpus_per_task: None,
            memory: None,
            gpus: Vec::new(),
            gpus_here: None,
            binding: None,
            components: Vec::new(),
            array: None,
            restarts: 0,
            ends: None,
            malformed: Vec::new(),
        }
    }

    /// A line about a program that no launcher has started in a job of several hosts, so that its
    /// ranks are threads of one of them: `alone on one of the 2 hosts of Slurm job 18`. It may be
    /// meant so, as a tool that prepares the input is; nothing else tells it apart from ranks whose
    /// launcher was forgotten.
    pub fn alone(&self, environment: &Environment) -> Option<String> {
        let (hosts, scheduler, job) = (self.nodes.len(), self.scheduler, &self.job);
        let alone = environment.launcher.is_none() && hosts > 1;
        alone.then(|| format!("alone on one of the {hosts} hosts of {scheduler} job {job}"))
    }

    /// The memory of the job on this node in bytes, where the scheduler's values tell it.
    pub fn memory_here(&self) -> Option<u64> {
        let times = |each: u64, many: Option<usize>| each.checked_mul(u64::try_from(many?).ok()?);
        match self.memory? {
            MemoryLimit::PerNode(bytes) => Some(bytes),
            MemoryLimit::PerCpu(bytes) => times(bytes, self.cpus_here),
            MemoryLimit::PerGpu(bytes) => times(bytes, self.gpus_here),
        }
    }

    /// The time that it may still run; zero once it should have ended.
    pub fn remaining(&self) -> Option<Duration> {
        let ends = self.ends?;
        Some(ends.duration_since(SystemTime::now()).unwrap_or_default())
    }
}

impl Variables<'_> {
    /// A variable that a parser makes something of; if it cannot, that is noted.
    fn parsed<R>(
        &self,
        names: &[&str],
        what: &'static str,
        parse: impl Fn(&str) -> Option<R>,
    ) -> Option<R> {
        let name = names.iter().find(|name| self.has(name))?;
        let value = self.text(name)?;
        let parsed = parse(value.trim());
        if parsed.is_none() {
            self.note(name, &value, what);
        }
        parsed
    }
}
