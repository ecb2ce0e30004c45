//! Every crate has the lints of the workspace, also one that is a workspace of its own.

use super::finding::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let manifests = tree
        .texts()
        .filter(|(path, _)| path.ends_with("/Cargo.toml"));
    let without = manifests.filter(|(_, text)| !inherits(text));
    let finding = |(path, _)| {
        Finding::new(
            path,
            0,
            "the crate does not have the lints of the workspace",
            "write [lints] and workspace = true",
        )
    };
    let mut findings: Vec<Finding> = without.map(finding).collect();
    let ours = tree.text("Cargo.toml").and_then(lints);
    for (path, text) in tree.texts() {
        if !path.ends_with("/Cargo.toml") || !is_workspace(text) || lints(text) == ours {
            continue;
        }
        findings.push(Finding::new(
            path,
            0,
            "the lints of this workspace are others than those of the tree's",
            "copy [workspace.lints] from Cargo.toml",
        ));
    }
    findings
}

fn is_workspace(manifest: &str) -> bool {
    let manifest: Result<toml::Table, _> = toml::from_str(manifest);
    manifest.is_ok_and(|manifest| manifest.contains_key("workspace"))
}

/// The lints of a workspace.
fn lints(manifest: &str) -> Option<toml::Value> {
    let manifest: toml::Table = toml::from_str(manifest).ok()?;
    manifest.get("workspace")?.get("lints").cloned()
}

fn inherits(manifest: &str) -> bool {
    let manifest: Result<toml::Table, _> = toml::from_str(manifest);
    manifest.is_ok_and(|manifest| {
        let lints = manifest
            .get("lints")
            .and_then(|lints| lints.get("workspace"));
        lints.and_then(toml::Value::as_bool) == Some(true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let good = "[package]\nname = 'a'\n[lints]\nworkspace = true\n";
        let bad = "[package]\nname = 'a'\n[lints.clippy]\ntodo = 'allow'\n";
        assert_eq!(
            check(&Tree::of(&[
                ("crates/a/Cargo.toml", good),
                ("Cargo.toml", "[workspace]\n")
            ])),
            []
        );
        assert_eq!(check(&Tree::of(&[("crates/a/Cargo.toml", bad)])).len(), 1);
    }

    #[test]
    fn a_workspace_of_its_own_has_the_same_lints() {
        let root = "[workspace]\n[workspace.lints.clippy]\ntodo = 'deny'\n";
        let good = format!("[lints]\nworkspace = true\n{root}");
        let bad = good.replace("deny", "allow");
        let found = |text: &str| {
            let tree = Tree::of(&[("Cargo.toml", root), ("fuzz/Cargo.toml", text)]);
            check(&tree).len()
        };
        assert_eq!((found(&good), found(&bad)), (0, 1));
    }
}
