//! What tests of clusters share: the program as a command, clusters that end with a test, and what
//! there is on this machine.

// Each of them takes what it needs.
#![allow(dead_code)]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use ranks_harness::faults;
use ranks_launch::Installation;

/// `cargo xtask cluster` on the cluster of this name.
pub(crate) fn ranks_cluster(name: &str, arguments: &[&str]) -> Command {
    // By an open file: a test that builds the workspace may put another program in its place.
    static PROGRAM: OnceLock<File> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| File::open(env!("CARGO_BIN_EXE_ranks-cluster")).unwrap());
    let opened = format!("/proc/{}/fd/{}", std::process::id(), program.as_raw_fd());
    let mut command = Command::new(opened);
    command
        .args(["--name", name])
        .args(arguments)
        .stdin(Stdio::null());
    command
}

/// Runs a command to its end; returns its status and what it wrote.
pub(crate) fn said(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text.into_owned())
}

/// The name of a cluster of this test alone.
pub(crate) fn named(test: &str) -> String {
    format!("test-{}-{test}", std::process::id())
}

/// Says that something cannot be tested here, where `cargo xtask test` counts it as skipped.
pub(crate) fn not_tested(test: &str, why: &str) {
    let text = format!("\nNOT TESTED: {test}: {}\n", why.trim());
    // Not by a macro: what macros print is shown of failed tests alone.
    std::io::stdout().write_all(text.as_bytes()).unwrap();
}

/// The first MPI that is here whose name begins so, by the order of the beginnings.
pub(crate) fn mpi(beginnings: &[&str]) -> Option<Installation> {
    let all = Installation::all(Some(&ranks_harness::mpi::folder()));
    let mut found = beginnings.iter().flat_map(|beginning| {
        let all = all.iter();
        all.filter(move |one| one.name.starts_with(beginning) && !one.name.ends_with("-abi"))
    });
    found.next().cloned()
}

/// Runs a job that `srun` starts, and once more where that failed and is a known fault of the MPI.
pub(crate) fn by_srun(
    mpi: &Installation,
    job: impl Fn() -> (Option<i32>, String),
) -> (Option<i32>, String) {
    let (status, text) = job();
    if status == Some(0) || faults::by_srun(mpi).unwrap().is_none() {
        return (status, text);
    }
    eprintln!("{}, run once more: {text}", mpi.name);
    job()
}

/// A program of the workspace, which a test of the whole workspace has built.
pub(crate) fn program(package: &str, name: &str) -> String {
    let file = Path::new(env!("CARGO_BIN_EXE_ranks-cluster")).with_file_name(name);
    let file = if file.is_file() {
        file
    } else {
        ranks_harness::programs::build(package, name, true).unwrap()
    };
    file.into_os_string().into_string().unwrap()
}

/// A cluster of two hosts that ends with this value.
pub(crate) struct Held {
    pub(crate) name: String,
    /// What has made it, and holds it.
    pub(crate) process: Child,
}

impl Held {
    /// One with what `more` asks for, or nothing where the program has one of these reasons for
    /// making none.
    pub(crate) fn up(test: &str, more: &[&str], reasons: &[&str]) -> Option<Held> {
        let name = named(test);
        let mut command = ranks_cluster(&name, &["up", "--nodes", "2", "--hold"]);
        let mut process = command
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        if line.contains("n0, n1 are up") {
            return Some(Held { name, process });
        }
        let output = process.wait_with_output().unwrap();
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(reasons.iter().any(|reason| why.contains(reason)), "{why}");
        not_tested(test, &format!("there can be no such hosts here: {why}"));
        None
    }

    /// What the program says of this cluster.
    pub(crate) fn said(&self, arguments: &[&str]) -> (Option<i32>, String) {
        said(ranks_cluster(&self.name, arguments))
    }

    /// Runs a command on the first host; returns its status and what it wrote.
    pub(crate) fn on_first(&self, words: &[&str]) -> (Option<i32>, String) {
        self.said(&[&["exec", "n0"], words].concat())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        // A killed one has no time to take its folder away.
        self.said(&["down"]);
    }
}
