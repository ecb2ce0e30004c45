//! The files of the workspace: those that git knows or would add.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use ranks_harness::workspace;

use super::code::{Blank, strip};
use crate::command::succeeded;

/// Paths from the root, with `/`, and the texts of those that are text.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, Option<String>>,
    code: OnceCell<BTreeMap<String, String>>,
}

impl Tree {
    /// The files of this workspace, with those that are not committed yet, without what git
    /// ignores.
    ///
    /// # Errors
    /// A sentence if git cannot list them.
    pub(crate) fn of_workspace() -> Result<Self, String> {
        let mut git = Command::new("git");
        git.current_dir(workspace::root());
        git.args(["ls-files", "-z", "--cached", "--others"]);
        let paths = succeeded(git.arg("--exclude-standard"))?;
        let mut files = BTreeMap::new();
        for path in paths.split_terminator('\0') {
            // One that was deleted and is still in the index is no file of the tree.
            if let Ok(bytes) = fs::read(workspace::root().join(path)) {
                files.insert(path.to_owned(), String::from_utf8(bytes).ok());
            }
        }
        Ok(Self {
            files,
            code: OnceCell::new(),
        })
    }

    /// A tree of these paths and texts.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|&(path, text)| (path.to_owned(), Some(text.to_owned())));
        Self {
            files: files.collect(),
            code: OnceCell::new(),
        }
    }

    /// Every path.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Every file that is text, with its path.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// Every Rust file, with its path.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// Every Rust file, with its path, without what its comments and strings say.
    pub(crate) fn code(&self) -> impl Iterator<Item = (&str, &str)> {
        let code = self.stripped().iter();
        code.map(|(path, code)| (path.as_str(), code.as_str()))
    }

    /// The same of one Rust file.
    pub(crate) fn code_of(&self, path: &str) -> Option<&str> {
        self.stripped().get(path).map(String::as_str)
    }

    fn stripped(&self) -> &BTreeMap<String, String> {
        let code =
            |(path, text): (&str, &str)| (path.to_owned(), strip(text, Blank::CommentsAndStrings));
        self.code.get_or_init(|| self.rust().map(code).collect())
    }

    /// The text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }
}

/// The folder name of the crate that a path below `crates/` is in.
pub(crate) fn crate_of(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.split('/').next()
}

/// Returns `true` if a program wrote the file.
pub(crate) fn is_generated(path: &str) -> bool {
    path.contains("/generated/") || path == "docs/coverage.md" || path.ends_with("Cargo.lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_has_a_manifest_and_this_file() {
        let tree = Tree::of_workspace().unwrap();
        assert!(
            tree.text("Cargo.toml")
                .is_some_and(|text| text.contains("[workspace]"))
        );
        assert!(
            tree.rust()
                .any(|(path, _)| path == "xtask/src/tidy/tree.rs")
        );
    }

    #[test]
    fn a_path_tells_its_crate_and_whether_it_is_generated() {
        assert_eq!(crate_of("crates/ranks-comm/src/lib.rs"), Some("ranks-comm"));
        assert_eq!(crate_of("xtask/src/main.rs"), None);
        assert!(is_generated("crates/ranks-mpi-sys/src/generated/types.rs"));
        assert!(!is_generated("crates/ranks-mpi-sys/src/types.rs"));
    }
}
