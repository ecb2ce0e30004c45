//! A program for CPUs compiles no crate for GPUs: what the umbrella brings by default stands on
//! none.

use ranks_harness::workspace;

use super::finding::Finding;
use crate::command::succeeded;

const OF_GPUS: [&str; 5] = [
    "ranks-cuda",
    "ranks-nccl",
    "ranks-nccl-sys",
    "ranks-nvshmem",
    "ranks-nvshmem-sys",
];

pub(super) fn check() -> Vec<Finding> {
    let mut cargo = workspace::cargo();
    cargo.args(["tree", "--package=ranks", "--edges=normal"]);
    match succeeded(cargo.args(["--prefix=none", "--format={p}"])) {
        Ok(packages) => of_gpus(&packages),
        Err(why) => vec![Finding::new("Cargo.toml", 0, why, "see what cargo says")],
    }
}

/// Those in a list of packages, each in a line with its version.
fn of_gpus(packages: &str) -> Vec<Finding> {
    let names = packages.lines().filter_map(|line| line.split(' ').next());
    let mut found: Vec<&str> = names.filter(|name| OF_GPUS.contains(name)).collect();
    found.sort_unstable();
    found.dedup();
    let finding = |name| {
        Finding::new(
            "crates/ranks/Cargo.toml",
            0,
            format!("a program with the features that `ranks` has by default compiles {name}"),
            "put what needs it behind a feature, `gpu` or `raw`",
        )
    };
    found.into_iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_for_cpus_compiled_crates_for_gpus() {
        let list = "ranks v0.1.0 (/x)\nranks-cuda v0.1.0 (/x)\nbytemuck v1.25.2\nranks-cuda v0.1.0 (/x) (*)\n";
        let found = of_gpus(list);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.ends_with("ranks-cuda"), "{found:?}");
        assert_eq!(of_gpus("ranks v0.1.0 (/x)\nranks-comm v0.1.0 (/x)\n"), []);
    }
}
