//! Ranks that call different things, where they compare that: what each of them is told, and that
//! the job ends.

use super::{assert_done, assert_failed_soon, job, job_with, named, said};
use crate::failing::fails_on_each;

const RANKS: usize = 3;

/// Asserts that each rank was told this, behind the operation, which is its own.
#[track_caller]
fn all_are_told(name: &str, outcome: &ranks_launch::Outcome, expected: &[&str]) {
    assert!(!outcome.timed_out, "{name}: {outcome}");
    let told: Vec<_> = outcome
        .output
        .iter()
        .map(|output| {
            let mut lines = output.stdout.lines();
            lines.find_map(|line| Some(line.strip_prefix("told: ")?.split_once(": ")?.1))
        })
        .collect();
    assert_eq!(told.len(), RANKS, "{name}: {outcome}");
    assert!(
        told.iter().all(|text| text.is_some() && *text == told[0]),
        "{name}: {outcome}"
    );
    let text = told[0].unwrap_or_default();
    for part in expected {
        assert!(text.contains(part), "{name}: no {part:?} in {outcome}");
    }
}

#[test]
#[ignore = "needs an MPI"]
fn the_end_of_the_program_against_a_collective_hung_over_mpi() {
    for installation in named() {
        let name = installation.name.clone();
        let job = job(&["comparing", "end"]).on(installation).ranks(RANKS);
        let outcome = job.run().unwrap();
        let expected = [
            "ranks 0 and 1 call MPI_Barrier",
            "rank 2 calls MPI_Finalize",
        ];
        all_are_told(&name, &outcome, &expected);
        assert_done(&name, &outcome);
    }
}

#[test]
#[ignore = "needs an MPI"]
fn the_end_of_the_program_against_a_collective_elsewhere_was_not_named_at_the_limit() {
    for installation in named() {
        let name = installation.name.clone();
        let job = job(&["comparing", "end-elsewhere"])
            .on(installation)
            .ranks(RANKS);
        let outcome = job.run().unwrap();
        assert_failed_soon(&name, &outcome);
        let said = said(&outcome);
        let names_it = said.contains("not all of the 3 ranks have come")
            && (said.contains("rank 2 in MPI_Finalize") || said.contains("rank 0 in MPI_Barrier"));
        assert!(names_it, "{name}: {outcome}");
    }
}

#[test]
#[ignore = "needs an MPI"]
fn different_nonblocking_collectives_are_told_over_mpi() {
    let cases = [
        ("calls", ["MPI_Ibcast of 3 u8, root 0", "MPI_Ibarrier"]),
        ("operations", ["with Max", "with Min"]),
        ("lengths", ["of 3 u64", "of 1000 u64"]),
        (
            "started",
            [
                "ranks 0 and 1 call MPI_Ibarrier",
                "rank 2 calls MPI_Barrier",
            ],
        ),
    ];
    for installation in named() {
        for (which, expected) in cases {
            let name = format!("{}, {which}", installation.name);
            let job = job(&["comparing", "nonblocking", which])
                .on(installation.clone())
                .ranks(RANKS);
            let outcome = job.run().unwrap();
            all_are_told(&name, &outcome, &expected);
        }
    }
}

/// Its next collective met what the others had begun, whose sums were wrong, or they hung.
#[test]
#[ignore = "needs an MPI"]
fn a_rank_that_refused_what_others_began_met_them_out_of_step() {
    for installation in named() {
        for which in ["waited", "dropped"] {
            for check in ["RANKS_CHECK=collective", "RANKS_CHECK=digests"] {
                let name = format!("{}, {which}, {check}", installation.name);
                let job = job_with(&[check], &["comparing", "refused", which]);
                let outcome = job.on(installation.clone()).ranks(RANKS).run().unwrap();
                assert!(!outcome.timed_out, "{name}: {outcome}");
                for output in &outcome.output {
                    let out_of_step = |line: &&str| line.contains("ranks are out of step");
                    let count = output.stdout.lines().filter(out_of_step).count();
                    assert_eq!(count, 2, "{name}: {outcome}");
                }
            }
        }
    }
}

/// As many ranks do: those that wait tell all of it, those that do not each their own call.
#[test]
#[ignore = "needs an MPI"]
fn different_calls_are_told_by_digests() {
    let digests = ["RANKS_CHECK=digests"];
    for installation in named() {
        let name = format!("{}, by digests", installation.name);
        let run = |words: &[&str]| {
            let job = job_with(&digests, words).on(installation.clone());
            job.ranks(RANKS).run().unwrap()
        };
        let outcome = run(&["comparing", "end"]);
        let expected = [
            "ranks 0 and 1 call MPI_Barrier",
            "rank 2 calls MPI_Finalize",
        ];
        all_are_told(&name, &outcome, &expected);
        assert_done(&name, &outcome);
        let outcome = run(&["comparing", "nonblocking", "calls"]);
        for (rank, output) in outcome.output.iter().enumerate() {
            let own = if rank == 2 {
                "this rank calls MPI_Ibarrier"
            } else {
                "this rank calls MPI_Ibcast of 3 u8, root 0"
            };
            let told = output.stdout.contains("call differently") && output.stdout.contains(own);
            assert!(told && !outcome.timed_out, "{name}: {outcome}");
        }
    }
}

/// MPICH says "truncated" or less.
#[test]
#[ignore = "needs an MPI"]
fn an_error_of_lengths_that_were_not_compared_tells_how_to_compare_them() {
    fails_on_each(
        2,
        &["comparing", "uncompared"],
        &[
            "MPI_Alltoall",
            "with RANKS_CHECK=collective they are compared",
        ],
    );
}

#[test]
#[ignore = "needs an MPI"]
fn a_nonblocking_collective_was_waited_for_beyond_the_check_limit() {
    let late = "MPI_Ibarrier: timed out after ";
    let whose = ": not all of the 3 ranks have come";
    fails_on_each(
        3,
        &["comparing", "begun-alone"],
        &[late, "s (RANKS_CHECK_LIMIT) on rank ", whose],
    );
}

/// The slice was written to after the scope had returned the error. On a machine that is busy the
/// operation may take longer than a scope waits then.
#[test]
#[ignore = "needs an MPI"]
fn a_scope_ends_after_an_operation_that_ranks_call_differently() {
    let aborted = "the job is aborted, because that memory cannot be given back";
    for installation in named() {
        let name = installation.name.clone();
        let job = job(&["comparing", "scope"]).on(installation).ranks(2);
        let outcome = job.run().unwrap();
        if said(&outcome).contains(aborted) {
            continue;
        }
        for output in &outcome.output {
            assert!(
                output.stdout.contains("not written to"),
                "{name}: {outcome}"
            );
        }
    }
}

/// Whichever rank comes to its limit first tells of both calls.
#[test]
#[ignore = "needs an MPI"]
fn calls_that_are_not_compared_with_each_other_hung() {
    for (which, calls) in [
        ("create-group", ["MPI_Comm_create_group", "MPI_Barrier"]),
        ("between-groups", ["MPI_Intercomm_create", "MPI_Barrier"]),
        ("barrier", ["MPI_Win_fence", "MPI_Barrier"]),
        ("order", ["MPI_Win_fence", "rank 2 in MPI_Win_fence"]),
        ("start", ["MPI_Win_", "MPI_Win_fence"]),
        ("groups", ["MPI_Comm_create_group", "the job is aborted"]),
        ("starts", ["MPI_Win_", "the job is aborted"]),
        ("wait", ["MPI_Win_wait", "MPI_Win_fence"]),
    ] {
        fails_on_each(
            3,
            &["comparing", "apart", which],
            &["RANKS_CHECK_LIMIT", calls[0], calls[1]],
        );
    }
}
