//! Cargo's knowledge of the packages: whose they are, what they depend on, what they link.

use std::path::PathBuf;
use std::process::Command;

use ranks_harness::workspace;
use serde::Deserialize;

use crate::command::succeeded;

/// Every package that cargo would build, the workspace's and others.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
    #[serde(default)]
    pub(crate) resolve: Resolve,
}

/// One package.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    /// Absent for one that is a folder.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: PathBuf,
    /// The native library that it says it links.
    pub(crate) links: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    targets: Vec<Target>,
    /// Registries that it may be published to; `None` if to any.
    publish: Option<Vec<String>>,
}

impl Package {
    /// Returns `true` if it may be published.
    pub(crate) fn is_published(&self) -> bool {
        self.publish.is_none()
    }

    /// Returns `true` if something of this kind is built of it.
    pub(crate) fn has_target(&self, kind: &str) -> bool {
        let mut kinds = self.targets.iter().flat_map(|target| &target.kind);
        kinds.any(|one| one == kind)
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
struct Target {
    kind: Vec<String>,
}

/// The packages that each package is compiled with.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Resolve {
    pub(crate) nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Edge {
    pub(crate) pkg: String,
    pub(crate) dep_kinds: Vec<Kind>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Kind {
    /// Absent for a normal one.
    pub(crate) kind: Option<String>,
}

impl Metadata {
    /// Those of this workspace and of what it depends on.
    ///
    /// # Errors
    /// Errors of cargo.
    pub(crate) fn of_workspace() -> Result<Self, String> {
        Self::told_by(workspace::cargo().args(["metadata", "--format-version=1"]))
    }

    /// Those that a `cargo metadata` tells of.
    ///
    /// # Errors
    /// Errors of cargo.
    pub(crate) fn told_by(cargo: &mut Command) -> Result<Self, String> {
        Self::of(&succeeded(cargo)?)
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
