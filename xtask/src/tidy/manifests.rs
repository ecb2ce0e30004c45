//! Every crate has the lints of the workspace.

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
    without.map(finding).collect()
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
}
