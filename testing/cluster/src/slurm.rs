//! `cargo xtask cluster slurm`: one job after the other under a real Slurm, on each MPI, by `srun`
//! and by the MPI's own `mpiexec`.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use ranks_harness::{faults, mpi};
use ranks_launch::{Installation, Starter};
use ranks_test::driver::KnownFault;
use serde::{Deserialize, Serialize};

use super::job::{self, copied, on_host};
use super::lifetime::{Cluster, Life};
use super::namespaces::Right;
use super::network::Traffic;
use super::state::State;
use super::verdict::{self, End, Expected, Mark};
use super::wire::Request;
use super::{names, network};
use crate::Outcome;

mod daemons;

pub(super) use daemons::here;
use daemons::start;

/// Starts Slurm on a cluster, which does not stay without it; returns how long that took.
pub(super) fn on(cluster: &Cluster) -> Result<Duration, String> {
    let state = cluster.state();
    start(state).inspect_err(|_| {
        // It may have ended by itself.
        let _ = state.end(names::HEAD);
        state.remove();
    })
}

/// What to run, on what, and who starts it.
#[derive(clap::Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// Who starts the ranks.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [By::Srun, By::Mpiexec])]
    by: Vec<By>,
    #[command(flatten)]
    job: job::Arguments,
}

/// Who starts the ranks of a job of a batch system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(super) enum By {
    /// Slurm itself.
    Srun,
    /// Flux itself.
    Flux,
    /// The launcher that belongs to the MPI, inside of an allocation. Slurm starts its daemons.
    Mpiexec,
}

impl By {
    /// The same as jobs call it.
    pub(super) fn starter(self) -> Starter {
        match self {
            By::Srun => Starter::Srun,
            By::Flux => Starter::FluxRun,
            By::Mpiexec => Starter::Launcher,
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            By::Srun => "srun",
            By::Flux => "flux",
            By::Mpiexec => "mpiexec",
        })
    }
}

pub(super) fn main(arguments: &Arguments, name: &str, right: Right) -> Outcome {
    let job = &arguments.job;
    if job.ppn == 0 {
        return Err("a host needs at least one rank".into());
    }
    if arguments.by.contains(&By::Flux) {
        return Err("flux run is of Flux, not of Slurm".into());
    }
    let all = job.mpi == ["all"];
    let chosen = mpi::matrix(if all { &[] } else { &job.mpi })?;
    let (program, rest) = job::program(&job.program)?;
    let jobs = Jobs {
        expected: Expected {
            hosts: job.hosts,
            ranks_per_host: job.ppn,
            bytes: job.least_bytes(),
            most: None,
            may_hang_at_end: false,
        },
        deadline: job.deadline,
        program: &program,
        rest: &rest,
        right,
        name: if name == "up" {
            format!("slurm-{}", std::process::id())
        } else {
            name.to_owned()
        },
    };
    let mut cluster = None;
    let (mut ran, mut failed) = (0, 0);
    for installation in &chosen {
        for by in &arguments.by {
            let mut result = jobs.run(&mut cluster, installation, *by);
            if *by == By::Srun
                && let Err(why) = &result
                && let Some(KnownFault { reason, link, .. }) = faults::by_srun(installation)?
            {
                println!(
                    "{} by {by}, run once more: {reason} {link}: {why}",
                    installation.name
                );
                cluster = None;
                result = jobs.run(&mut cluster, installation, *by);
            }
            ran += 1;
            match result {
                Ok(line) => println!("{:<16} {by:<8} {line}", installation.name),
                Err(why) => {
                    failed += 1;
                    println!("{:<16} {by:<8} FAILED: {why}", installation.name);
                    // Whatever is left of the job does not disturb the next one.
                    cluster = None;
                }
            }
        }
    }
    println!(
        "{} of {ran} jobs ran under Slurm over {} hosts",
        ran - failed,
        job.hosts
    );
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// A job that is run on one MPI after the other.
struct Jobs<'a> {
    expected: Expected,
    deadline: Duration,
    program: &'a Path,
    rest: &'a [String],
    right: Right,
    name: String,
}

impl Jobs<'_> {
    /// The cluster with its Slurm: the one of the job before, or else a new one.
    fn cluster<'c>(&self, cluster: &'c mut Option<Cluster>) -> Result<&'c Cluster, String> {
        if cluster.is_none() {
            let (state, program) = (State::named(&self.name)?, Some(self.program));
            let made = Cluster::up(state, self.expected.hosts, self.right, Life::Held, program)?;
            let ready = on(&made)?;
            println!(
                "hosts up after {:.0?}, Slurm after {ready:.0?} more",
                made.took()
            );
            *cluster = Some(made);
        }
        cluster
            .as_ref()
            .ok_or_else(|| "no cluster was made".to_owned())
    }

    /// The command that submits the job.
    fn command(&self, installation: &Installation, by: By) -> Command {
        let (hosts, each) = (self.expected.hosts, self.expected.ranks_per_host);
        let ranks = hosts * each;
        let own = installation.command(ranks);
        let layout = [
            format!("--nodes={hosts}"),
            format!("--ntasks-per-node={each}"),
        ];
        let mut command = match by {
            By::Srun => {
                let mut command = installation.srun(ranks, &[]);
                command.args(layout);
                command
            }
            By::Flux | By::Mpiexec => {
                let mut command = Command::new("salloc");
                command.arg("--quiet").args(layout).arg("--");
                command.arg(own.get_program()).args(own.get_args());
                command
            }
        };
        // What its launcher is told where there are more ranks than cores is good for them under
        // Slurm, too; but where they go Slurm has said: Open MPI 5 would put all of them on the
        // first host.
        for (name, value) in own.get_envs() {
            let of_places = name.to_string_lossy().contains("rmaps");
            match value.filter(|_| !of_places) {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.arg(self.program).args(self.rest);
        command
    }

    /// Runs it; says how it was, or why it is not believed.
    fn run(
        &self,
        cluster: &mut Option<Cluster>,
        installation: &Installation,
        by: By,
    ) -> Result<String, String> {
        let state = self.cluster(cluster)?.state();
        let before = traffic(state)?;
        let command = self.command(installation, by);
        let failed = |error: io::Error| error.to_string();
        let ((output, write), (errors, write_errors)) =
            (io::pipe().map_err(failed)?, io::pipe().map_err(failed)?);
        let null = File::open("/dev/null").map_err(failed)?;
        let started = Instant::now();
        let launcher = state.ask(
            &names::host(0),
            &Request::Run(on_host(state, &command)?),
            [null.as_fd(), write.as_fd(), write_errors.as_fd()],
        )?;
        drop((write, write_errors));
        let readers = [
            thread::spawn(|| copied(output, false)),
            thread::spawn(|| copied(errors, true)),
        ];
        // The deadline ends Slurm itself with all else, and so whatever holds the streams.
        let end = job::wait(state, &launcher, started + self.deadline);
        let took = started.elapsed();
        let [output, _] = readers.map(|reader| reader.join().unwrap_or_default());
        let traffic = if end == End::Lost {
            BTreeMap::new()
        } else {
            since(&before, traffic(state)?)
        };
        let faults = verdict::faults(self.expected, end, &Mark::all(&output), &traffic);
        let line = format!("job {:.2} s", took.as_secs_f64());
        if faults.is_empty() {
            Ok(line)
        } else {
            Err(format!("{}; {line}", faults.join("; ")))
        }
    }
}

fn traffic(state: &State) -> Result<BTreeMap<usize, Traffic>, String> {
    Ok(network::traffic(
        &state.read(names::HEAD, &["cat", "/proc/net/dev"])?,
    ))
}

fn since(
    before: &BTreeMap<usize, Traffic>,
    mut now: BTreeMap<usize, Traffic>,
) -> BTreeMap<usize, Traffic> {
    for (host, traffic) in &mut now {
        let before = before.get(host).copied().unwrap_or_default();
        traffic.sent = traffic.sent.saturating_sub(before.sent);
        traffic.received = traffic.received.saturating_sub(before.received);
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_of_jobs_before_does_not_count() {
        let of = |sent, received| BTreeMap::from([(1, Traffic { sent, received })]);
        assert_eq!(since(&of(10, 100), of(11, 170)), of(1, 70));
        assert_eq!(since(&BTreeMap::new(), of(1, 2)), of(1, 2));
    }
}
