//! The examples' executables: built once, and shown to be one and the same file on every MPI.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ranks_harness::programs;

use crate::command::succeeded;
use crate::dist::sum;

/// An executable and what identifies it.
pub(super) struct Executable {
    pub(super) example: &'static str,
    pub(super) path: PathBuf,
    hash: String,
    /// The libraries that it is linked with; `None` where `ldd` cannot be asked.
    linked: Option<Vec<String>>,
}

/// Builds the examples, as for release, and identifies those in `names`.
///
/// # Errors
/// A text for the user if cargo fails, or if there is no such example.
pub(super) fn build(names: &[&'static str]) -> Result<Vec<Executable>, String> {
    let built = programs::built(&["--release", "--package", "ranks-examples"])?;
    let identify = |&name: &&'static str| {
        let built = built.iter().find(|(built, _)| built == name);
        let (_, path) = built.ok_or_else(|| format!("cargo built no example `{name}`"))?;
        Executable::identify(name, path)
    };
    names.iter().map(identify).collect()
}

impl Executable {
    fn identify(example: &'static str, path: &Path) -> Result<Executable, String> {
        let hash = sum(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Executable {
            example,
            path: path.to_path_buf(),
            hash,
            linked: linked_with(path),
        })
    }

    /// Returns `true` if the file is still the one that was identified.
    pub(super) fn is_unchanged(&self) -> bool {
        sum(&self.path).is_ok_and(|hash| hash == self.hash)
    }

    /// The names of MPI libraries that it is linked with: there should be none.
    pub(super) fn linked_mpis(&self) -> Vec<&str> {
        let linked = self.linked.iter().flatten();
        linked
            .map(String::as_str)
            .filter(|name| name.to_ascii_lowercase().contains("mpi"))
            .collect()
    }
}

impl fmt::Display for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "every row of {} is this file: {}",
            self.example,
            self.path.display()
        )?;
        writeln!(f, "  sha256  {}", self.hash)?;
        match &self.linked {
            None => write!(f, "  ldd     cannot be asked here"),
            Some(linked) if self.linked_mpis().is_empty() => {
                write!(f, "  ldd     no MPI: {}", linked.join(", "))
            }
            Some(linked) => write!(f, "  ldd     {}", linked.join(", ")),
        }
    }
}

/// The library names that `ldd` prints, without the places that the loader finds them in.
fn linked_with(path: &Path) -> Option<Vec<String>> {
    let text = succeeded(Command::new("ldd").arg(path)).ok()?;
    let names = text
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let base = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    Some(names.map(base).collect())
}
