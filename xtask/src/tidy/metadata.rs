//! Cargo's knowledge of the packages: whose they are, what they depend on, what they link.

use ranks_harness::workspace;
use serde::Deserialize;

/// Every package that cargo would build, the workspace's and others.
#[derive(Debug, Deserialize)]
pub(super) struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
}

/// One package.
#[derive(Debug, Deserialize)]
pub(super) struct Package {
    id: String,
    pub(super) name: String,
    /// The native library that it says it links.
    pub(super) links: Option<String>,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) targets: Vec<Target>,
}

/// A dependency that a manifest names.
#[derive(Debug, Deserialize)]
pub(super) struct Dependency {
    pub(super) name: String,
    /// Absent for a normal one.
    pub(super) kind: Option<String>,
}

/// Something that is built of a package.
#[derive(Debug, Deserialize)]
pub(super) struct Target {
    pub(super) kind: Vec<String>,
}

impl Metadata {
    /// Those of this workspace and of what it depends on.
    ///
    /// # Errors
    /// Errors of cargo.
    pub(super) fn of_workspace() -> Result<Self, String> {
        let output = workspace::cargo()
            .args(["metadata", "--format-version", "1"])
            .output()
            .map_err(|error| format!("cargo metadata: {error}"))?;
        if !output.status.success() {
            return Err(format!(
                "cargo metadata: {}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        Self::of(&String::from_utf8_lossy(&output.stdout))
    }

    /// The output of `cargo metadata`.
    pub(super) fn of(json: &str) -> Result<Self, String> {
        serde_json::from_str(json).map_err(|error| format!("cargo metadata: {error}"))
    }

    /// The packages of the workspace.
    pub(super) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| self.workspace_members.contains(&package.id))
    }

    /// The packages of others.
    pub(super) fn others(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| !self.workspace_members.contains(&package.id))
    }
}
