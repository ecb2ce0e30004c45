//! One rank fails while the others wait for it: the job ends, soon and badly, and says which rank
//! it was and why.

use super::{assert_failed_soon, job, named, said};

#[track_caller]
pub(crate) fn fails_on_each(ranks: usize, arguments: &[&str], expected: &[&str]) {
    for installation in named() {
        let name = installation.name.clone();
        let job = job(arguments).on(installation).ranks(ranks);
        let outcome = job.run().unwrap();
        assert_failed_soon(&name, &outcome);
        let said = said(&outcome);
        for text in expected {
            assert!(said.contains(text), "{name}: no {text:?} in {outcome}");
        }
    }
}

#[test]
#[ignore = "needs an MPI"]
fn an_error_on_one_rank_ends_the_job() {
    fails_on_each(
        3,
        &["failing", "error"],
        &["ranks: rank 1 of 3 failed: no convergence"],
    );
}

#[test]
#[ignore = "needs an MPI"]
fn a_panic_on_one_rank_ends_the_job() {
    fails_on_each(
        3,
        &["failing", "panic"],
        &[
            "failing.rs:",
            "ranks: rank 1 of 3 failed: panicked: ",
            "out of luck",
        ],
    );
}

#[test]
#[ignore = "needs an MPI"]
fn a_panic_in_an_epoch_of_a_window_ends_the_job() {
    for how in ["panic-in-a-step", "panic-under-a-lock"] {
        let expected = ["ranks: rank 1 of 3 failed: panicked: ", "out of luck"];
        fails_on_each(3, &["failing", how], &expected);
    }
}

#[test]
#[ignore = "needs an MPI"]
fn a_rank_that_does_not_come_to_a_collective_ends_the_job_at_the_time_limit() {
    let late = "MPI_Barrier: timed out after ";
    let whose = ": not all of the 3 ranks have come";
    fails_on_each(
        3,
        &["failing", "missing-call"],
        &[late, "s (RANKS_CHECK_LIMIT) on rank ", whose],
    );
}

#[test]
#[ignore = "needs an MPI"]
fn a_raw_communicator_that_may_ends_the_job_at_its_time_limit() {
    fails_on_each(
        3,
        &["failing", "raw"],
        &["RawComm::barrier timed out after 300ms", "; the job ends"],
    );
}

#[test]
#[ignore = "needs an MPI"]
fn a_rank_was_told_that_it_had_not_received_that_another_had_given_up() {
    for installation in named() {
        let name = installation.name.clone();
        let job = job(&["failing", "raw-alone"]).on(installation).ranks(2);
        let outcome = job.run().unwrap();
        assert!(outcome.success(), "{name}: {outcome}");
        let said = said(&outcome);
        assert!(!said.contains("has not received"), "{name}: {outcome}");
    }
}

#[test]
#[ignore = "needs an MPI"]
fn unwinding_past_a_runtime_ends_the_job() {
    fails_on_each(
        3,
        &["failing", "unwinding"],
        &[
            "failing.rs:",
            "out of luck",
            "ranks: rank 1 of 3 panicked; the job is aborted",
        ],
    );
}

#[test]
fn an_error_in_process_ends_the_program() {
    let outcome = job(&["failing", "error"]).ranks(3).run().unwrap();
    assert_failed_soon("in process", &outcome);
    assert_eq!(outcome.status.and_then(|status| status.code()), Some(1));
    assert_eq!(outcome.output[0].stderr, "Error: \"no convergence\"\n");
}

/// It named the nonblocking operation that each start begins where there is no library.
#[test]
fn an_error_of_a_persistent_operation_names_what_was_prepared() {
    let outcome = job(&["failing", "persistent"]).ranks(2).run().unwrap();
    assert_failed_soon("in process", &outcome);
    assert_eq!(
        said(&outcome),
        "Error: MPI_Allreduce_init: rank 1 ended without doing its part\n"
    );
}

/// It was told when the last rank had ended.
#[test]
fn an_error_in_process_is_told_while_other_ranks_are_busy() {
    let outcome = job(&["failing", "busy"]).ranks(3).run().unwrap();
    let said = said(&outcome);
    let told = "ranks: rank 1 of 3 failed: no convergence; other ranks have not ended yet\n";
    assert!(said.starts_with(told), "{outcome}");
    assert!(said.contains("rank 0 was busy"), "{outcome}");
    assert!(said.ends_with("Error: \"no convergence\"\n"), "{outcome}");
}

#[test]
fn a_panic_in_process_ends_the_program() {
    let outcome = job(&["failing", "panic"]).ranks(3).run().unwrap();
    assert_failed_soon("in process", &outcome);
    assert_eq!(outcome.status.and_then(|status| status.code()), Some(101));
    let said = said(&outcome);
    assert!(
        said.contains("thread 'rank 1'") && said.contains("out of luck"),
        "{outcome}"
    );
}
