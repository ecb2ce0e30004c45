//! Whole programs as jobs: how they end, what they say when something is wrong, and what tools see
//! of them.
//!
//! Tests that need an MPI are ignored; `cargo xtask test` runs them on each one, and by hand it is
//! `RANKS_TEST_MPI=mpich-5.0.2,debian-openmpi cargo test -p ranks-jobs -- --include-ignored` (or
//! `all`).

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests")]

mod adopting;
mod allocations;
mod comparing;
#[cfg(target_os = "linux")]
mod containers;
mod environments;
mod failing;
mod finalized;
mod in_flight;
mod launchers;
mod little_memory;
mod long_text;
mod no_library;
mod one_sided;
mod overruns;
mod preloading;
mod shared_windows;
mod sharing;
mod silent;
mod surviving;
mod threads;
mod unreceived;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ranks_launch::{Family, Installation, Job, Outcome};

/// The program that all of the tests run.
const PROGRAM: &str = env!("CARGO_BIN_EXE_job-program");

/// How long a job may take; none needs more than a few seconds on an idle machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A job of the program.
fn job(arguments: &[&str]) -> Job {
    Job::new(PROGRAM)
        .args(arguments)
        .env("RUST_BACKTRACE", "0")
        .timeout(LIMIT)
}

/// The same through `env`, which sets variables for the ranks and not for their launcher, or with
/// `-u` takes them away.
fn job_with(variables: &[&str], arguments: &[&str]) -> Job {
    Job::new("env")
        .args(variables)
        .args([PROGRAM])
        .args(arguments)
        .env("RUST_BACKTRACE", "0")
        .timeout(LIMIT)
}

/// Every MPI of this machine: those provisioned in the workspace, and the system's.
fn all() -> Vec<Installation> {
    let provisioned = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mpi");
    Installation::all(Some(&provisioned))
}

/// The MPIs that `RANKS_TEST_MPI` names.
fn named() -> Vec<Installation> {
    let names = std::env::var("RANKS_TEST_MPI").unwrap_or_default();
    let all = all();
    if names == "all" {
        assert!(!all.is_empty(), "no MPI is found");
        return all;
    }
    let chosen: Vec<Installation> = names
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| {
            let found = all.iter().find(|installation| installation.name == name);
            found
                .unwrap_or_else(|| panic!("RANKS_TEST_MPI: there is no {name}"))
                .clone()
        })
        .collect();
    assert!(
        !chosen.is_empty(),
        "this needs an MPI: name one in RANKS_TEST_MPI, or `all`"
    );
    chosen
}

/// Runs so many ranks on each MPI that is named, and insists that all of them came to their end.
fn succeeds_on_each(ranks: usize, arguments: &[&str]) {
    for installation in named() {
        let name = installation.name.clone();
        let outcome = job(arguments).on(installation).ranks(ranks).run().unwrap();
        assert_done(&name, &outcome);
    }
}

/// Runs a job whose ranks end at once.
///
/// Hydra may be writing to them still, and dies of the broken pipe before it has passed on what
/// they said: again, then.
fn run_in_spite_of_hydra(job: &Job) -> Outcome {
    for _ in 0..4 {
        let outcome = job.run().unwrap();
        let signal = outcome.status.and_then(|status| status.signal());
        if signal != Some(13) {
            return outcome;
        }
        println!("the launcher died: {outcome}");
    }
    job.run().unwrap()
}

/// Every rank said `done`, and the launcher saw nothing wrong.
#[track_caller]
fn assert_done(name: &str, outcome: &Outcome) {
    assert!(outcome.success(), "{name}: {outcome}");
    for output in &outcome.output {
        assert_eq!(
            output.stdout.lines().last(),
            Some("done"),
            "{name}, rank {}: {outcome}",
            output.rank
        );
    }
}

/// The job ended by itself, soon, and badly.
#[track_caller]
fn assert_failed_soon(name: &str, outcome: &Outcome) {
    assert!(!outcome.timed_out, "{name}: {outcome}");
    assert!(!outcome.success(), "{name}: {outcome}");
    assert!(
        outcome.elapsed < Duration::from_secs(20),
        "{name}: {outcome}"
    );
    for output in &outcome.output {
        assert!(
            !output.stdout.contains("done"),
            "{name}, rank {}: {outcome}",
            output.rank
        );
    }
}

/// All that was written to standard error, by ranks and launcher.
fn said(outcome: &Outcome) -> String {
    let ranks = outcome.output.iter().map(|output| output.stderr.as_str());
    ranks.chain([outcome.launcher.stderr.as_str()]).collect()
}

/// Returns `true` if the launcher starts libraries with MPICH's wire protocol.
fn is_mpich(installation: &Installation) -> bool {
    installation.family != Family::OpenMpi
}

/// A shared library of this workspace, which cargo leaves beside the tests that depend on it.
fn shared_library(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let file = here.with_file_name(format!("lib{name}.so"));
    assert!(file.is_file(), "{} was not built", file.display());
    file
}

/// A folder for one test, empty.
fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ranks-jobs-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
