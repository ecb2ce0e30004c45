//! A test binary, as `cargo test --no-run` leaves it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;

use super::{Case, DriverError};

/// A binary of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    /// The name that reports call it by.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// The folder that its tests run in; cargo uses that of the package's manifest. None is where
    /// the driver runs.
    pub folder: Option<PathBuf>,
    /// Variables that its tests are to see beside those of the driver.
    pub environment: Vec<(String, String)>,
    /// The program that runs it, such as an emulator of its processor, and that program's
    /// arguments; empty where the system does.
    pub runner: Vec<OsString>,
}

impl Binary {
    /// The tests on ranks in it, in the order in which libtest runs them, without those that are
    /// ignored.
    ///
    /// # Errors
    /// If the binary cannot be run or is no test binary.
    pub fn cases(&self) -> Result<Vec<Case>, DriverError> {
        let ignored: BTreeSet<String> = self.list(&["--ignored"])?.into_iter().collect();
        let mut cases: Vec<Case> = self
            .list(&[])?
            .iter()
            .filter_map(|name| Case::parse(name))
            .filter(|case| !case.runs_in_process() || !ignored.contains(case.name()))
            .collect();
        cases.sort();
        Ok(cases)
    }

    /// The words that run it: those of its runner, and its path.
    pub(super) fn words(&self) -> impl Iterator<Item = &OsStr> {
        let runner = self.runner.iter().map(OsString::as_os_str);
        runner.chain([self.path.as_os_str()])
    }

    /// A command that runs the binary itself.
    fn command(&self) -> Command {
        let mut words = self.words();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.envs(self.environment.iter().map(|(key, value)| (key, value)));
        command
    }

    fn list(&self, more: &[&str]) -> Result<Vec<String>, DriverError> {
        let mut command = self.command();
        command.args(["--list", "--format", "terse"]).args(more);
        let output = command.output().map_err(|error| DriverError::Binary {
            path: self.path.clone(),
            why: error.to_string(),
        })?;
        if !output.status.success() {
            return Err(DriverError::Binary {
                path: self.path.clone(),
                why: format!(
                    "with --list it ended with {}: {}",
                    output.status,
                    String::from_utf8_lossy(&output.stderr).trim()
                ),
            });
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text
            .lines()
            .filter_map(|line| line.strip_suffix(": test"))
            .map(str::to_owned)
            .collect())
    }
}
