//! CPUs, and the cores, sockets, caches and memories that they belong to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::CpuSet;
use crate::machine::files::text;
use crate::machine::meminfo::Meminfo;

/// The CPUs of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Processors {
    /// The CPUs that the process may run on.
    pub allowed: CpuSet,
    /// All CPUs, ascending by number.
    pub cpus: Vec<Cpu>,
    /// The memories, ascending by number. A memory may have no CPUs.
    pub numa_nodes: Vec<NumaNode>,
}

/// A hardware thread.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Cpu {
    /// The kernel's number.
    pub number: usize,
    /// The lowest number among the threads of its core.
    pub core: usize,
    /// Its socket.
    pub socket: Option<usize>,
    /// The memory next to it.
    pub numa: Option<usize>,
    /// The lowest number among those that share its cache of the third level.
    pub l3: Option<usize>,
}

/// A memory that some CPUs are nearer to than others.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct NumaNode {
    /// The kernel's number.
    pub number: usize,
    /// Its size in bytes.
    pub bytes: u64,
    /// The CPUs next to it.
    pub cpus: CpuSet,
}

impl Processors {
    /// Reads the processors from a tree in the place of `/sys/devices/system`.
    pub(super) fn below(system: &Path, allowed: CpuSet) -> Processors {
        let numa_nodes = numa_nodes(&system.join("node"));
        let cpus = numbered(&system.join("cpu"), "cpu")
            .filter_map(|(number, folder)| cpu(number, &folder, &numa_nodes))
            .collect();
        Processors {
            allowed,
            cpus,
            numa_nodes,
        }
    }

    /// The number of cores that have a thread on which the process may run; as many as there are
    /// such threads where cores are not told.
    pub fn allowed_cores(&self) -> usize {
        let cores = self.count(|cpu| Some(cpu.core));
        if cores == 0 {
            self.allowed.len()
        } else {
            cores
        }
    }

    /// The number of sockets on which the process may run.
    pub fn allowed_sockets(&self) -> usize {
        self.count(|cpu| cpu.socket)
    }

    /// The memories next to CPUs that the process may run on.
    pub fn allowed_numa_nodes(&self) -> impl Iterator<Item = &NumaNode> {
        self.numa_nodes
            .iter()
            .filter(|node| node.cpus.overlaps(&self.allowed))
    }

    /// The CPUs that the process may run on.
    pub fn allowed_cpus(&self) -> impl Iterator<Item = &Cpu> {
        self.cpus
            .iter()
            .filter(|cpu| self.allowed.contains(cpu.number))
    }

    fn count(&self, of: impl Fn(&Cpu) -> Option<usize>) -> usize {
        self.allowed_cpus()
            .filter_map(of)
            .collect::<BTreeSet<_>>()
            .len()
    }
}

/// `None` for one that is switched off.
fn cpu(number: usize, folder: &Path, numa_nodes: &[NumaNode]) -> Option<Cpu> {
    if text(&folder.join("online")).is_some_and(|online| online == "0") {
        return None;
    }
    let topology = folder.join("topology");
    let first_of = |path: &Path| CpuSet::parse(&text(path)?)?.iter().next();
    let siblings = first_of(&topology.join("core_cpus_list"))
        .or_else(|| first_of(&topology.join("thread_siblings_list")));
    let socket = text(&topology.join("physical_package_id"));
    let l3 = numbered(&folder.join("cache"), "index")
        .find(|(_, cache)| text(&cache.join("level")).is_some_and(|level| level == "3"))
        .and_then(|(_, cache)| first_of(&cache.join("shared_cpu_list")));
    Some(Cpu {
        number,
        core: siblings.unwrap_or(number),
        // A machine without sockets says -1.
        socket: socket.and_then(|number| number.parse().ok()),
        numa: numa_nodes
            .iter()
            .find(|node| node.cpus.contains(number))
            .map(|node| node.number),
        l3,
    })
}

fn numa_nodes(folder: &Path) -> Vec<NumaNode> {
    numbered(folder, "node")
        .map(|(number, folder)| NumaNode {
            number,
            bytes: bytes(number, &folder),
            cpus: text(&folder.join("cpulist"))
                .and_then(|list| CpuSet::parse(&list))
                .unwrap_or_default(),
        })
        .collect()
}

/// The size of a memory in bytes. Its table has lines as `Node 0 MemTotal: 123 kB`.
fn bytes(number: usize, folder: &Path) -> u64 {
    let table = Meminfo::from_file(&folder.join("meminfo"));
    table.bytes(&format!("Node {number} MemTotal")).unwrap_or(0)
}

/// The entries of a folder that are called by this word and a number, ascending.
fn numbered(folder: &Path, word: &str) -> impl Iterator<Item = (usize, std::path::PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found: BTreeMap<usize, _> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let number = name.strip_prefix(word)?.parse().ok()?;
            Some((number, entry.path()))
        })
        .collect();
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::testing::Tree;

    /// Two sockets of two cores of two threads, a memory for each, and one CPU switched off.
    fn machine() -> Tree {
        let tree = Tree::new("processors");
        for cpu in 0..8 {
            let (core, socket) = (cpu % 4, cpu % 4 / 2);
            let of = |name: &str, text: &str| tree.put(&format!("cpu/cpu{cpu}/{name}"), text);
            of("topology/core_cpus_list", &format!("{core},{}\n", core + 4));
            of("topology/physical_package_id", &format!("{socket}\n"));
            of("cache/index0/level", "1\n");
            of("cache/index3/level", "3\n");
            let [first, second] = [2 * socket, 2 * socket + 4];
            of(
                "cache/index3/shared_cpu_list",
                &format!("{first}-{},{second}-{}\n", first + 1, second + 1),
            );
        }
        tree.put("cpu/cpu7/online", "0\n");
        tree.put("cpu/cpufreq/x", "");
        tree.put("node/node0/cpulist", "0-1,4-5\n");
        tree.put(
            "node/node0/meminfo",
            "Node 0 MemTotal:       1024 kB\nNode 0 MemFree: 1 kB\n",
        );
        tree.put("node/node1/cpulist", "2-3,6-7\n");
        tree
    }

    #[test]
    fn cores_sockets_caches_and_memories() {
        let tree = machine();
        let all = Processors::below(tree.root(), CpuSet::parse("1-2,5").unwrap());
        assert_eq!(all.cpus.len(), 7);
        let five = &all.cpus[5];
        assert_eq!(
            (five.number, five.core, five.socket, five.numa, five.l3),
            (5, 1, Some(0), Some(0), Some(0))
        );
        assert_eq!(all.cpus[6].l3, Some(2));
        assert_eq!(all.numa_nodes[0].bytes, 1 << 20);
        assert_eq!(all.numa_nodes[1].bytes, 0);
        assert_eq!((all.allowed_cores(), all.allowed_sockets()), (2, 2));
        assert_eq!(all.allowed_numa_nodes().count(), 2);
    }

    #[test]
    fn where_nothing_is_told_each_cpu_counts() {
        let tree = Tree::new("no-processors");
        let all = Processors::below(tree.root(), CpuSet::parse("0-2").unwrap());
        assert_eq!(all.allowed_cores(), 3);
        assert_eq!(all.allowed_sockets(), 0);
    }
}
