//! The command `ranks`: says what is wrong with the MPI of a machine, and starts jobs.
//!
//! * `ranks doctor`: every MPI that was found and every path that was tried, the machine, its GPUs;
//!   trouble first, each with its remedy.
//! * `ranks timeline DIR`: what each rank did when, as one trace that Perfetto shows.
//! * `ranks run -n 4 PROGRAM`: n ranks of a program, under the launcher that belongs to the MPI, or
//!   as threads where there is none.
//! * `ranks postmortem DIR`: where the ranks of a job parted, and who waits for whom, from the
//!   dumps that they left.
//!
//! Libraries are opened in processes of their own (`probe.rs`): two MPIs do not fit into one, and
//! one that crashes is a finding.
//!
//! All of it is a library, so that fuzz targets reach what reads files; programs use [`main`]
//! alone.

#![deny(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a command talks to its user")]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod choice;
mod doctor;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod operations;
mod postmortem;
mod probe;
mod rank_file;
mod run;
mod tell;
mod timeline;

/// MPI for Rust: what is wrong with this machine, and jobs on it.
#[derive(Parser)]
#[command(name = "ranks", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Says what is wrong here and what to do about it; ends with 1 if something is.
    Doctor(doctor::Arguments),
    /// Starts ranks of a program under the launcher that belongs to the MPI.
    Run(run::Arguments),
    /// Makes one trace for Perfetto of what ranks wrote under RANKS_TIMELINE.
    Timeline(timeline::Arguments),
    /// Says from the dumps of a job where its ranks parted and who waits for whom; ends with 1 if
    /// they differ.
    Postmortem(postmortem::Arguments),
    /// Answers a question of `doctor` in a process of its own.
    #[command(hide = true)]
    Probe(probe::Arguments),
    /// The process that `run` starts for each rank, and that sees the rank's end.
    #[command(hide = true)]
    Rank(run::rank::Arguments),
    /// The program that `doctor --run` runs.
    #[command(hide = true)]
    SelfTest,
}

/// The result of a command: its exit status, or a sentence for the user.
type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

/// The command: does what the arguments of this process say, and tells how to end.
pub fn main() -> ExitCode {
    let outcome: Outcome = match Arguments::parse().command {
        Command::Doctor(arguments) => doctor::main(&arguments),
        Command::Run(arguments) => run::main(arguments),
        Command::Timeline(arguments) => timeline::main(arguments),
        Command::Postmortem(arguments) => postmortem::main(&arguments),
        Command::Probe(arguments) => probe::main(&arguments),
        Command::Rank(arguments) => run::rank::main(arguments),
        Command::SelfTest => doctor::self_test::main(),
    };
    outcome.unwrap_or_else(|error| {
        tell::say(error);
        ExitCode::FAILURE
    })
}
