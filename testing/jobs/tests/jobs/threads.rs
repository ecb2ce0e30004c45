//! Calls from threads that the thread level keeps out.

use super::{assert_done, job, named, scratch, succeeds_on_each};

// Two ranks: below MPI_THREAD_MULTIPLE some libraries spin while they wait.
const RANKS: usize = 2;

#[test]
#[ignore = "needs an MPI"]
fn at_single_another_thread_is_refused() {
    succeeds_on_each(RANKS, &["threads", "main-only", "single"]);
}

#[test]
#[ignore = "needs an MPI"]
fn at_funneled_another_thread_is_refused() {
    succeeds_on_each(RANKS, &["threads", "main-only", "funneled"]);
}

/// Their sender waited without an end.
#[test]
#[ignore = "needs an MPI"]
fn messages_that_are_dropped_or_refused_on_another_thread_let_their_sender_go_on() {
    succeeds_on_each(RANKS, &["threads", "message-elsewhere"]);
}

#[test]
#[ignore = "needs an MPI"]
fn at_serialized_a_call_that_overlaps_is_refused() {
    let folder = scratch("serialized");
    for installation in named() {
        let name = installation.name.clone();
        let file = folder.join(&name);
        let job = job(&["threads", "one-at-a-time", &file.to_string_lossy()]);
        let outcome = job.on(installation).ranks(RANKS).run().unwrap();
        assert_done(&name, &outcome);
        assert!(file.is_file(), "{name}: nothing was refused: {outcome}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
