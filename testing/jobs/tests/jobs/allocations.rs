//! Calls that have been made before ask for no memory.

use super::{PROGRAM, assert_done, job_with, named};

const RANKS: usize = 2;

#[test]
#[ignore = "needs an MPI"]
fn a_call_over_mpi_asks_for_no_memory() {
    for installation in named() {
        let name = installation.name.clone();
        // To compare calls takes memory.
        let job = job_with(&["RANKS_CHECK=local"], &["allocations", "0"]).on(installation);
        assert_done(&name, &job.ranks(RANKS).run().unwrap());
    }
}

/// What is sent is copied once for each rank that it goes to, and what is begun is kept in a box.
#[test]
fn a_call_in_process_asks_for_little() {
    let variables = ["RANKS_CHECK=local", "RANKS_BACKEND=inprocess", "RANKS_NP=2"];
    let outcome = std::process::Command::new("env")
        .args(variables)
        .args([PROGRAM, "allocations", "8"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success(), "{said}");
}
