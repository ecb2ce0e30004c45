//! Cargo's knowledge of the packages: whose they are, what they depend on, what they link.

use ranks_harness::workspace;
use serde::Deserialize;

/// Every package that cargo would build, the workspace's and others.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
}

/// One package.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    id: String,
    pub(crate) name: String,
    /// The native library that it says it links.
    pub(crate) links: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
    /// Registries that it may be published to; `None` if to any.
    publish: Option<Vec<String>>,
}

impl Package {
    /// Returns `true` if it may be published.
    pub(crate) fn is_published(&self) -> bool {
        self.publish.is_none()
    }
}

/// A dependency that a manifest names.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Absent for a normal one.
    pub(crate) kind: Option<String>,
}

/// Something that is built of a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) kind: Vec<String>,
}

impl Metadata {
    /// Those of this workspace and of what it depends on.
    ///
    /// # Errors
    /// Errors of cargo.
    pub(crate) fn of_workspace() -> Result<Self, String> {
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
    pub(crate) fn of(json: &str) -> Result<Self, String> {
        serde_json::from_str(json).map_err(|error| format!("cargo metadata: {error}"))
    }

    /// The packages of the workspace.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| self.workspace_members.contains(&package.id))
    }

    /// The packages of others.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| !self.workspace_members.contains(&package.id))
    }
}
