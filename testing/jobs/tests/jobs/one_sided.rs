//! Memory that ranks have in common does not change how a job ends, whether it is there at the end
//! or one of them fails.

use ranks_launch::{Family, NETWORK_ATOMICS};

use super::failing::fails_on_each;
use super::{assert_failed_soon, job, job_with, named, said, succeeds_on_each};

#[test]
#[ignore = "needs an MPI"]
fn what_lives_when_the_runtime_ends_does_not_change_how_the_job_ends() {
    succeeds_on_each(2, &["one-sided", "kept"]);
}

#[test]
#[ignore = "needs an MPI"]
fn windows_runtime_and_communicators_may_go_in_any_order() {
    for turn in ["0", "7"] {
        succeeds_on_each(2, &["one-sided", "in-any-order", turn]);
    }
}

#[test]
#[ignore = "needs an MPI"]
fn windows_that_nobody_frees_do_not_add_up() {
    // Open MPI takes a tenth of a second for each.
    succeeds_on_each(2, &["one-sided", "many", "40"]);
}

#[test]
#[ignore = "needs an MPI"]
fn words_of_a_vector_are_combined_rightly_or_not_at_all() {
    let off = format!("{NETWORK_ATOMICS}=0");
    for (variables, of_vector) in [
        (vec!["-u", NETWORK_ATOMICS], "refused"),
        (vec![off.as_str()], "right"),
    ] {
        for installation in named() {
            let name = installation.name.clone();
            let of_vector = match installation.family {
                Family::OpenMpi => of_vector,
                _ => "right",
            };
            let job = job_with(&variables, &["one-sided", "words"]);
            let outcome = job.on(installation).ranks(2).run().unwrap();
            assert!(outcome.success(), "{name}: {outcome}");
            for output in &outcome.output {
                let of_vector = format!("a vector: {of_vector}");
                assert!(
                    output.stdout.contains("memory of the library: right"),
                    "{name}: {outcome}"
                );
                assert!(output.stdout.contains(&of_vector), "{name}: {outcome}");
            }
        }
    }
}

#[test]
#[ignore = "needs an MPI"]
fn a_panic_in_the_fill_of_an_array_ends_the_job() {
    let expected = [
        "one_sided.rs:",
        "ranks: rank 1 of 3 failed: panicked: ",
        "out of luck",
    ];
    fails_on_each(3, &["one-sided", "in-a-fill"], &expected);
}

/// It waited for itself, for ever.
#[test]
#[ignore = "needs an MPI"]
fn a_lock_dropped_within_an_operation_ends_the_job() {
    let unlocked = &["one-sided", "unlocked-in-an-operation"];
    let why = "MPI_Win_unlock: called from within the operation of a reduction";
    fails_on_each(3, unlocked, &["the job is aborted", why]);
}

#[test]
#[ignore = "needs an MPI"]
fn a_rank_that_does_not_come_to_a_fence_ends_the_job_at_the_time_limit() {
    let late = "MPI_Win_fence: timed out after ";
    let whose = ": not all of the 3 ranks have come";
    fails_on_each(
        3,
        &["one-sided", "missing-fence"],
        &[late, "s (RANKS_CHECK_LIMIT) on rank ", whose],
    );
}

#[test]
#[ignore = "needs an MPI"]
fn ranks_that_compare_nothing_took_a_window_to_different_states() {
    succeeds_on_each(3, &["one-sided", "apart"]);
}

/// It had a slice that the others wrote to.
#[test]
#[ignore = "needs an MPI"]
fn a_rank_that_closed_a_window_alone_had_its_memory() {
    for installation in named() {
        let name = installation.name.clone();
        let job = job(&["one-sided", "closes-alone"])
            .on(installation)
            .ranks(3);
        let outcome = job.env("RANKS_TIMEOUT", "700ms").run().unwrap();
        assert_failed_soon(&name, &outcome);
        assert!(
            !said(&outcome).contains("rank 0 alone has"),
            "{name}: {outcome}"
        );
    }
}
