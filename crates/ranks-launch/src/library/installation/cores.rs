//! The number of ranks that fit on this machine without sharing a core.

use std::collections::HashSet;
use std::fs;
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
    let cores = siblings(Path::new("/sys/devices/system/cpu"));
    if cores == 0 {
        usable
    } else {
        usable.min(cores)
    }
}

/// The number of different sets of hardware threads that share a core; 0 where the system does not
/// tell.
fn siblings(folder: &Path) -> usize {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let sets: HashSet<String> = entries
        .filter_map(|entry| {
            fs::read_to_string(entry.ok()?.path().join("topology/thread_siblings_list")).ok()
        })
        .collect();
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
        assert_eq!(siblings(&root), 2);
        assert_eq!(siblings(&root.join("none")), 0);
        assert!(physical() >= 1);
        fs::remove_dir_all(root).unwrap();
    }
}
