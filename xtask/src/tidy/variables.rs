//! The guide has a row for each environment variable that ranks reads, and for no other.

use std::collections::BTreeSet;

use ranks_launch::VARIABLES;

use super::finding::Finding;
use super::tree::Tree;

const GUIDE: &str = "docs/guide/environment.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    differences(tree.text(GUIDE).unwrap_or_default(), &VARIABLES)
}

fn differences(guide: &str, known: &[&str]) -> Vec<Finding> {
    let rows = guide.lines().filter_map(|line| line.split('|').nth(1));
    let told: BTreeSet<&str> = rows
        .flat_map(|cell| cell.split('`'))
        .filter(|name| name.starts_with("RANKS_"))
        .collect();
    let known = known.iter().copied().collect();
    let differing = told.symmetric_difference(&known);
    let finding = |name: &&str| {
        let fix = "a variable is both in a table here and in ranks_launch::VARIABLES";
        Finding::new(GUIDE, 0, format!("{name} is only in one place"), fix)
    };
    differing.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_in_one_place_alone_is_found() {
        let guide = "| variable | meaning |\n|---|---|\n| `RANKS_A`, `RANKS_B` | `RANKS_C` |\n";
        assert_eq!(differences(guide, &["RANKS_A", "RANKS_B"]), []);
        assert_eq!(differences(guide, &["RANKS_A"]).len(), 1);
        assert_eq!(
            differences(guide, &["RANKS_A", "RANKS_B", "RANKS_C"]).len(),
            1
        );
    }
}
