//! What `ranks run` says of ranks that end badly, and what comes in and goes out.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, raise};
use nix::unistd::Pid;
use ranks::prelude::*;
use ranks_launch::Environment;

use crate::on_mpi::{named, own_folder, with};
use crate::run::{is_gone, with_launchers};
use crate::{Failure, RANKS, Said, Scratch, bare, said};

/// What the job is to do, where this program is the job.
const JOB: &str = "RANKS_CLI_TEST_ENDS";

/// The job. It is a test so that this program can be started as it.
#[test]
fn job() {
    if let Ok(how) = std::env::var(JOB) {
        if how == "early" && Environment::detect().rank == Some(1) {
            std::process::exit(5);
        }
        ranks::run(|world| act(&world, &how)).unwrap();
    }
}

/// Rank 1 ends in its way while rank 0 waits for it, or rank 0 reads, or rank 1 writes.
fn act(world: &Communicator, how: &str) -> Result<(), Failure> {
    world.barrier()?;
    match (how, world.rank()) {
        ("input", 0) => {
            // Not up to the end, of which the launcher of Open MPI 5.0.11 does not tell.
            let mut text = [0; 10_000];
            std::io::stdin().read_exact(&mut text)?;
            println!("rank 0 has read {} bytes", text.len());
        }
        ("pieces", 1) => {
            for piece in ["0", ": ", "__rustc", "::begin\n"] {
                std::io::stderr().write_all(piece.as_bytes())?;
                thread::sleep(Duration::from_millis(30));
            }
        }
        ("input" | "pieces", _) => {}
        // The first one that is no fault is let pass by the standard library, which waits for it to
        // come again.
        ("SIGSEGV", 1) => loop {
            kill(Pid::this(), Signal::SIGSEGV)?;
        },
        ("SIGKILL", 1) => raise(Signal::SIGKILL)?,
        ("abort", 1) => std::process::abort(),
        ("exit", 1) => std::process::exit(7),
        ("leave", 1) => std::process::exit(0),
        _ => drop(world.recv(&mut [0_u8], 1, 0)?),
    }
    Ok(())
}

/// The job with that to read.
fn run(mut start: Command, how: &str, input: &str) -> Said {
    start
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "ends::job", "--nocapture"])
        .env(JOB, how)
        .env_remove("RANKS_DUMP")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut job = start.spawn().unwrap();
    let mut stdin = job.stdin.take().unwrap();
    let input = input.to_owned();
    let writing = thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = job.wait_with_output().unwrap();
    // A job that has ended reads nothing more.
    let _ = writing.join().unwrap();
    Said {
        text: String::from_utf8_lossy(&output.stdout).into_owned(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        status: output.status.code(),
    }
}

fn on_each(how: &str, input: &str, check: impl Fn(&str, Said)) {
    for installation in named() {
        let mut start = with(&installation, own_folder(&installation));
        let name = &installation.name;
        start.args(["run", "-n", "2", "--mpi", name, "--time-limit", "60s"]);
        check(name, run(start, how, input));
    }
}

fn in_process(how: &str, input: &str) -> Said {
    let mut start = bare();
    start.args(["run", "-n", "2", "--mpi", "none", "--time-limit", "60s"]);
    run(start, how, input)
}

/// Launchers say it in words of their own, without the rank, or not at all.
#[test]
#[ignore = "needs an MPI"]
fn a_rank_that_dies_is_named_with_its_signal_or_status() {
    for (how, end, status) in [
        ("SIGSEGV", "killed by signal 11 (SIGSEGV)", 128 + 11),
        ("SIGKILL", "killed by signal 9 (SIGKILL)", 128 + 9),
        ("abort", "killed by signal 6 (SIGABRT)", 128 + 6),
        ("exit", "ended with status 7", 7),
    ] {
        on_each(how, "", |name, job| {
            let whole = format!("{name}, {how}: {}{}", job.text, job.errors);
            let told: Vec<&str> = job
                .errors
                .lines()
                .filter(|line| line.starts_with("ranks: rank "))
                .collect();
            assert_eq!(told, [format!("ranks: rank 1: {end}")], "{whole}");
            assert_eq!(job.status, Some(status), "{whole}");
        });
    }
}

/// The launchers of MPICH and Intel MPI waited for the others, which waited for it.
#[test]
#[ignore = "needs an MPI"]
fn a_rank_that_dies_before_it_comes_to_mpi_ends_the_job() {
    on_each("early", "", |name, job| {
        let whole = format!("{name}: {}{}", job.text, job.errors);
        let told = |line: &str| line == "ranks: rank 1: ended with status 5";
        assert!(job.errors.lines().any(told), "{whole}");
        assert_eq!(job.status, Some(5), "{whole}");
    });
}

/// Half of such jobs on MPICH were a success, without a word.
#[test]
#[ignore = "needs an MPI"]
fn a_rank_that_leaves_early_with_status_0_is_told_and_no_success() {
    on_each("leave", "", |name, job| {
        let whole = format!("{name}: {}{}", job.text, job.errors);
        let told = |line: &str| line.starts_with("ranks: rank 0: ");
        assert!(job.errors.lines().any(told), "{whole}");
        assert_ne!(job.status, Some(0), "{whole}");
    });
}

/// A launcher that sees a status in place of a signal may not end the other ranks.
#[test]
fn the_process_of_a_rank_ends_by_the_signal_of_the_program() {
    let scratch = Scratch::new("ends-by-signal");
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGTERM] {
        let program = format!("kill -{signal} $$");
        let mut rank = Command::new(RANKS);
        rank.arg("rank").arg(scratch.path());
        let status = rank.args(["sh", "-c", &program]).status().unwrap();
        assert_eq!(status.signal(), Some(signal), "{status}");
    }
}

/// A shell in the place of a launcher, which starts one rank.
fn with_a_launcher(scratch: &Scratch, script: &str) -> Command {
    let mut start = with_launchers(scratch);
    // `-n 1 -prepend-pattern PATTERN`, and the rank.
    scratch.script("mpich-9/bin/mpiexec", &format!("shift 4\n{script}"));
    start.args(["run", "-n", "1", "--mpi", "mpich-9"]);
    start
}

/// The job never ended: the launcher waited for the end of output that the process held open.
#[test]
fn what_a_rank_leaves_behind_ends_with_the_job() {
    let scratch = Scratch::new("left-behind");
    let rank = "PMI_RANK=0 PMI_SIZE=1 MPI_LOCALRANKID=0 \"$@\" | cat";
    for (status, told) in [(0, ""), (5, "ranks: rank 0: ended with status 5\n")] {
        let mut start = with_a_launcher(&scratch, rank);
        start.args(["--time-limit", "60s", "sh", "-c"]);
        start.arg(format!("sleep 100 & echo $!; exit {status}"));
        let job = said(&mut start);
        assert_eq!(job.status, Some(status), "{}{}", job.text, job.errors);
        job.complains(&[told, "ranks: all ranks have ended, and the launcher waited"]);
        assert!(is_gone(&job.text), "{}", job.text);
    }
}

/// It went on for ever, with the process above it, where Open MPI's launcher ended in its own end.
#[cfg(target_os = "linux")]
#[test]
fn a_rank_ends_with_the_command_and_the_launcher() {
    let scratch = Scratch::new("launcher-gone");
    let rank = "PMI_RANK=0 PMI_SIZE=1 MPI_LOCALRANKID=0 \"$@\" & wait";
    let mut start = with_a_launcher(&scratch, rank);
    start
        .current_dir(scratch.path())
        .env("TMPDIR", scratch.path());
    let program = "trap '' TERM; setsid sleep 100 & echo $! >new; mv new pid; sleep 100";
    let mut job = start.args(["sh", "-c", program]).spawn().unwrap();
    let file = scratch.path().join("pid");
    let until = Instant::now() + Duration::from_secs(20);
    while !file.exists() && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
    job.kill().unwrap();
    job.wait().unwrap();
    let pid = std::fs::read_to_string(file).unwrap();
    assert!(is_gone(&pid), "{pid}");
}

#[test]
fn threads_that_die_with_their_process_are_told_too() {
    let job = in_process("SIGSEGV", "");
    let told = "ranks: the program: killed by signal 11 (SIGSEGV)";
    job.complains(&[told]);
    assert_eq!(job.status, Some(128 + 11), "{}", job.errors);
}

/// Less than a pipe holds: MPICH 3.4's launcher ends a job whose rank does not read as fast as it
/// is given.
const READ: &str = "rank 0 has read 10000 bytes";

#[test]
#[ignore = "needs an MPI"]
fn rank_0_reads_what_the_command_is_given() {
    on_each("input", &"ten bytes\n".repeat(1_000), |name, job| {
        let whole = format!("{name}: {}{}", job.text, job.errors);
        assert_eq!(job.status, Some(0), "{whole}");
        assert!(job.text.contains(READ), "{whole}");
    });
}

#[test]
fn threads_read_what_the_command_is_given() {
    let job = in_process("input", &"ten bytes\n".repeat(1_000));
    job.tells(&[READ]);
}

/// Each piece was a line of its own.
#[test]
#[ignore = "needs an MPI"]
fn what_a_rank_writes_in_pieces_is_one_line() {
    on_each("pieces", "", |name, job| {
        let whole = format!("{name}: {}{}", job.text, job.errors);
        let line = "[1] 0: __rustc::begin";
        assert!(job.errors.lines().any(|one| one == line), "{whole}");
    });
}
