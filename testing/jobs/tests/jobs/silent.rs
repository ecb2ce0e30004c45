//! A rank is silent while others wait for it: they end at their time limit, and say what they wait
//! for and who is silent.

use std::thread;

use ranks_launch::Job;

use super::{assert_done, assert_failed_soon, job, named, said, succeeds_on_each};

/// What is waited for, and what it is called.
const WAITS: [(&str, &str); 14] = [
    ("recv", "MPI_Recv"),
    ("ssend", "MPI_Ssend"),
    ("wait", "MPI_Wait (of MPI_Irecv)"),
    ("scope", "MPI_Wait (of MPI_Irecv)"),
    ("halo", "MPI_Wait (of MPI_Irecv)"),
    ("barrier", "MPI_Barrier"),
    ("bcast", "MPI_Bcast"),
    ("allreduce", "MPI_Allreduce"),
    ("dup", "MPI_Comm_dup"),
    ("sparse", "SparseExchange::alltoallv"),
    ("fence", "MPI_Win_fence"),
    ("phase", "SharedWindow::fence"),
    ("update", "NodeShared::update"),
    ("finalize", "MPI_Finalize"),
];

/// How long operations may take here.
const LIMIT: &str = "700ms";

#[test]
#[ignore = "needs an MPI"]
fn what_waits_for_a_silent_rank_ends_at_its_limit() {
    for installation in named() {
        // Several at a time: they sleep most of it.
        for some in WAITS.chunks(4) {
            thread::scope(|scope| {
                for (what, operation) in some {
                    let installation = installation.clone();
                    scope.spawn(move || {
                        let name = format!("{}, {what}", installation.name);
                        let job = job(&["silent", what]).on(installation).ranks(2);
                        ends_at_its_limit(&name, job, operation);
                    });
                }
            });
        }
    }
}

/// Rank 0 has nothing from the others then.
#[test]
#[ignore = "needs an MPI"]
fn the_end_has_its_limit_where_statistics_are_kept_too() {
    for installation in named() {
        let name = format!("{}, with statistics", installation.name);
        let job = job(&["silent", "finalize"]).on(installation).ranks(2);
        let said = ends_at_its_limit(&name, job.env("RANKS_STATS", "1"), "MPI_Finalize");
        let missing = "missing: rank 1, the ranks did not come to the end together";
        assert!(said.contains(missing), "{name}: {said}");
    }
}

/// Ranks 2 and 3 send to rank 0 as one. Rank 2 has no limit, and does not wait for rank 3 longer
/// than rank 0 for it.
#[test]
#[ignore = "needs an MPI"]
fn who_is_last_is_missing_with_those_whose_statistics_it_has() {
    let late = "it did not come to the end in time";
    let some = "whose statistics rank 2 was to send";
    let cases = [
        ("3", 3, format!("missing: rank 3, {late}\n")),
        ("2", 2, format!("missing: ranks 2 to 3, {some}: {late}\n")),
    ];
    for installation in named() {
        for (last, ranks, missing) in &cases {
            let name = format!("{}, rank {last} is last", installation.name);
            let job = job(&["silent", "last", last]).on(installation.clone());
            let outcome = job.ranks(4).env("RANKS_STATS", "1").run().unwrap();
            assert_done(&name, &outcome);
            let said = said(&outcome);
            assert!(said.contains(missing), "{name}: {outcome}");
            assert_eq!(said.matches("missing:").count(), 1, "{name}: {outcome}");
            let barriers = said.lines().find(|line| line.contains("MPI_Barrier "));
            let words: Vec<&str> = barriers.unwrap_or("").split_whitespace().collect();
            let counted = words.iter().position(|&word| word == "MPI_COMM_WORLD");
            let counted = counted.and_then(|at| words.get(at + 1));
            assert_eq!(
                counted,
                Some(&ranks.to_string().as_str()),
                "{name}: {outcome}"
            );
        }
    }
}

/// The end had the limit of a call that had been given up: the job failed, and messages were lost.
#[test]
#[ignore = "needs an MPI"]
fn a_call_that_was_given_up_took_its_limit_to_the_end_of_the_program() {
    for installation in named() {
        for checks in ["compared", "not-compared"] {
            let name = format!("{}, late at the end, {checks}", installation.name);
            let job = job(&["silent", "late-at-the-end", checks]).on(installation.clone());
            let outcome = job.ranks(3).run().unwrap();
            assert_done(&name, &outcome);
            let said = said(&outcome);
            assert!(!said.contains("timed out"), "{name}: {outcome}");
        }
    }
}

/// The job was aborted where the call had not looked at the time yet.
#[test]
#[ignore = "needs an MPI"]
fn a_message_is_asked_for_with_the_shortest_limits() {
    succeeds_on_each(2, &["silent", "asked-for"]);
}

/// A limit beyond all clocks is none, at the end as elsewhere.
#[test]
#[ignore = "needs an MPI"]
fn statistics_come_together_under_a_limit_that_no_clock_reaches() {
    for installation in named() {
        let name = format!("{}, a limit beyond all clocks", installation.name);
        let job = job(&["world"]).on(installation).ranks(2);
        let job = job.env("RANKS_TIMEOUT", "18446744073709549568s");
        let outcome = job.env("RANKS_STATS", "1").run().unwrap();
        assert_done(&name, &outcome);
        let said = said(&outcome);
        assert!(said.contains("ranks: 2 ranks on "), "{name}: {outcome}");
    }
}

fn ends_at_its_limit(name: &str, job: Job, operation: &str) -> String {
    let outcome = job.env("RANKS_TIMEOUT", LIMIT).run().unwrap();
    // Launchers end the silent rank when the other one fails. Should one not: it is silent for 5 s,
    // and its own MPI_Finalize has 10.
    assert_failed_soon(name, &outcome);
    let said = said(&outcome);
    let limit = format!("timed out after {LIMIT} (RANKS_TIMEOUT) on rank 0 of 2 of ");
    for text in [
        &format!("{operation}: {limit}"),
        "silent: rank 1 (alive, in no operation)",
    ] {
        assert!(said.contains(text), "{name}: no {text:?} in {outcome}");
    }
    said
}

/// It told of a limit of 10 s, and nothing of the others; where calls are compared, nothing at all.
#[test]
#[ignore = "needs an MPI"]
fn a_warning_at_the_end_has_the_limit_and_names_who_is_silent() {
    let warning = format!(
        "ranks: MPI_Finalize: timed out after {LIMIT} (RANKS_TIMEOUT) on rank 0 of 2 of MPI_COMM_WORLD; \
         silent: rank 1 (alive, in no operation)"
    );
    for installation in named() {
        thread::scope(|scope| {
            for what in ["finalize", "compared-finalize"] {
                let (installation, warning) = (installation.clone(), &warning);
                scope.spawn(move || {
                    let name = format!("{}, {what}", installation.name);
                    let job = job(&["silent", what]).on(installation).ranks(2);
                    let job = job.env("RANKS_TIMEOUT", format!("{LIMIT},warn"));
                    let outcome = job.run().unwrap();
                    assert_done(&name, &outcome);
                    let said = said(&outcome);
                    assert!(said.contains(warning.as_str()), "{name}: {outcome}");
                    assert_eq!(said.matches("timed out").count(), 1, "{name}: {outcome}");
                });
            }
        });
    }
}

/// It was read by nobody, without a word.
#[test]
#[ignore = "needs an MPI"]
fn rank_0_warns_of_a_variable_that_is_misspelt() {
    let warning = "ranks: RANKS_TIMEOUTS is set, which nothing reads; did you mean RANKS_TIMEOUT?";
    for installation in named() {
        let name = format!("{}, a misspelt variable", installation.name);
        let job = job(&["world"]).on(installation).ranks(2);
        let outcome = job.env("RANKS_TIMEOUTS", "3s").run().unwrap();
        assert_done(&name, &outcome);
        let said = said(&outcome);
        assert_eq!(said.matches(warning).count(), 1, "{name}: {outcome}");
    }
}

/// There are libraries that have let go of 8 MiB before anybody receives them (Intel MPI 2021.19):
/// with these there is always room.
#[test]
#[ignore = "needs an MPI"]
fn an_outbox_waits_for_room_no_longer_than_the_limit() {
    for installation in named() {
        let name = format!("{}, outbox", installation.name);
        let job = job(&["silent", "outbox"]).on(installation).ranks(2);
        let outcome = job.env("RANKS_TIMEOUT", LIMIT).run().unwrap();
        assert_failed_soon(&name, &outcome);
        let said = said(&outcome);
        let late = format!("Outbox::send: timed out after {LIMIT}");
        let words = [late.as_str(), "there was room"];
        assert!(
            words.iter().any(|text| said.contains(text)),
            "{name}: {outcome}"
        );
    }
}

/// It returned with the error of the wait, and its slice was freed while the message was sent.
#[test]
#[ignore = "needs an MPI"]
fn a_scope_does_not_return_before_an_operation_whose_wait_is_late() {
    for installation in named() {
        let name = format!("{}, scoped-wait", installation.name);
        let job = job(&["silent", "scoped-wait"]).on(installation).ranks(2);
        let outcome = job.env("RANKS_TIMEOUT", LIMIT).run().unwrap();
        assert_failed_soon(&name, &outcome);
        let said = said(&outcome);
        let aborted = "the job is aborted, because that memory cannot be given back";
        assert!(said.contains(aborted), "{name}: {outcome}");
        assert!(!said.contains("the scope returned"), "{name}: {outcome}");
    }
}

/// Many a job was aborted.
#[test]
#[ignore = "needs an MPI"]
fn ranks_go_on_after_a_limit_of_a_collective_that_is_compared() {
    for installation in named() {
        let name = installation.name.clone();
        let job = job(&["silent", "compared"]).on(installation).ranks(3);
        let outcome = job.env("RANKS_TIMEOUT", LIMIT).run().unwrap();
        for rank in [0, 2] {
            let went_on = outcome.output[rank].stdout.contains("went on");
            assert!(went_on, "{name}: {outcome}");
        }
    }
}

#[test]
#[ignore = "needs an MPI"]
fn ranks_go_on_after_a_limit_of_a_communicator() {
    for installation in named() {
        let name = installation.name.clone();
        let outcome = job(&["silent", "late"])
            .on(installation)
            .ranks(3)
            .run()
            .unwrap();
        assert_done(&name, &outcome);
    }
}

#[test]
fn a_limit_that_is_none_is_an_error() {
    let outcome = job(&["world"])
        .env("RANKS_TIMEOUT", "3 apples")
        .run()
        .unwrap();
    assert!(!outcome.success(), "{outcome}");
    let expected = "RANKS_TIMEOUT is `3 apples`; it must be how long an operation may take";
    assert!(said(&outcome).contains(expected), "{outcome}");
}
