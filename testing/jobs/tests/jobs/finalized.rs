//! The end of the runtime: what is refused after it, and when MPI itself ends.

use super::failing::fails_on_each;
use super::succeeds_on_each;

#[test]
#[ignore = "needs an MPI"]
fn every_operation_is_refused_and_the_last_handle_ends_mpi() {
    succeeds_on_each(2, &["finalized"]);
}

#[test]
#[ignore = "needs an MPI"]
fn the_last_handle_may_go_on_another_thread() {
    succeeds_on_each(2, &["last-handle-elsewhere"]);
}

#[test]
#[ignore = "needs an MPI"]
fn what_nobody_waits_for_does_not_keep_the_runtime_from_its_end() {
    succeeds_on_each(2, &["left-behind"]);
}

#[test]
#[ignore = "needs an MPI"]
fn windows_that_live_on_do_not_change_how_the_job_ends() {
    succeeds_on_each(2, &["left-behind", "windows"]);
}

/// It returned Ok, `MPI_Finalize` was never called, and Open MPI's launcher alone said that
/// something was wrong.
#[test]
#[ignore = "needs an MPI"]
fn a_handle_that_outlives_run_is_an_error_of_run() {
    for (how, alive) in [
        ("static", "1 handle "),
        ("forgotten", "2 handles "),
        ("thread", "1 handle "),
    ] {
        let expected = [
            "ranks: MPI_Finalize: not called on rank ",
            alive,
            "drop all of them before the closure of `run` returns",
        ];
        fails_on_each(3, &["kept", how], &expected);
    }
}
