//! The machine: what programs may use of it.

use std::fs;
use std::path::Path;

use ranks_launch::{Count, Host, Meminfo};
use serde::Serialize;

use super::file_system::{Room, room};
use super::finding::Finding;

/// The folder in which MPIs and shared windows have their memory.
const SHARED: &str = "/dev/shm";
/// The least of it that is enough, in bytes: containers give 64 MiB, and four ranks take more for
/// themselves.
const LITTLE: u64 = 256 << 20;
/// The memory that adapters of InfiniBand register at least, in bytes.
const LOCKED: u64 = 64 << 20;

/// The resources that programs may use.
#[derive(Debug, Serialize)]
pub(super) struct Machine {
    pub(super) host: Host,
    pub(super) cores: usize,
    pub(super) sockets: usize,
    pub(super) numa_nodes: usize,
    pub(super) shared_memory: Option<Room>,
    /// `enabled` of transparent huge pages, and the same of shared memory.
    pub(super) huge_pages: [Option<String>; 2],
    /// Huge pages that are reserved.
    pub(super) huge_pages_reserved: u64,
    /// The memory that a process may lock, in bytes; `None` is no limit.
    pub(super) memlock: Option<u64>,
    /// The processes that may read another one's memory: 0 all of one user, 1 ancestors, 2 root, 3
    /// nobody.
    pub(super) ptrace_scope: Option<u32>,
    /// Adapters of InfiniBand and its like.
    pub(super) infiniband: Vec<String>,
}

impl Machine {
    pub(super) fn look() -> Machine {
        let host = Host::detect();
        let processors = &host.processors;
        let reserved = Meminfo::read().value("HugePages_Total");
        Machine {
            cores: processors.allowed_cores(),
            sockets: processors.allowed_sockets(),
            numa_nodes: processors.allowed_numa_nodes().count(),
            shared_memory: room(Path::new(SHARED)),
            huge_pages: ["enabled", "shmem_enabled"].map(|name| {
                chosen(&read(&format!(
                    "/sys/kernel/mm/transparent_hugepage/{name}"
                ))?)
            }),
            huge_pages_reserved: reserved.unwrap_or(0),
            memlock: read("/proc/self/limits").and_then(|text| memlock(&text)),
            ptrace_scope: read("/proc/sys/kernel/yama/ptrace_scope")
                .and_then(|text| text.trim().parse().ok()),
            infiniband: names(Path::new("/sys/class/infiniband")),
            host,
        }
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut list = Vec::new();
        match &self.shared_memory {
            // Other systems have none.
            None if !cfg!(target_os = "linux") => {}
            None => list.push(Finding::trouble(
                format!("there is no {SHARED}: MPIs and shared windows have no memory in common"),
                format!("mount -t tmpfs tmpfs {SHARED}"),
            )),
            Some(room) if room.free < LITTLE => list.push(Finding::trouble(
                format!(
                    "{SHARED} has {} and {} free: MPIs and shared windows keep their memory there, and a process that finds none is killed",
                    amount(room.size),
                    amount(room.free)
                ),
                format!("enlarge it: docker run --shm-size=…, or mount -o remount,size=… {SHARED}"),
            )),
            Some(_) => {}
        }
        if let Some(limit) = self.memlock.filter(|&limit| limit < LOCKED)
            && !self.infiniband.is_empty()
        {
            list.push(Finding::trouble(
                format!(
                    "a process may lock {} of memory, too little for {}",
                    amount(limit),
                    self.infiniband.join(", ")
                ),
                "ulimit -l unlimited, in /etc/security/limits.conf or by the scheduler",
            ));
        }
        if let Some(scope) = self.ptrace_scope.filter(|&scope| scope >= 2) {
            list.push(Finding::note(
                format!("kernel.yama.ptrace_scope is {scope}: ranks cannot copy from each other's memory, and copy twice"),
                "sysctl kernel.yama.ptrace_scope=1",
            ));
        }
        list
    }
}

fn read(file: &str) -> Option<String> {
    fs::read_to_string(file).ok()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The word in brackets.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// The soft limit of the line `Max locked memory`, of the text of `/proc/self/limits`; `None` where
/// there is none.
fn memlock(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max locked memory"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Bytes as people say them.
pub(super) fn amount(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes == u64::MAX {
        return "no limit".to_owned();
    }
    if bytes < 1024 {
        return Count(bytes, "byte").to_string();
    }
    let mut power = 1;
    while power < UNITS.len() && bytes >> (10 * power) >= 1024 {
        power += 1;
    }
    let tenths = u128::from(bytes) * 10 / (1_u128 << (10 * power));
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[power - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        assert_eq!(amount(12), "12 bytes");
        assert_eq!(amount(64 << 20), "64.0 MiB");
        assert_eq!(amount(3 << 29), "1.5 GiB");
        assert_eq!(amount(u64::MAX), "no limit");
    }

    #[test]
    fn what_the_kernel_writes_is_read() {
        assert_eq!(
            chosen("always [madvise] never\n").as_deref(),
            Some("madvise")
        );
        let limits =
            "Limit  Soft  Hard  Units\nMax locked memory         8388608   unlimited   bytes\n";
        assert_eq!(memlock(limits), Some(8 << 20));
        assert_eq!(
            memlock("Max locked memory   unlimited  unlimited  bytes\n"),
            None
        );
    }
}
