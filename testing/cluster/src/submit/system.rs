//! Batch systems: what a script tells them, and how they are asked.

use std::path::Path;
use std::process::{Command, Stdio};

use super::Wish;

/// A batch system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum System {
    /// Slurm.
    Slurm,
    /// PBS Professional, OpenPBS, Torque.
    Pbs,
}

impl System {
    /// The one whose command is in `PATH`.
    pub(super) fn here() -> Option<System> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let has =
            |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
        [System::Slurm, System::Pbs]
            .into_iter()
            .find(|system| has(system.submits()))
    }

    /// The command that takes a script.
    pub(super) fn submits(self) -> &'static str {
        match self {
            System::Slurm => "sbatch",
            System::Pbs => "qsub",
        }
    }

    /// The command that ends a job.
    pub(super) fn ends(self) -> &'static str {
        match self {
            System::Slurm => "scancel",
            System::Pbs => "qdel",
        }
    }

    /// The first lines of a script: what it asks for.
    pub(super) fn directives(self, wish: &Wish, output: &Path) -> Vec<String> {
        let Wish {
            hosts,
            each,
            minutes,
            ..
        } = wish;
        let output = output.display();
        let (sign, mut lines) = match self {
            System::Slurm => (
                "#SBATCH",
                vec![
                    "--job-name=ranks".to_owned(),
                    format!("--nodes={hosts}"),
                    format!("--ntasks-per-node={each}"),
                    format!("--time={minutes}"),
                    format!("--output={output}"),
                ],
            ),
            System::Pbs => (
                "#PBS",
                vec![
                    "-N ranks".to_owned(),
                    format!("-l select={hosts}:ncpus={each}:mpiprocs={each}"),
                    format!("-l walltime={:02}:{:02}:00", minutes / 60, minutes % 60),
                    "-j oe".to_owned(),
                    format!("-o {output}"),
                ],
            ),
        };
        let (queue, account) = match self {
            System::Slurm => ("--partition=", "--account="),
            System::Pbs => ("-q ", "-A "),
        };
        lines.extend(wish.queue.iter().map(|name| format!("{queue}{name}")));
        lines.extend(wish.account.iter().map(|name| format!("{account}{name}")));
        lines.extend(wish.directives.iter().cloned());
        lines
            .into_iter()
            .map(|line| format!("{sign} {line}"))
            .collect()
    }

    /// Submits a script; returns the number of the job.
    pub(super) fn submit(self, script: &Path) -> Result<String, String> {
        let mut command = Command::new(self.submits());
        if self == System::Slurm {
            command.arg("--parsable");
        }
        let failed = |why: String| format!("{}: {why}", self.submits());
        let output = command
            .arg(script)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        // Slurm names its cluster behind a `;` where there are several.
        let job = text.lines().last().unwrap_or_default();
        let job = job.split(';').next().unwrap_or_default().trim();
        if !output.status.success() || job.is_empty() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(failed(format!("{} {}", output.status, errors.trim())));
        }
        Ok(job.to_owned())
    }

    /// What the batch system says of a job; nothing if it knows it no more.
    pub(super) fn state(self, job: &str) -> Option<String> {
        let mut command = match self {
            System::Slurm => {
                let mut command = Command::new("squeue");
                command.args(["--noheader", "--format=%T", "--jobs", job]);
                command
            }
            System::Pbs => {
                let mut command = Command::new("qstat");
                command.arg(job);
                command
            }
        };
        let output = command
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().last().unwrap_or_default().trim();
        let word = match self {
            System::Slurm => line,
            // Number, name, user, time, state, queue.
            System::Pbs => line.split_whitespace().nth(4).unwrap_or_default(),
        };
        (output.status.success() && !word.is_empty()).then(|| word.to_owned())
    }
}
