//! The table of crates: what each stands on, and its layers; and how tables are read.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::finding::Finding;
use super::tree::Tree;

/// The file of the table, for those who have to change it.
pub(super) const PATH: &str = "xtask/src/tidy/crates.toml";

/// A crate.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Row {
    /// The crates that it depends on.
    pub(super) on: Vec<String>,
    /// Those that its tests use besides.
    pub(super) in_tests: Vec<String>,
    /// The modules at its top, from the bottom up; none if their order is not held.
    pub(super) layers: Vec<String>,
}

/// The rows, by the names of the crates.
///
/// # Errors
/// A finding if it is no table.
pub(super) fn of(tree: &Tree) -> Result<BTreeMap<String, Row>, Finding> {
    read(tree, PATH)
}

/// Reads the table in a file.
///
/// # Errors
/// A finding if it is no table of that form.
pub(super) fn read<T: DeserializeOwned>(tree: &Tree, path: &str) -> Result<T, Finding> {
    toml::from_str(tree.text(path).unwrap_or_default()).map_err(|error| {
        let fix = "write rows as the others are";
        Finding::new(path, 0, error.to_string(), fix)
    })
}
