//! The licences of all that is linked into a program: packages of others, Rust's library, zig's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ranks_harness::workspace;

use crate::command::succeeded;
use crate::tidy::metadata::{Metadata, Node, Package};
use crate::zig::{self, System};

/// A package that is built, or all of a workspace, and the workspace's folder.
pub(super) type Source<'a> = (Option<&'a str>, PathBuf);

/// The licences of Rust's standard library, in the folder of a toolchain.
const OF_RUST: &str = "share/doc/rust/COPYRIGHT-library.html";

/// The beginnings of names of files with licences.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// Copies them to a folder, with a list of all packages.
pub(super) fn copy(
    sources: &[Source<'_>],
    system: &System,
    provision: bool,
    to: &Path,
) -> Result<(), Box<dyn std::error::Error>> {
    fs::create_dir_all(to)?;
    let mut list = BTreeSet::new();
    for (package, folder) in sources {
        let mut cargo = Command::new(workspace::cargo().get_program());
        cargo.current_dir(folder);
        cargo.args(["metadata", "--format-version=1", "--filter-platform"]);
        let metadata = Metadata::told_by(cargo.arg(system.target()))?;
        for package in metadata.linked(*package) {
            let Package { name, version, .. } = package;
            let licence = package.license.as_deref().unwrap_or("see its files");
            list.insert(format!("{name} {version}: {licence}\n"));
            if package.source.is_some() {
                let from = package.manifest_path.parent().ok_or("a root")?;
                files(from, &to.join(format!("{name}-{version}")))?;
            }
        }
    }
    let folder = to.join("zig");
    fs::create_dir_all(&folder)?;
    for (file, name) in zig::licences(provision)?
        .into_iter()
        .zip(["LICENSE", "LICENSE-libunwind"])
    {
        fs::copy(file, folder.join(name))?;
    }
    let sysroot = succeeded(Command::new("rustc").args(["--print", "sysroot"]))?;
    let file = Path::new(sysroot.trim()).join(OF_RUST);
    fs::copy(&file, to.join("rust-library.html"))
        .map_err(|error| format!("{}: {error}", file.display()))?;
    fs::write(to.join("LIST"), String::from_iter(list))?;
    Ok(())
}

/// Copies the files of a folder that have licences.
fn files(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let upper = name.to_string_lossy().to_uppercase();
        let is_licence = NAMES.iter().any(|beginning| upper.starts_with(beginning));
        if is_licence && entry.path().is_file() {
            fs::create_dir_all(to)?;
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}

impl Metadata {
    /// The packages whose code is in programs of one package, or of all of the workspace: what it
    /// depends on, but neither what only builds it nor derives.
    fn linked(&self, of: Option<&str>) -> Vec<&Package> {
        let packages: BTreeMap<&str, &Package> = self
            .packages
            .iter()
            .map(|package| (package.id.as_str(), package))
            .collect();
        let nodes: BTreeMap<&str, &Node> = self
            .resolve
            .nodes
            .iter()
            .map(|node| (node.id.as_str(), node))
            .collect();
        let members = self.workspace_members.iter().map(String::as_str);
        let mut next: Vec<&str> = members
            .filter(|id| {
                of.is_none_or(|name| packages.get(id).is_some_and(|package| package.name == name))
            })
            .collect();
        let mut seen = BTreeSet::new();
        while let Some(id) = next.pop() {
            let derives = |package: &&Package| package.has_target("proc-macro");
            if packages.get(id).is_none_or(derives) || !seen.insert(id) {
                continue;
            }
            let edges = nodes.get(id).into_iter().flat_map(|node| &node.deps);
            let normal = edges.filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none()));
            next.extend(normal.map(|edge| edge.pkg.as_str()));
        }
        seen.iter()
            .filter_map(|id| packages.get(id).copied())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_listed_and_what_builds_it_is_not() {
        let package = |id: &str, kind: &str| {
            format!(
                "{{\"id\":\"{id}\",\"name\":\"{id}\",\"version\":\"1\",\"license\":null,\"source\":null,\"manifest_path\":\"/{id}/Cargo.toml\",\"targets\":[{{\"kind\":[\"{kind}\"]}}]}}"
            )
        };
        let packages = ["a", "b", "builds", "c", "other"].map(|id| package(id, "lib"));
        let packages = [packages.join(","), package("derive", "proc-macro")].join(",");
        let edge = |to: &str, kind: &str| {
            format!("{{\"pkg\":\"{to}\",\"dep_kinds\":[{{\"kind\":{kind}}}]}}")
        };
        let of_a = [
            edge("b", "null"),
            edge("builds", "\"build\""),
            edge("derive", "null"),
        ]
        .join(",");
        let of_b = edge("c", "null");
        let json = format!(
            "{{\"packages\":[{packages}],\"workspace_members\":[\"a\",\"other\"],\"resolve\":{{\"nodes\":[{{\"id\":\"a\",\"deps\":[{of_a}]}},{{\"id\":\"b\",\"deps\":[{of_b}]}}]}}}}"
        );
        let metadata: Metadata = serde_json::from_str(&json).unwrap();
        let names = |of| -> Vec<String> {
            let linked = metadata.linked(of).into_iter();
            linked.map(|package| package.name.clone()).collect()
        };
        assert_eq!(names(Some("a")), ["a", "b", "c"]);
        assert_eq!(names(None), ["a", "b", "c", "other"]);
    }
}
