//! One job: a launcher, its ranks, a time limit, and an end that leaves no process behind.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::DriverError;
use super::excerpt::excerpt;
use super::system;
use crate::record;

/// The time that a launcher has to end its ranks once it is asked to.
const TERMINATE_LIMIT: Duration = Duration::from_secs(3);

/// A running job.
#[derive(Debug)]
pub(crate) struct Job {
    launcher: Child,
    folder: PathBuf,
    ended: Option<ExitStatus>,
}

impl Job {
    /// Starts the command of a launcher; its ranks write their records into the folder.
    pub(crate) fn start(
        mut command: Command,
        ranks: usize,
        folder: &Path,
    ) -> Result<Job, DriverError> {
        let at_folder = |why| DriverError::Records {
            folder: folder.to_path_buf(),
            why,
        };
        let output = File::create(folder.join("launcher.output")).map_err(at_folder)?;
        let errors = output.try_clone().map_err(at_folder)?;
        command
            .env(record::REPORT, folder)
            .env(record::RANKS, ranks.to_string())
            // A rank of a job starts no jobs of its own.
            .env_remove(record::MPIS)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        let launcher = command.spawn().map_err(|why| DriverError::Launcher {
            program: PathBuf::from(command.get_program()),
            why,
        })?;
        Ok(Job {
            launcher,
            folder: folder.to_path_buf(),
            ended: None,
        })
    }

    /// The status that the launcher ended with, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.launcher.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Ends the launcher and all ranks: by its own means first, then by force.
    pub(crate) fn end(&mut self) {
        if self.ended().is_none() {
            // A launcher that is asked to end takes its ranks along; errors mean that it has just
            // ended.
            system::ask_to_end(&self.launcher);
            let limit = Instant::now() + TERMINATE_LIMIT;
            while self.ended().is_none() && Instant::now() < limit {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        if self.ended().is_none() {
            let _ = self.launcher.kill();
            self.ended = self.launcher.wait().ok();
        }
        self.end_what_is_left();
    }

    /// The launcher's own output.
    pub(crate) fn output(&self) -> String {
        let lines = excerpt(&self.folder.join("launcher.output"), 0);
        if lines.is_empty() {
            lines
        } else {
            format!("the launcher\n{lines}")
        }
    }

    /// Kills every process that carries this job's folder in its environment: ranks live in process
    /// groups of their own, and some launchers leave them behind when a peer crashed.
    ///
    /// Without such a list of processes, a rank that is left ends itself when its test times out.
    fn end_what_is_left(&self) {
        let mark = format!("{}={}", record::REPORT, self.folder.display());
        let Ok(processes) = std::fs::read_dir("/proc") else {
            return;
        };
        for process in processes.flatten() {
            let pid = process
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            let Some(pid) = pid else { continue };
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            if environment
                .split(|&byte| byte == 0)
                .any(|variable| variable == mark.as_bytes())
            {
                system::kill(pid);
            }
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.end();
    }
}
