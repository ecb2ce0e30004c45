//! `cargo xtask run`: builds an example and runs it on n ranks of one MPI, or in process.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ranks_harness::programs;

use crate::{Outcome, mpi};

/// The choice of what to run, and on what.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The MPI, as `cargo xtask mpi` lists it; it is provisioned if it is not here. `none`: ranks
    /// are threads.
    #[arg(long, default_value = "none")]
    mpi: String,
    /// The number of ranks.
    #[arg(short = 'n', long, default_value_t = 2)]
    ranks: usize,
    /// Lets the job go on without a rank that dies, where the launcher of this MPI can.
    #[arg(long)]
    fault_tolerant: bool,
    /// Builds without optimisation.
    #[arg(long)]
    debug: bool,
    /// The example, or the path of a program that is built already, and its arguments.
    #[arg(last = true, required = true)]
    program: Vec<String>,
}

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let (name, rest) = arguments
        .program
        .split_first()
        .ok_or("name an example after --")?;
    if arguments.ranks == 0 {
        return Err("a job needs at least one rank".into());
    }
    let program = if name.contains('/') {
        PathBuf::from(name)
    } else {
        programs::build("ranks-examples", name, arguments.debug)?
    };
    let mut command = if arguments.mpi == "none" {
        let mut command = Command::new(&program);
        command
            .env("RANKS_BACKEND", "inprocess")
            .env("RANKS_NP", arguments.ranks.to_string());
        command
    } else {
        let chosen = mpi::matrix(std::slice::from_ref(&arguments.mpi), true)?;
        let installation = chosen.first().ok_or("no such MPI")?;
        let mut command = installation.command(arguments.ranks);
        if arguments.fault_tolerant {
            command.args(installation.fault_tolerance().unwrap_or_default());
        }
        command.arg(&program);
        command
    };
    let start = command.get_program().to_owned();
    let status = command
        .args(rest)
        .status()
        .map_err(|error| format!("{}: {error}", Path::new(&start).display()))?;
    // The launcher's status where it fits into one, so that scripts can tell failures apart.
    let code = status
        .code()
        .map_or(1, |code| u8::try_from(code).unwrap_or(1));
    Ok(ExitCode::from(code))
}
