//! Dependencies between the crates of the workspace: arrows go down only.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::metadata::{Dependency, Metadata, Package};
use super::table::{self, PATH};
use super::tree::Tree;

pub(super) fn check(tree: &Tree, metadata: &Metadata) -> Vec<Finding> {
    let table = match table::of(tree) {
        Ok(table) => table,
        Err(finding) => return vec![finding],
    };
    let members: BTreeSet<&str> = metadata
        .members()
        .map(|package| package.name.as_str())
        .collect();
    let mut findings = Vec::new();
    let mut find = |what: String, fix: &str| findings.push(Finding::new(PATH, 0, what, fix));
    for package in metadata.members() {
        let of = &package.name;
        let Some(row) = table.get(of) else {
            let fix = "give it a row, below what uses it and above what it uses";
            find(format!("{of} is not in the table of crates"), fix);
            continue;
        };
        for dependency in inside(package, &members) {
            let for_tests = dependency.kind.as_deref() == Some("dev");
            let name = &dependency.name;
            if !(row.on.contains(name) || for_tests && row.in_tests.contains(name)) {
                let fix = "move the code to where the arrows point, or change the design first";
                let what = format!("{of} depends on {name}, which the table does not allow");
                find(what, fix);
            }
        }
        for name in &row.on {
            if inside(package, &members).all(|dependency| dependency.name != *name) {
                let what = format!("{of} does not depend on {name}, as the table says");
                find(what, "take the name out of the row");
            }
        }
    }
    for name in table.keys().filter(|name| !members.contains(name.as_str())) {
        find(format!("there is no crate {name}"), "take its row out");
    }
    findings
}

/// The dependencies that are of this workspace.
fn inside<'a>(
    package: &'a Package,
    members: &'a BTreeSet<&str>,
) -> impl Iterator<Item = &'a Dependency> {
    package
        .dependencies
        .iter()
        .filter(|dependency| members.contains(dependency.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str = "[top]\non = ['bottom']\n";
    const BOTTOM: &str = "[bottom]\nin-tests = ['top']\n";

    fn against(rows: &[&str], metadata: &Metadata) -> Vec<Finding> {
        check(&Tree::of(&[(PATH, &rows.concat())]), metadata)
    }

    fn metadata(of_top: &str, of_bottom: &str) -> Metadata {
        let package = |name: &str, dependencies: &str| {
            format!(
                "{{\"id\":\"{name}\",\"name\":\"{name}\",\"links\":null,\"targets\":[],\"dependencies\":[{dependencies}]}}"
            )
        };
        let packages = [package("top", of_top), package("bottom", of_bottom)].join(",");
        let json =
            format!("{{\"packages\":[{packages}],\"workspace_members\":[\"top\",\"bottom\"]}}");
        Metadata::of(&json).unwrap()
    }

    fn on(name: &str, kind: &str) -> String {
        format!("{{\"name\":\"{name}\",\"kind\":{kind}}}")
    }

    #[test]
    fn the_edges_of_the_table_are_in_order() {
        let others = [on("bottom", "null"), on("serde", "null")].join(",");
        assert_eq!(
            against(&[TOP, BOTTOM], &metadata(&others, &on("top", "\"dev\""))),
            []
        );
    }

    #[test]
    fn an_edge_upwards_is_found_and_a_missing_one_too() {
        let upwards = against(
            &[TOP, BOTTOM],
            &metadata(&on("bottom", "null"), &on("top", "null")),
        );
        assert!(
            upwards[0].what.contains("bottom depends on top"),
            "{upwards:?}"
        );
        let missing = against(&[TOP, BOTTOM], &metadata("", ""));
        assert!(
            missing[0].what.contains("top does not depend on bottom"),
            "{missing:?}"
        );
    }

    #[test]
    fn crates_and_rows_match() {
        let all = metadata(&on("bottom", "null"), "");
        assert_eq!(against(&[TOP], &all).len(), 1, "a crate without a row");
        let one_more = [TOP, BOTTOM, "[gone]\n"];
        assert_eq!(against(&one_more, &all).len(), 1, "a row without a crate");
    }
}
