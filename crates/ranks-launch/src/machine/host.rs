//! The machine that this process runs on, as its kernel tells.

use std::path::Path;

pub use cpu_set::CpuSet;
pub use domain::Domain;
pub use gpus::Gpu;
pub use processors::{Cpu, NumaNode, Processors};

mod affinity;
mod cpu_set;
mod domain;
mod gpus;
mod identity;
mod processors;

use crate::machine::control_groups::ControlGroups;
use crate::machine::files::text;
use crate::machine::meminfo::Meminfo;

/// A machine, or the part of one that a container or a batch job is given, seen from one process.
///
/// Facts that the kernel does not tell are empty, 0 or `None`. Only Linux tells all; elsewhere
/// there are a name and, as many as the standard library counts, CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Host {
    /// The name by which it calls itself.
    pub name: String,
    /// A name of the running kernel: equal for all containers of a machine, and different on
    /// machines of one name.
    pub kernel: String,
    /// The part of the kernel that the process sees: equal for processes that share host name,
    /// network, processes and `/dev/shm`.
    pub container: String,
    /// CPUs and how they lie.
    pub processors: Processors,
    /// Memory in bytes.
    pub memory: u64,
    /// The most memory in bytes that its control groups allow.
    pub memory_limit: Option<u64>,
    /// The CPU time that its control groups allow, in thousandths of a CPU.
    pub cpu_limit: Option<u64>,
    /// GPUs of NVIDIA that the driver shows.
    pub gpus: Vec<Gpu>,
}

impl Host {
    /// Detects the host that this process runs on.
    pub fn detect() -> Host {
        let mut host = Self::below(Path::new("/"), affinity::allowed());
        if host.name.is_empty() {
            host.name = identity::name().unwrap_or_default();
        }
        host
    }

    /// Reads a host from a tree of files in the place of `/sys` and `/proc`, for a process that may
    /// run on these CPUs.
    fn below(root: &Path, allowed: CpuSet) -> Host {
        let groups = ControlGroups::below(root);
        let read = |path: &str| text(&root.join(path)).unwrap_or_default();
        Host {
            name: read("proc/sys/kernel/hostname"),
            kernel: read("proc/sys/kernel/random/boot_id"),
            container: identity::container(root),
            processors: Processors::below(&root.join("sys/devices/system"), allowed),
            memory: Meminfo::from_file(&root.join("proc/meminfo"))
                .bytes("MemTotal")
                .unwrap_or(0),
            memory_limit: groups.memory_limit(),
            cpu_limit: groups.cpu_limit(),
            gpus: gpus::below(root),
        }
    }

    /// Returns `true` if processes of both can share memory: on one kernel, in one container.
    pub fn is_same(&self, other: &Host) -> bool {
        self.is_same_machine(other) && self.container == other.container && self.name == other.name
    }

    /// Returns `true` if both are on one kernel, in whichever containers.
    pub fn is_same_machine(&self, other: &Host) -> bool {
        !self.kernel.is_empty() && self.kernel == other.kernel
    }

    /// The number of threads that a process that has this host for itself should compute with: one
    /// for each core it may run on, and no more than its control groups allow.
    pub fn recommended_threads(&self) -> usize {
        let cores = self.processors.allowed_cores();
        let limit = self
            .cpu_limit
            .and_then(|thousandths| usize::try_from(thousandths.div_ceil(1000)).ok());
        cores.min(limit.unwrap_or(cores)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let host = Host::detect();
        assert!(!host.name.is_empty());
        assert!(!host.kernel.is_empty());
        assert!(host.memory > 0);
        assert!(!host.processors.cpus.is_empty());
        assert!(!host.processors.allowed.is_empty());
        assert!(host.is_same(&Host::detect()));
        assert!(host.recommended_threads() >= 1);
        let numa: usize = host
            .processors
            .numa_nodes
            .iter()
            .map(|node| node.cpus.len())
            .sum();
        assert!(numa == 0 || numa == host.processors.cpus.len());
    }

    #[test]
    fn machines_of_one_name_are_told_apart() {
        let one = Host::detect();
        let mut other = one.clone();
        other.kernel = "another".to_owned();
        assert!(!one.is_same(&other) && !one.is_same_machine(&other));
        let mut other = one.clone();
        other.name.push('x');
        assert!(!one.is_same(&other) && one.is_same_machine(&other));
        let mut unknown = one.clone();
        unknown.kernel.clear();
        assert!(!unknown.is_same_machine(&unknown.clone()));
    }

    #[test]
    fn no_more_threads_than_the_groups_allow() {
        let mut host = Host::detect();
        host.cpu_limit = Some(500);
        assert_eq!(host.recommended_threads(), 1);
        host.cpu_limit = Some(u64::MAX);
        assert!(host.recommended_threads() >= 1);
    }

    #[test]
    fn nothing_is_told_without_files() {
        let host = Host::below(Path::new("/nonexistent"), CpuSet::default());
        assert_eq!((host.memory, host.name.as_str()), (0, ""));
        assert_eq!(host.recommended_threads(), 1);
    }
}
