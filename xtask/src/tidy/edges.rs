//! Dependencies between the crates of the workspace: arrows go down only.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::metadata::{Dependency, Metadata, Package};

/// A crate, what it stands on, and what its tests use besides.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// From the top down. Examples in documentation stand on the umbrella, as those of a program that
/// depends on it alone.
const TABLE: [Row; 45] = [
    (
        "ranks-cli",
        &[
            "ranks",
            "ranks-comm",
            "ranks-cuda",
            "ranks-launch",
            "ranks-load",
            "ranks-mpi-sys",
            "ranks-nccl-sys",
            "ranks-nvshmem-sys",
        ],
        &[],
    ),
    (
        "ranks",
        &[
            "ranks-bootstrap",
            "ranks-collectives",
            "ranks-comm",
            "ranks-cuda",
            "ranks-macros",
            "ranks-nccl",
            "ranks-nvshmem",
            "ranks-raw",
            "ranks-rma-window",
        ],
        &["ranks-test"],
    ),
    (
        "ranks-nvshmem",
        &[
            "ranks-bootstrap",
            "ranks-collectives",
            "ranks-comm",
            "ranks-cuda",
            "ranks-launch",
            "ranks-nvshmem-sys",
            "ranks-raw",
        ],
        &[
            "cuda-double",
            "nvshmem-conformance",
            "nvshmem-double",
            "nvshmem-double-old",
            "ranks",
            "ranks-launch",
            "ranks-load",
            "ranks-test",
            "raw-conformance",
        ],
    ),
    (
        "ranks-numr",
        &["ranks-comm", "ranks-cuda", "ranks-nccl", "ranks-raw"],
        &[
            "cuda-double",
            "nccl-double",
            "ranks-bootstrap",
            "ranks-collectives",
            "ranks-test",
        ],
    ),
    (
        "ranks-nccl",
        &[
            "ranks-bootstrap",
            "ranks-collectives",
            "ranks-comm",
            "ranks-cuda",
            "ranks-nccl-sys",
            "ranks-raw",
        ],
        &[
            "cuda-double",
            "nccl-double",
            "nccl-double-old",
            "ranks",
            "ranks-load",
            "ranks-test",
            "raw-conformance",
        ],
    ),
    (
        "ranks-rma-window",
        &[
            "ranks-collectives",
            "ranks-comm",
            "ranks-launch",
            "ranks-mpi-sys",
        ],
        &["ranks", "ranks-scale", "ranks-test"],
    ),
    (
        "ranks-raw",
        &[
            "ranks-collectives",
            "ranks-comm",
            "ranks-cuda",
            "ranks-mpi-sys",
        ],
        &["cuda-double", "ranks", "ranks-test", "raw-conformance"],
    ),
    (
        "ranks-bootstrap",
        &["ranks-collectives", "ranks-comm"],
        &["ranks", "ranks-scale", "ranks-test"],
    ),
    (
        "ranks-collectives",
        &["ranks-comm", "ranks-launch", "ranks-mpi-sys"],
        &["ranks", "ranks-scale", "ranks-test"],
    ),
    ("ranks-nccl-sys", &["ranks-load"], &[]),
    ("ranks-nvshmem-sys", &["ranks-load"], &[]),
    ("ranks-cuda", &["ranks-load"], &["cuda-double", "ranks"]),
    (
        "ranks-comm",
        &["ranks-launch", "ranks-mpi-sys", "ranks-trace"],
        &["ranks", "ranks-scale", "ranks-test"],
    ),
    (
        "ranks-test",
        &["ranks-comm", "ranks-launch", "ranks-test-macros"],
        &["ranks"],
    ),
    ("ranks-test-macros", &[], &[]),
    ("ranks-macros", &[], &["ranks"]),
    ("ranks-launch", &["ranks-load"], &[]),
    (
        "ranks-mpi-sys",
        &["ranks-load"],
        &["ranks-comm", "ranks-test"],
    ),
    ("ranks-trace", &[], &[]),
    ("ranks-load", &[], &[]),
    // What is not published.
    (
        "ranks-examples",
        &["ranks"],
        &["cuda-double", "nccl-double", "nvshmem-double", "ranks-test"],
    ),
    (
        "ranks-bench-calls",
        &["ranks", "ranks-mpi-sys"],
        &[
            "cuda-double",
            "nvshmem-double",
            "ranks-bootstrap",
            "ranks-comm",
            "ranks-cuda",
            "ranks-nvshmem",
            "ranks-nvshmem-sys",
        ],
    ),
    (
        "ranks-jobs",
        &[
            "ranks",
            "ranks-comm",
            "ranks-launch",
            "ranks-load",
            "ranks-mpi-sys",
        ],
        &[
            "half-mpi",
            "pmpi-counter-int",
            "pmpi-counter-word",
            "ranks-harness",
        ],
    ),
    ("cuda-double", &[], &[]),
    (
        "ranks-gpu",
        &[
            "nvshmem-conformance",
            "ranks-bootstrap",
            "ranks-collectives",
            "ranks-comm",
            "ranks-cuda",
            "ranks-load",
            "ranks-nccl",
            "ranks-nccl-sys",
            "ranks-nvshmem",
            "ranks-nvshmem-sys",
            "ranks-raw",
            "raw-conformance",
        ],
        &["cuda-double", "nccl-double", "nvshmem-double"],
    ),
    ("ranks-derives", &["ranks"], &[]),
    (
        "ranks-errors",
        &[],
        &[
            "ranks",
            "ranks-launch",
            "ranks-load",
            "ranks-nccl-sys",
            "ranks-nvshmem-sys",
            "ranks-test",
        ],
    ),
    ("ranks-guide", &["ranks"], &["ranks-harness", "ranks-test"]),
    ("half-mpi", &[], &[]),
    (
        "nccl-double",
        &["ranks-load"],
        &[
            "cuda-double",
            "nccl-double-old",
            "ranks-cuda",
            "ranks-nccl-sys",
        ],
    ),
    ("nccl-double-old", &["ranks-load"], &[]),
    (
        "nvshmem-double",
        &["ranks-load"],
        &[
            "cuda-double",
            "nvshmem-double-old",
            "ranks-cuda",
            "ranks-nvshmem-sys",
        ],
    ),
    ("nvshmem-double-old", &["ranks-load"], &[]),
    ("panics", &["ranks-comm"], &[]),
    ("ranks-scale", &[], &[]),
    ("pmpi-counter-int", &["ranks-load"], &[]),
    ("pmpi-counter-word", &["ranks-load"], &[]),
    (
        "nvshmem-conformance",
        &[
            "ranks-collectives",
            "ranks-comm",
            "ranks-cuda",
            "ranks-nvshmem",
        ],
        &[],
    ),
    (
        "raw-conformance",
        &["ranks-comm", "ranks-cuda", "ranks-raw"],
        &[],
    ),
    (
        "xtask",
        &["ranks-harness", "ranks-launch", "ranks-test"],
        &[],
    ),
    (
        "ranks-cluster",
        &["ranks-harness", "ranks-launch", "ranks-test"],
        &[],
    ),
    ("ranks-harness", &["ranks-launch", "ranks-test"], &[]),
    ("codegen", &[], &[]),
    ("api", &[], &[]),
    ("ranks-atoms", &[], &[]),
];

/// The file of the table, for those who have to change it.
const HERE: &str = "xtask/src/tidy/edges.rs";

pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    against(&TABLE, metadata)
}

fn against(table: &[Row], metadata: &Metadata) -> Vec<Finding> {
    let members: BTreeSet<&str> = metadata
        .members()
        .map(|package| package.name.as_str())
        .collect();
    let mut findings = Vec::new();
    for package in metadata.members() {
        let Some((_, below, in_tests)) = table.iter().find(|(name, ..)| *name == package.name)
        else {
            let what = format!("{} is not in the table of crates", package.name);
            findings.push(Finding::new(
                HERE,
                0,
                what,
                "give it a row, below what uses it and above what it uses",
            ));
            continue;
        };
        for dependency in inside(package, &members) {
            let for_tests = dependency.kind.as_deref() == Some("dev");
            let name = dependency.name.as_str();
            let allowed = below.contains(&name) || for_tests && in_tests.contains(&name);
            if !allowed {
                let what = format!(
                    "{} depends on {name}, which the table does not allow",
                    package.name
                );
                findings.push(Finding::new(
                    HERE,
                    0,
                    what,
                    "move the code to where the arrows point, or change the design first",
                ));
            }
        }
        for name in below
            .iter()
            .filter(|name| inside(package, &members).all(|dependency| dependency.name != **name))
        {
            let what = format!(
                "{} does not depend on {name}, as the table says",
                package.name
            );
            findings.push(Finding::new(HERE, 0, what, "take the name out of the row"));
        }
    }
    for (name, ..) in table.iter().filter(|(name, ..)| !members.contains(name)) {
        findings.push(Finding::new(
            HERE,
            0,
            format!("there is no crate {name}"),
            "take its row out",
        ));
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

    const ROWS: [Row; 2] = [("top", &["bottom"], &[]), ("bottom", &[], &["top"])];

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
            against(&ROWS, &metadata(&others, &on("top", "\"dev\""))),
            []
        );
    }

    #[test]
    fn an_edge_upwards_is_found_and_a_missing_one_too() {
        let upwards = against(&ROWS, &metadata(&on("bottom", "null"), &on("top", "null")));
        assert!(
            upwards[0].what.contains("bottom depends on top"),
            "{upwards:?}"
        );
        let missing = against(&ROWS, &metadata("", ""));
        assert!(
            missing[0].what.contains("top does not depend on bottom"),
            "{missing:?}"
        );
    }

    #[test]
    fn crates_and_rows_match() {
        let all = metadata(&on("bottom", "null"), "");
        assert_eq!(against(&ROWS[..1], &all).len(), 1, "a crate without a row");
        let one_more = [ROWS[0], ROWS[1], ("gone", &[], &[])];
        assert_eq!(against(&one_more, &all).len(), 1, "a row without a crate");
    }
}
