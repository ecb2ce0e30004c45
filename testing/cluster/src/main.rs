//! `ranks-cluster`, which `cargo xtask cluster` calls: hosts that are made of namespaces of this
//! machine, and jobs over them.
//!
//! A host has its own network, names, processes, System V objects and mounts. All are at one
//! bridge, which is in namespaces of its own too, so nothing of a cluster is seen from outside.
//! Launchers of real MPIs start programs on hosts through an agent that they take for `ssh`.

#![deny(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a command talks to its user")]

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};

mod agent;
mod doctor;
mod faults;
mod job;
mod lifetime;
mod losses;
mod mounts;
mod names;
mod namespaces;
mod network;
mod notes;
mod roles;
mod service;
mod slurm;
mod state;
mod submit;
mod suites;
mod verdict;
mod wire;

use lifetime::{Cluster, Life};
use namespaces::Right;
use state::State;

/// What this program is called where it is the agent of launchers.
const AGENTS: [&str; 2] = ["ssh", "rsh"];

/// The variable by which cargo downloads nothing.
const OFFLINE: &str = "CARGO_NET_OFFLINE";

/// The roles of this program, which it is called by: the processes that a cluster is made of.
const HEAD: &str = "ranks-cluster-head";
const HOST: &str = "ranks-cluster-host";
const FIRST: &str = "ranks-cluster-first";
const START: &str = "ranks-cluster-start";

/// Hosts that are made of namespaces of this machine, and jobs over them by the launchers of real
/// MPIs.
#[derive(Parser)]
#[command(name = "cargo xtask cluster", bin_name = "cargo xtask cluster")]
struct Arguments {
    /// Which cluster, where several are up at once.
    #[arg(long, global = true, default_value = "up")]
    name: String,
    /// By what right namespaces are made.
    #[arg(long, global = true, value_enum, default_value_t = Right::Any)]
    right: Right,
    /// Lets cargo download nothing.
    #[arg(long, global = true)]
    offline: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Says whether hosts can be made here, by which right, and what they can do.
    Doctor,
    /// Makes a cluster that stays until `down`.
    Up {
        /// The number of hosts: n0, n1, …
        #[arg(long, default_value_t = 2)]
        nodes: usize,
        /// Stays, and ends the cluster when it is ended itself.
        #[arg(long)]
        hold: bool,
        /// With Slurm on it, which `srun`, `sbatch` and `salloc` on any host find.
        #[arg(long)]
        slurm: bool,
    },
    /// Runs a program on a host; `head` is where the bridge is.
    Exec {
        host: String,
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// Makes a cluster, runs a job on it on each MPI, and checks that all ranks ended, and where.
    Run(job::Arguments),
    /// The same under a real Slurm, by `srun` and by each MPI's `mpiexec` in an allocation.
    Slurm(slurm::Arguments),
    /// The same, or all tests, as a batch job of a real cluster (Slurm, PBS, LSF, Flux), from where
    /// its jobs are submitted: writes the script, waits, shows what came of it.
    Submit(submit::Arguments),
    /// Does on the first node of a job of `submit --test` all that it is for.
    #[command(hide = true)]
    Within { folder: PathBuf, hosts: Vec<String> },
    /// Runs the tests on ranks of this workspace over hosts, on each MPI, and shows one table.
    Test(suites::Arguments),
    /// Shows what becomes of a job when a rank or a host of it is lost, on each MPI.
    Faults(losses::Arguments),
    /// Cuts the link of a host, as a broken switch does: nobody is told.
    Cut { host: String },
    /// Mends the link of a host.
    Heal { host: String },
    /// Stops everything that runs on a host.
    Freeze { host: String },
    /// Lets it go on.
    Thaw { host: String },
    /// Ends a rank of what runs, by SIGKILL; or a host with everything on it, whose connections are
    /// closed.
    Kill {
        #[arg(value_name = "RANK|HOST")]
        whom: String,
    },
    /// Says which clusters are up, and what went over their links.
    Status,
    /// Ends the cluster.
    Down,
}

/// What a command ends in: how it went, or a sentence for the user.
type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    if let Some(code) = role() {
        return code;
    }
    let arguments = Arguments::parse();
    let outcome = if arguments.offline && std::env::var_os(OFFLINE).is_none() {
        Err(offline().into())
    } else {
        carry_out(&arguments)
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

/// This command anew, with the variable for each cargo that it starts; returns why it cannot.
fn offline() -> std::io::Error {
    let mut again = Command::new("/proc/self/exe");
    again.args(std::env::args_os().skip(1)).env(OFFLINE, "true");
    again.exec()
}

fn carry_out(arguments: &Arguments) -> Outcome {
    let state = State::named(&arguments.name)?;
    match &arguments.what {
        What::Doctor => return Ok(doctor::main()),
        What::Up { nodes, hold, slurm } => {
            let life = if *hold { Life::Held } else { Life::UntilDown };
            let cluster = Cluster::up(state, *nodes, arguments.right, life, None)?;
            let (name, took) = (cluster.state().name(), cluster.took());
            let hosts = names::hosts(*nodes).join(", ");
            let with = if *slurm {
                format!(", Slurm {:.0?} later", slurm::on(&cluster)?)
            } else {
                String::new()
            };
            println!("{name}: {hosts} are up after {took:.0?}{with}");
            if *hold {
                loop {
                    std::thread::park();
                }
            }
        }
        What::Exec { host, command } => {
            let code = state.run_here(host, command, false)?;
            return Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)));
        }
        What::Test(tests) => return suites::main(tests, &arguments.name, arguments.right),
        What::Faults(faults) => return losses::main(faults, &arguments.name, arguments.right),
        What::Run(job) => return job::main(job, &arguments.name, arguments.right),
        What::Slurm(job) => return slurm::main(job, &arguments.name, arguments.right),
        What::Submit(job) => return submit::main(job),
        What::Within { folder, hosts } => return submit::within(folder, hosts),
        What::Cut { host } => faults::What::Cut(number(host)?).carry_out(&state, None)?,
        What::Heal { host } => faults::What::Heal(number(host)?).carry_out(&state, None)?,
        What::Freeze { host } => faults::What::Freeze(number(host)?).carry_out(&state, None)?,
        What::Thaw { host } => faults::What::Thaw(number(host)?).carry_out(&state, None)?,
        What::Kill { whom } => {
            let fault = match whom.parse() {
                Ok(rank) => faults::What::Kill(rank),
                Err(_) => faults::What::KillHost(number(whom)?),
            };
            fault.carry_out(&state, None)?;
        }
        What::Status => lifetime::status()?,
        What::Down => {
            // Also of one that is not up any more something may be left: its folder.
            let ended = state.end(names::HEAD);
            state.remove();
            ended?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn number(host: &str) -> Result<usize, String> {
    names::number(host).ok_or_else(|| format!("hosts are called n0, n1, …, not {host}"))
}

/// This program anew, in a role, whatever is in its place by now.
fn stage(role: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0(role);
    command
}

/// Plays the role that this program was called by, if it is one.
fn role() -> Option<ExitCode> {
    let mut arguments = std::env::args_os();
    let called = arguments.next()?;
    let called = Path::new(&called).file_name()?.to_str()?;
    let rest: Vec<OsString> = arguments.collect();
    let failed = |error: String| {
        eprintln!("{called}: {error}");
        ExitCode::from(u8::MAX)
    };
    // What goes wrong while a cluster comes up is told to whoever waits for it.
    let told = |result: Result<(), String>| match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = roles::say(&error);
            ExitCode::FAILURE
        }
    };
    Some(match called {
        HEAD => told(roles::head(&rest)),
        HOST => told(roles::host(&rest)),
        FIRST => told(roles::first(&rest)),
        START => roles::start(&rest).map_or_else(failed, |()| ExitCode::SUCCESS),
        agent if AGENTS.contains(&agent) => agent::main(&rest).unwrap_or_else(failed),
        _ => return None,
    })
}
