//! The parts of a machine that CPUs belong to.

use std::collections::BTreeMap;
use std::fmt;

use super::{Cpu, CpuSet, Processors};

/// A kind of part of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Domain {
    /// The machine, or the container: the processes that share memory.
    Node,
    /// The CPUs of a socket.
    Socket,
    /// The CPUs next to one memory.
    Numa,
    /// The CPUs that share a cache of the third level.
    L3,
    /// The threads of a core.
    Core,
    /// A GPU.
    Gpu,
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Domain::Node => "node",
            Domain::Socket => "socket",
            Domain::Numa => "NUMA domain",
            Domain::L3 => "L3 cache",
            Domain::Core => "core",
            Domain::Gpu => "GPU",
        })
    }
}

impl Processors {
    /// Groups these CPUs by the number of the part of this kind that they belong to, ascending;
    /// those of which the kernel does not tell it are left out.
    ///
    /// A node is one part; of GPUs nothing is told here.
    pub fn parts(&self, of: &CpuSet, domain: Domain) -> Vec<(usize, CpuSet)> {
        let part_of = |cpu: &Cpu| match domain {
            Domain::Node => Some(0),
            Domain::Socket => cpu.socket,
            Domain::Numa => cpu.numa,
            Domain::L3 => cpu.l3,
            Domain::Core => Some(cpu.core),
            Domain::Gpu => None,
        };
        let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for cpu in self.cpus.iter().filter(|cpu| of.contains(cpu.number)) {
            if let Some(part) = part_of(cpu) {
                parts.entry(part).or_default().push(cpu.number);
            }
        }
        let sets = parts.into_iter();
        sets.map(|(part, cpus)| (part, cpus.into_iter().collect()))
            .collect()
    }

    /// The number of the one part of this kind that all of these CPUs belong to; `None` if there
    /// are several, or none is told.
    pub fn only_part(&self, of: &CpuSet, domain: Domain) -> Option<usize> {
        match self.parts(of, domain).as_slice() {
            [(part, cpus)] if cpus.len() == of.len() => Some(*part),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of two cores of two threads.
    fn machine() -> Processors {
        let cpu = |number: usize| Cpu {
            number,
            core: number % 4,
            socket: Some(number % 4 / 2),
            numa: Some(number % 4 / 2),
            l3: None,
        };
        Processors {
            allowed: CpuSet::default(),
            cpus: (0..8).map(cpu).collect(),
            numa_nodes: Vec::new(),
        }
    }

    #[test]
    fn parts_of_what_is_allowed() {
        let parts = |allowed: &str, domain| -> Vec<String> {
            let parts = machine()
                .parts(&CpuSet::parse(allowed).unwrap(), domain)
                .into_iter();
            parts
                .map(|(part, cpus)| format!("{part}: {cpus}"))
                .collect()
        };
        assert_eq!(parts("0-7", Domain::Socket), ["0: 0-1,4-5", "1: 2-3,6-7"]);
        assert_eq!(parts("1-3", Domain::Numa), ["0: 1", "1: 2-3"]);
        assert_eq!(parts("1,5", Domain::Core), ["1: 1,5"]);
        assert_eq!(parts("0-7", Domain::Node), ["0: 0-7"]);
        assert!(parts("0-7", Domain::L3).is_empty());
    }

    #[test]
    fn one_part_or_none() {
        let only = |cpus: &str, domain| machine().only_part(&CpuSet::parse(cpus).unwrap(), domain);
        assert_eq!(only("2-3,6", Domain::Socket), Some(1));
        assert_eq!(only("1-2", Domain::Socket), None);
        assert_eq!(only("1-2", Domain::Node), Some(0));
        assert_eq!(only("1-2", Domain::L3), None);
        // One that is not listed belongs to nothing that is known.
        assert_eq!(only("0,9", Domain::Socket), None);
    }
}
