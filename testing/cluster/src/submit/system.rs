//! Batch systems: what a script tells them, and how they are asked.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use super::super::slurm::By;
use super::Wish;

/// A batch system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum System {
    /// Slurm.
    Slurm,
    /// PBS Professional, OpenPBS, Torque.
    Pbs,
    /// LSF.
    Lsf,
    /// Flux.
    Flux,
}

/// All of them, in the order in which they are looked for.
const ALL: [System; 4] = [System::Slurm, System::Pbs, System::Lsf, System::Flux];

/// The states of jobs that have ended, of which some systems tell for a while.
const ENDED: [&str; 5] = ["C", "F", "DONE", "EXIT", "INACTIVE"];

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            System::Slurm => "Slurm",
            System::Pbs => "PBS",
            System::Lsf => "LSF",
            System::Flux => "Flux",
        })
    }
}

impl System {
    /// The one whose command is in `PATH`.
    pub(super) fn here() -> Option<System> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let has =
            |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
        ALL.into_iter().find(|system| has(system.submits()[0]))
    }

    /// The command that takes a script.
    pub(super) fn submits(self) -> &'static [&'static str] {
        match self {
            System::Slurm => &["sbatch", "--parsable"],
            System::Pbs => &["qsub"],
            System::Lsf => &["bsub"],
            System::Flux => &["flux", "batch"],
        }
    }

    /// The word by which that command says its version.
    pub(super) fn version(self) -> &'static str {
        match self {
            System::Lsf => "-V",
            _ => "--version",
        }
    }

    /// The command that ends a job.
    pub(super) fn ends(self) -> &'static str {
        match self {
            System::Slurm => "scancel",
            System::Pbs => "qdel",
            System::Lsf => "bkill",
            System::Flux => "flux cancel",
        }
    }

    /// Who can start ranks in its jobs.
    pub(super) fn starts(self) -> &'static [By] {
        match self {
            System::Slurm => &[By::Srun, By::Mpiexec],
            System::Flux => &[By::Flux, By::Mpiexec],
            System::Pbs | System::Lsf => &[By::Mpiexec],
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
        let (ranks, output) = (hosts * each, output.display());
        let (sign, [queue, account], mut lines) = match self {
            System::Slurm => (
                "#SBATCH",
                ["--partition=", "--account="],
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
                ["-q ", "-A "],
                vec![
                    "-N ranks".to_owned(),
                    format!("-l select={hosts}:ncpus={each}:mpiprocs={each}"),
                    format!("-l walltime={:02}:{:02}:00", minutes / 60, minutes % 60),
                    "-j oe".to_owned(),
                    format!("-o {output}"),
                ],
            ),
            System::Lsf => (
                "#BSUB",
                ["-q ", "-P "],
                vec![
                    "-J ranks".to_owned(),
                    format!("-n {ranks}"),
                    format!("-R \"span[ptile={each}]\""),
                    format!("-W {minutes}"),
                    format!("-o {output}"),
                ],
            ),
            System::Flux => (
                "#flux:",
                ["--queue=", "--bank="],
                vec![
                    "--job-name=ranks".to_owned(),
                    format!("--nodes={hosts}"),
                    format!("--nslots={ranks}"),
                    format!("--time-limit={minutes}m"),
                    format!("--output={output}"),
                ],
            ),
        };
        lines.extend(wish.queue.iter().map(|name| format!("{queue}{name}")));
        lines.extend(wish.account.iter().map(|name| format!("{account}{name}")));
        lines.extend(wish.directives.iter().cloned());
        lines
            .into_iter()
            .map(|line| format!("{sign} {line}"))
            .collect()
    }

    /// The line of a script that makes an array of the names of its hosts.
    pub(super) fn hosts(self) -> &'static str {
        match self {
            System::Slurm => {
                r#"mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")"#
            }
            System::Pbs => r#"mapfile -t hosts < <(sort -u "$PBS_NODEFILE")"#,
            System::Lsf => r#"mapfile -t hosts < <(sort -u "$LSB_DJOB_HOSTFILE")"#,
            System::Flux => r#"read -ra hosts <<< "$(flux hostlist --expand instance)""#,
        }
    }

    /// Submits a script; returns the number of the job.
    pub(super) fn submit(self, script: &Path) -> Result<String, String> {
        let words = self.submits();
        let failed = |why: String| format!("{}: {why}", words.join(" "));
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        if self == System::Lsf {
            // It reads directives there alone.
            let file = File::open(script).map_err(|error| failed(error.to_string()))?;
            command.stdin(file);
        } else {
            command.arg(script);
        }
        let output = command
            .output()
            .map_err(|error| failed(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let job = self.job(&text);
        if !output.status.success() || job.is_empty() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(failed(format!("{} {}", output.status, errors.trim())));
        }
        Ok(job.to_owned())
    }

    /// The number of a job in what is said of its submission.
    fn job(self, said: &str) -> &str {
        let line = said.lines().last().unwrap_or_default();
        let job = match self {
            // It names its cluster behind a `;` where there are several.
            System::Slurm => line.split(';').next(),
            // Job <123> is submitted to queue <normal>.
            System::Lsf => line.split(['<', '>']).nth(1),
            System::Pbs | System::Flux => Some(line),
        };
        job.unwrap_or_default().trim()
    }

    /// What the batch system says of a job; nothing if it knows it no more.
    pub(super) fn state(self, job: &str) -> Option<String> {
        let words: &[&str] = match self {
            System::Slurm => &["squeue", "--noheader", "--format=%T", "--jobs", job],
            System::Pbs => &["qstat", job],
            System::Lsf => &["bjobs", "-noheader", "-o", "stat", job],
            System::Flux => &["flux", "jobs", "--no-header", "--format={state}", job],
        };
        let output = Command::new(words[0])
            .args(&words[1..])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().last().unwrap_or_default().trim();
        let word = match self {
            // Number, name, user, time, state, queue.
            System::Pbs => line.split_whitespace().nth(4).unwrap_or_default(),
            _ => line,
        };
        let known = output.status.success() && !word.is_empty() && !ENDED.contains(&word);
        known.then(|| word.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_job_is_in_what_its_system_says() {
        for (system, said, job) in [
            (System::Slurm, "18\n", "18"),
            (System::Slurm, "18;cluster\n", "18"),
            (System::Pbs, "12.server\n", "12.server"),
            (
                System::Lsf,
                "Job <77> is submitted to queue <normal>.\n",
                "77",
            ),
            (System::Flux, "f2WmVtZ7\n", "f2WmVtZ7"),
            (System::Lsf, "Request aborted\n", ""),
            (System::Slurm, "", ""),
        ] {
            assert_eq!(system.job(said), job, "{said}");
        }
    }
}
