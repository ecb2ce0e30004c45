//! What the kernel tells in text: lists of CPUs, control groups and where they are mounted, tables,
//! processes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranks_launch::{CpuSet, Meminfo, fuzzing};

/// No kernel numbers its CPUs higher.
const MOST_CPUS: usize = 1 << 16;

fuzz_target!(|bytes: &[u8]| {
    let _ = fuzzing::parent(bytes);
    let text = &*String::from_utf8_lossy(bytes);
    // A set in a line, as files of the kernel have it.
    for line in text.lines() {
        if let Some(set) = CpuSet::parse(line) {
            check(&set);
        }
    }
    let groups = fuzzing::membership(text, "memory");
    for group in groups.into_iter().flatten() {
        assert!(text.contains(group));
        for folders in fuzzing::mounts(text, "memory", group).into_iter().flatten() {
            let mount = folders.last().expect("the mount itself is seen");
            assert!(folders.iter().all(|folder| folder.starts_with(mount)));
        }
    }
    let _ = fuzzing::statistics(text, &["inactive_file", "active_file"]);
    let _ = Meminfo::of(text).bytes("MemTotal");
});

fn check(set: &CpuSet) {
    let cpus: Vec<usize> = set.iter().collect();
    assert!(cpus.is_sorted_by(|one, other| one < other));
    assert!(cpus.len() <= MOST_CPUS && cpus.iter().all(|cpu| *cpu < MOST_CPUS));
    assert_eq!((set.len(), set.is_empty()), (cpus.len(), cpus.is_empty()));
    if cpus.len() <= 1 << 8 {
        assert!(cpus.iter().all(|cpu| set.contains(*cpu)));
        assert_eq!(set.overlaps(set), !set.is_empty());
    }
    if !set.is_empty() {
        assert_eq!(CpuSet::parse(&set.to_string()).as_ref(), Some(set));
    }
}
