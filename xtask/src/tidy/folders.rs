//! The top of a crate's `src/` can be taken in at a glance: a dozen entries, in folders by concept.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::tree::Tree;

/// The entries that there may be, without the root module.
const MOST: usize = 12;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for path in tree.paths() {
        let parts = path.strip_prefix("crates/").map(|path| path.split('/'));
        let [name, "src", entry] = parts.into_iter().flatten().take(3).collect::<Vec<_>>()[..]
        else {
            continue;
        };
        if !["lib.rs", "main.rs"].contains(&entry) {
            crates.entry(name).or_default().insert(entry);
        }
    }
    let mut findings = Vec::new();
    for (name, entries) in crates {
        let root = format!("crates/{name}/src/");
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
