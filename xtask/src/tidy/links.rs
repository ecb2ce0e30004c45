//! Nothing links a native library, and nothing runs at build time: one executable is for every
//! host.

use super::code;
use super::finding::Finding;
use super::metadata::Metadata;
use super::tree::Tree;

/// Libraries that are opened at run time, and so linked by nobody.
const NATIVE: [&str; 6] = ["mpi", "nccl", "nvshmem", "cuda", "cudart", "ucx"];

pub(super) fn check(tree: &Tree, metadata: &Metadata) -> Vec<Finding> {
    let mut findings = in_files(tree);
    findings.extend(in_packages(metadata));
    findings
}

fn in_files(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in tree
        .paths()
        .filter(|path| path.rsplit('/').next() == Some("build.rs"))
    {
        let fix = "do at run time, or in xtask with a committed result, what it does";
        findings.push(Finding::new(path, 0, "a build script", fix));
    }
    for (path, code) in tree.code() {
        for (line, code) in code::lines(code) {
            let dense: String = code.split_whitespace().collect();
            if dense.contains("#[link(")
                || dense.contains("#![link(")
                || dense.contains("cfg_attr(") && dense.contains(",link(")
            {
                let fix = "open the library with ranks-load and call through a table";
                findings.push(Finding::new(path, line, "a native library is linked", fix));
            }
        }
    }
    findings
}

fn in_packages(metadata: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in metadata.members() {
        if let Some(links) = &package.links {
            let what = format!("{} has `links = \"{links}\"`", package.name);
            findings.push(Finding::new(
                "Cargo.toml",
                0,
                what,
                "take the key out: libraries are opened at run time",
            ));
        }
        if package.has_target("custom-build") {
            let what = format!("{} has a build script", package.name);
            findings.push(Finding::new(
                "Cargo.toml",
                0,
                what,
                "take `build` out of its manifest",
            ));
        }
    }
    for package in metadata.others() {
        let Some(links) = &package.links else {
            continue;
        };
        if NATIVE.contains(&links.trim_start_matches("lib")) {
            let what = format!("the dependency {} links {links}", package.name);
            findings.push(Finding::new(
                "Cargo.lock",
                0,
                what,
                "depend on something that opens it at run time",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(member: &str, other: &str) -> Metadata {
        let package = |id: &str, more: &str| {
            format!("{{\"id\":\"{id}\",\"name\":\"{id}\",\"dependencies\":[]{more}}}")
        };
        let packages = [package("a", member), package("b", other)].join(",");
        Metadata::of(&format!(
            "{{\"packages\":[{packages}],\"workspace_members\":[\"a\"]}}"
        ))
        .unwrap()
    }

    const PLAIN: &str = ",\"links\":null,\"targets\":[{\"kind\":[\"lib\"]}]";

    #[test]
    fn link_attributes_and_build_scripts_are_found() {
        let bad = Tree::of(&[
            ("crates/a/build.rs", "fn main() {}\n"),
            (
                "crates/a/src/lib.rs",
                "\n#[link(name = \"mpi\")]\nunsafe extern \"C\" {}\n",
            ),
        ]);
        let found = in_files(&bad);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(
            (found[1].path.as_str(), found[1].line),
            ("crates/a/src/lib.rs", 2)
        );
        let good = Tree::of(&[(
            "src/lib.rs",
            "// #[link(name = \"mpi\")]\n#[link_section = \"x\"]\nstatic X: u8 = 0;\n",
        )]);
        assert_eq!(in_files(&good), []);
    }

    #[test]
    fn links_keys_are_found_in_ours_and_in_others() {
        assert_eq!(in_packages(&metadata(PLAIN, PLAIN)), []);
        let ours = ",\"links\":\"z\",\"targets\":[{\"kind\":[\"custom-build\"]}]";
        assert_eq!(in_packages(&metadata(ours, PLAIN)).len(), 2);
        let theirs = ",\"links\":\"mpi\",\"targets\":[{\"kind\":[\"lib\"]}]";
        assert_eq!(in_packages(&metadata(PLAIN, theirs)).len(), 1);
        let harmless = ",\"links\":\"prettyplease02\",\"targets\":[{\"kind\":[\"custom-build\"]}]";
        assert_eq!(in_packages(&metadata(PLAIN, harmless)), []);
    }
}
