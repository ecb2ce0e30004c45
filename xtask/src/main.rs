//! `cargo xtask`: the chores of this workspace, one module a command; this file only dispatches.

#![deny(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a command talks to its user")]

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ranks_harness::workspace;

mod abi_check;
mod api;
mod bench;
mod codegen;
mod command;
mod coverage;
mod debian;
mod demo;
mod dist;
mod first_program;
mod glibc;
mod gpu;
mod lanes;
mod mpi;
mod package;
mod pictures;
mod test;
mod tidy;
mod zig;

/// The chores of this workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compares the committed constants and layouts with every MPI header there is.
    AbiCheck,
    /// Lists the public items of all crates, or checks that the lists are current.
    Api(api::Arguments),
    /// Measures what ranks costs above C on the same library.
    Bench(bench::Arguments),
    /// Hosts that are made of namespaces of this machine, and jobs over them:
    /// `cargo run -p ranks-cluster --`.
    #[command(disable_help_flag = true)]
    Cluster {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Writes the generated part of ranks-mpi-sys, or checks that it is current.
    Codegen(codegen::Arguments),
    /// Writes the page of what is covered, or checks that it is current.
    Coverage(coverage::Arguments),
    /// Runs the same executables in process and on every MPI, and shows one table.
    Demo(demo::Arguments),
    /// Makes an archive of programs that run on old systems: the command, those of the guide, and
    /// yours.
    Dist(dist::Arguments),
    /// Types what README and the guide say of a first program, and compares what it prints.
    FirstProgram(first_program::Arguments),
    /// Runs what there is for GPUs on those of this machine, case by case.
    Gpu(gpu::Arguments),
    /// Lists and provisions the MPI libraries that the tests run on.
    Mpi(mpi::Arguments),
    /// Makes the packages of all crates, and builds and runs README's program from them alone.
    Package,
    /// Draws the pictures of the documentation, or checks that they are current.
    Pictures(pictures::Arguments),
    /// Tests everything in process, and every test on ranks on every MPI.
    Test(test::Arguments),
    /// Checks the rules of this tree that no compiler knows.
    Tidy(tidy::Arguments),
}

/// The end of a command: its success, or a sentence for the user.
type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let outcome: Outcome = match Arguments::parse().command {
        Command::AbiCheck => abi_check::main(),
        Command::Api(arguments) => api::main(&arguments),
        Command::Bench(arguments) => bench::main(&arguments),
        // In the place of this program: who ends it ends the cluster.
        Command::Cluster { arguments } => Err(cluster(&arguments).exec().into()),
        Command::Codegen(arguments) => codegen::main(&arguments),
        Command::Coverage(arguments) => coverage::main(&arguments),
        Command::Demo(arguments) => demo::main(&arguments),
        Command::Dist(arguments) => dist::main(&arguments),
        Command::FirstProgram(arguments) => first_program::main(&arguments),
        Command::Gpu(arguments) => gpu::main(&arguments),
        Command::Mpi(arguments) => mpi::main(&arguments),
        Command::Package => package::main(),
        Command::Pictures(arguments) => pictures::main(&arguments),
        Command::Test(arguments) => test::main(arguments),
        Command::Tidy(arguments) => tidy::main(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

/// The program of the hosts, in the folder that it is called from: paths among the arguments are
/// from there.
fn cluster(arguments: &[OsString]) -> std::process::Command {
    let mut cargo = std::process::Command::new(workspace::cargo().get_program());
    cargo
        .args(["run", "--quiet", "--manifest-path"])
        .arg(workspace::root().join("Cargo.toml"));
    // Also for each cargo that the program starts.
    if arguments.iter().any(|word| word == "--offline") {
        cargo.env("CARGO_NET_OFFLINE", "true");
    }
    cargo.args(["--package", "ranks-cluster", "--"]);
    cargo.args(arguments);
    cargo
}
