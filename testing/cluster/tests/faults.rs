//! Jobs over hosts of this machine's namespaces that lose a host or a rank: those that are left
//! end, say what they waited for and who is silent, and leave dumps of which `ranks postmortem`
//! says the same.
//!
//! One fault on one MPI each; `cargo xtask cluster faults` has all of them on every MPI, and
//! measures how long it takes. Where there is no such MPI, or no hosts can be made, these tests say
//! so on standard output, where `cargo xtask test` counts them as skipped.

#![allow(clippy::unwrap_used, reason = "a test ends where something is wrong")]

use std::path::{Path, PathBuf};

use ranks_launch::Installation;

mod common;

use common::{mpi, named, not_tested, program, ranks_cluster, said};

/// What the program says where the machine, and not the project, is at fault.
const REASONS: [&str; 3] = [
    "this process may not",
    "the limit in /proc/sys/user",
    "ip (of iproute2) cannot be started",
];

/// Programs of the workspace: the folder that they are in.
fn programs() -> PathBuf {
    let job = program("ranks-jobs", "job-program");
    program("ranks-cli", "ranks");
    Path::new(&job).with_file_name("")
}

/// What became of a job on the first of these MPIs under a time limit: the cells of its line, if it
/// could be tried.
fn lost(beginnings: &[&str], fault: &str) -> Option<Vec<String>> {
    let Some(Installation { name: mpi, .. }) = mpi(beginnings) else {
        not_tested(fault, &format!("none of {beginnings:?} is here"));
        return None;
    };
    let name = named(&fault.replace(':', "-"));
    let mut command = ranks_cluster(&name, &["faults", "--mpi", &mpi, "--fault", fault]);
    command
        // On a machine that has much else to do all of it takes longer, and ends all the same.
        .args(["--limit", "2s", "--over", "30s", "--deadline", "40s"])
        .args(["--linger", "1s", "--programs"])
        .arg(programs());
    let (status, text) = said(command);
    let whole = format!("{mpi}: {text}");
    if let Some(reason) = REASONS.iter().find(|reason| whole.contains(**reason)) {
        not_tested(fault, reason);
        return None;
    }
    assert_eq!(status, Some(0), "{whole}");
    let line = format!("| {mpi} | {fault} |");
    let lines: Vec<&str> = text
        .lines()
        .filter(|text| text.starts_with(&line))
        .collect();
    let [line] = lines[..] else {
        panic!("{} lines: {whole}", lines.len());
    };
    Some(line.split('|').map(|cell| cell.trim().to_owned()).collect())
}

/// The cells of a line, by the heads of their columns.
const LAUNCHER: usize = 4;
const RANKS: usize = 5;
const DUMPS: usize = 6;
const RUNNING: usize = 7;

/// Ranks 0 and 1 were told of their limit, and have left dumps that name what they waited in.
#[track_caller]
fn end_at_their_limit(cells: &[String]) {
    for rank in [0, 1] {
        let told = format!(
            "MPI_Allreduce: timed out after 2s (RANKS_TIMEOUT) on rank {rank} of 4 of MPI_COMM_WORLD"
        );
        assert!(cells[RANKS].contains(&told), "{cells:?}");
    }
    let silent = "silent: rank 2 (does not answer), rank 3 (does not answer)";
    assert!(cells[RANKS].contains(silent), "{cells:?}");
    for rank in [0, 1] {
        let dump = of_rank(&cells[DUMPS], rank).unwrap_or_default();
        let waits = "time limit, in MPI_Allreduce of 1 u64 by Sum";
        assert!(dump.starts_with(waits), "rank {rank}: {cells:?}");
    }
}

/// What a cell says of a rank: those of which it says the same are together, as in
/// `0 2: this; 1: that`.
fn of_rank(cell: &str, rank: usize) -> Option<String> {
    let mut text: Option<String> = None;
    for part in cell.split("; ") {
        let ranks = part.split_once(": ").and_then(|(ranks, rest)| {
            let ranks: Result<Vec<usize>, _> = ranks.split(' ').map(str::parse).collect();
            Some((ranks.ok()?, rest))
        });
        match (ranks, &mut text) {
            (Some(_), Some(_)) => break,
            (Some((ranks, rest)), None) if ranks.contains(&rank) => text = Some(rest.to_owned()),
            (None, Some(text)) => *text = format!("{text}; {part}"),
            (Some(_) | None, None) => {}
        }
    }
    text
}

#[test]
fn a_cell_is_read_rank_by_rank() {
    let cell = "3: told: late; silent: rank 2; 0 1: over";
    let of = |rank| of_rank(cell, rank);
    assert_eq!(of(3).as_deref(), Some("told: late; silent: rank 2"));
    assert_eq!(of(0), of(1));
    assert_eq!(of(1).as_deref(), Some("over"));
    assert_eq!(of(2), None);
}

#[test]
fn ranks_beside_a_host_that_is_cut_off_end_at_their_limit() {
    let Some(cells) = lost(&["mpich-5", "mpich", "debian-mpich"], "cut:n1") else {
        return;
    };
    end_at_their_limit(&cells);
}

#[test]
fn ranks_beside_a_host_that_stops_end_at_their_limit() {
    let Some(cells) = lost(&["openmpi-5", "openmpi", "debian-openmpi"], "freeze:n1") else {
        return;
    };
    end_at_their_limit(&cells);
    // Those that stopped are still there, until their host is ended.
    assert_eq!(cells[RUNNING], "2 3", "{cells:?}");
}

#[test]
fn a_job_one_of_whose_ranks_is_killed_ends_as_a_whole() {
    let Some(cells) = lost(&["openmpi-4", "debian-openmpi"], "kill:3") else {
        return;
    };
    assert!(cells[LAUNCHER].contains("status "), "{cells:?}");
    assert!(!cells[LAUNCHER].ends_with("status 0"), "{cells:?}");
    assert!(!cells[RANKS].contains("done"), "{cells:?}");
    // The launcher asks the others to end, and they write what they were in.
    assert!(cells[DUMPS].contains("MPI_Allreduce"), "{cells:?}");
    assert_eq!(cells[RUNNING], "nothing", "{cells:?}");
}
