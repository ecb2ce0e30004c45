//! The number of ranks that fit on this machine without sharing a core.

use std::collections::HashSet;
use std::fs::{self, DirEntry};
use std::path::Path;

use crate::allocation::Allocation;

/// Cores of all nodes that a batch system has given to the job, as if each had as many as this
/// machine.
pub(crate) fn of_job() -> usize {
    let nodes = Allocation::detect().map_or(1, |given| given.step_nodes.len().max(1));
    physical().saturating_mul(nodes)
}

/// Cores, not hardware threads, that this process may use: launchers count a slot per core.
pub(crate) fn physical() -> usize {
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let cores = siblings(Path::new("/sys/devices/system/cpu"), &allowed(&status));
    if cores == 0 {
        usable
    } else {
        usable.min(cores)
    }
}

/// The CPUs that the kernel allows in the status of a thread, as ranges; none where the system does
/// not tell.
fn allowed(status: &str) -> Vec<(usize, usize)> {
    let mut lines = status.lines();
    let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let range = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Some((first.parse().ok()?, last.parse().ok()?))
    };
    let ranges = list.unwrap_or_default().trim().split(',');
    ranges.filter_map(range).collect()
}

/// The number of different sets of hardware threads that share a core, among the allowed ones; 0
/// where the system does not tell.
fn siblings(folder: &Path, allowed: &[(usize, usize)]) -> usize {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let set = |entry: DirEntry| {
        let cpu: usize = entry
            .file_name()
            .to_str()?
            .strip_prefix("cpu")?
            .parse()
            .ok()?;
        let is_allowed = allowed
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&cpu));
        let list = entry.path().join("topology/thread_siblings_list");
        is_allowed.then(|| fs::read_to_string(list).ok())?
    };
    let sets: HashSet<String> = entries.flatten().filter_map(set).collect();
    sets.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_of_a_core_count_once() {
        let root = std::env::temp_dir().join(format!("ranks-launch-cores-{}", std::process::id()));
        for (cpu, set) in [
            ("cpu0", "0,2"),
            ("cpu1", "1,3"),
            ("cpu2", "0,2"),
            ("cpu3", "1,3"),
        ] {
            let folder = root.join(cpu).join("topology");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("thread_siblings_list"), set).unwrap();
        }
        assert_eq!(siblings(&root, &[(0, 3)]), 2);
        assert_eq!(siblings(&root.join("none"), &[(0, 3)]), 0);
        // Bound to both threads of one core, it counted for two.
        let bound = allowed("Name:\tranks\nCpus_allowed:\t5\nCpus_allowed_list:\t0,2\n");
        assert_eq!(siblings(&root, &bound), 1);
        assert_eq!(siblings(&root, &allowed("Cpus_allowed_list:\t1-2\n")), 2);
        assert_eq!(allowed(""), []);
        assert!(physical() >= 1);
        fs::remove_dir_all(root).unwrap();
    }
}
