//! The top of a crate's `src/` can be taken in at a glance: a dozen entries, in folders by concept.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::tree::Tree;

/// The entries that there may be, without the root module.
const MOST: usize = 12;

/// The crates that are held to it.
const COVERED: &[&str] = &[
    "ranks",
    "ranks-bootstrap",
    "ranks-cli",
    "ranks-collectives",
    "ranks-comm",
    "ranks-cuda",
    "ranks-launch",
    "ranks-load",
    "ranks-macros",
    "ranks-mpi-sys",
    "ranks-nccl",
    "ranks-nccl-sys",
    "ranks-numr",
    "ranks-nvshmem",
    "ranks-nvshmem-sys",
    "ranks-raw",
    "ranks-rma-window",
    "ranks-test",
    "ranks-test-macros",
    "ranks-trace",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in COVERED {
        let root = format!("crates/{name}/src/");
        let entries: BTreeSet<&str> = tree
            .paths()
            .filter_map(|path| path.strip_prefix(&root)?.split('/').next())
            .filter(|entry| !["lib.rs", "main.rs"].contains(entry))
            .collect();
        if entries.len() > MOST {
            let what = format!("{} entries at its top; {MOST} is the limit", entries.len());
            let fix = "put modules of one concept into a folder";
            findings.push(Finding::new(&root, 0, what, fix));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thirteenth_entry_is_found_and_folders_count_once() {
        let paths: Vec<String> = ["lib.rs", "main.rs", "folder/mod.rs", "folder/more.rs"]
            .map(str::to_owned)
            .into_iter()
            .chain((1..12).map(|number| format!("m{number}.rs")))
            .map(|name| format!("crates/ranks-nvshmem/src/{name}"))
            .collect();
        let mut files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        assert!(check(&Tree::of(&files)).is_empty());
        files.push(("crates/ranks-nvshmem/src/m12.rs", ""));
        let found = check(&Tree::of(&files));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "13 entries at its top; 12 is the limit");
    }
}
