//! Ranks that ended of themselves: they are named first, and those that were cut short by it are
//! blamed for nothing.

use serde_json::{Value, json};

use super::{Report, collective, dump, message, report, says, world};

type File = (String, Result<String, String>);

/// The dump of a rank of three with this reason and this error, of one process with the others if
/// they are `threads`.
fn left(rank: usize, threads: bool, reason: &str, error: &str, parts: &[Value]) -> File {
    let (name, text) = dump(rank, 3, parts);
    let mut dumped: Value = serde_json::from_str(&text.unwrap()).unwrap();
    dumped["reason"] = reason.into();
    if !error.is_empty() {
        dumped["error"] = error.into();
    }
    if threads {
        dumped["pid"] = 100.into();
    }
    (name, Ok(dumped.to_string()))
}

/// Rank 2 is a moment late to an exchange that rank 0 waits in, and rank 1 has come to no barrier.
fn of_threads(reasons: [&str; 3], error: &str) -> (Report, String) {
    let exchange = [message("MPI_Sendrecv", Some(2), 1, false)];
    let barrier = [collective("MPI_Barrier", false)];
    report(vec![
        left(
            0,
            true,
            reasons[0],
            error,
            &[world(0, 3, 0, &barrier[..0], &exchange)],
        ),
        left(
            1,
            true,
            reasons[1],
            error,
            &[world(1, 3, 0, &barrier[..0], &[])],
        ),
        left(2, true, reasons[2], error, &[world(2, 3, 0, &barrier, &[])]),
    ])
}

/// The trouble that is told, a line each.
fn troubles(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines
        .filter_map(|line| line.strip_prefix("TROUBLE  "))
        .collect()
}

/// Rank 2 was blamed, which had sent nothing yet.
#[test]
fn a_rank_that_ended_is_named_and_one_that_was_late_is_not() {
    for (reason, error, told) in [
        (
            "panic",
            "panicked: index out of mesh",
            "rank 1 panicked: index out of mesh",
        ),
        ("abort", "aborted with code 7", "rank 1 aborted with code 7"),
        (
            "error",
            "cannot read\nmesh.dat",
            "rank 1 returned an error: cannot read mesh.dat",
        ),
    ] {
        let cut = format!("{reason} on rank 1");
        let (report, text) = of_threads([&cut, reason, &cut], error);
        assert!(!report.is_well());
        assert_eq!(troubles(&text), [told], "{text}");
        says(
            &text,
            &[
                "NOTE     world, collective number 0: not all ranks had come to it by then\n",
                "rank 0      in MPI_Sendrecv of 1 i32 from rank 2, tag 1 on world: waits for rank 2\n",
            ],
        );
    }
}

#[test]
fn the_end_of_a_process_is_of_the_rank_that_was_in_no_call() {
    for (reason, end) in [("exit", "ended with exit"), ("SIGSEGV", "ended by SIGSEGV")] {
        let (_, text) = of_threads([reason; 3], "");
        let told = format!("rank 1 {end}: of the ranks of its process it alone was in no call");
        assert_eq!(troubles(&text), [told], "{text}");
        let idle = |rank| left(rank, true, reason, "", &[world(rank, 3, 0, &[], &[])]);
        let waits = [collective("MPI_Barrier", false)];
        let waits = |rank| left(rank, true, reason, "", &[world(rank, 3, 0, &waits, &[])]);
        let (_, text) = report(vec![waits(0), idle(1), idle(2)]);
        let told = format!(
            "ranks 1, 2 {end}, or one of them: of the ranks of their process they alone were in no call"
        );
        assert_eq!(troubles(&text), [told], "{text}");
        let (_, text) = report(vec![waits(0), waits(1), waits(2)]);
        assert_eq!(
            troubles(&text),
            [format!("ranks 0-2 {end}, all in one process")],
            "{text}"
        );
    }
}

/// Nobody is cut short by a `main` that comes to its end with communicators left.
#[test]
fn an_exit_of_all_ranks_is_no_trouble() {
    for threads in [false, true] {
        let left = |rank| left(rank, threads, "exit", "", &[world(rank, 3, 0, &[], &[])]);
        let (all, text) = report(vec![left(0), left(1), left(2)]);
        assert!(all.is_well(), "{text}");
        let (two, text) = report(vec![left(0), left(1)]);
        assert!(!two.causes.is_empty(), "{text}");
    }
}

/// Those that the launcher had killed for it were the only trouble.
#[test]
fn ranks_that_launchers_kill_follow_from_the_one_that_ended() {
    let alone = [left(1, false, "exit", "", &[world(1, 3, 0, &[], &[])])];
    let (_, text) = report(alone.to_vec());
    assert_eq!(troubles(&text), ["rank 1 ended with exit"], "{text}");
    says(
        &text,
        &["NOTE     ranks 0, 2 have left no dump: killed after that"],
    );
    let waits = [collective("MPI_Barrier", false)];
    let killed = |rank| {
        left(
            rank,
            false,
            "SIGTERM",
            "",
            &[world(rank, 3, 0, &waits, &[])],
        )
    };
    let (_, text) = report(vec![killed(0), alone[0].clone(), killed(2)]);
    assert_eq!(troubles(&text), ["rank 1 ended with exit"], "{text}");
    says(
        &text,
        &["NOTE     world, collective number 0: not all ranks had come to it by then\n"],
    );
}

#[test]
fn ranks_of_one_error_are_told_together() {
    let error = "MPI_Barrier: collective calls are mismatched on world: ranks 0 and 2 call MPI_Barrier; rank 1 calls MPI_Finalize";
    let barrier = [collective("MPI_Barrier", true)];
    let left = |rank| {
        left(
            rank,
            false,
            "error",
            error,
            &[world(rank, 3, 0, &barrier, &[])],
        )
    };
    let (_, text) = report(vec![left(0), left(2)]);
    assert_eq!(
        troubles(&text),
        [format!("ranks 0, 2 returned an error: {error}")],
        "{text}"
    );
}

/// A message that a rank has waited for until a time limit was not late.
#[test]
fn ranks_that_came_to_a_time_limit_are_not_cut_short() {
    let receive = [message("MPI_Recv", Some(2), 7, false)];
    let limit = "MPI_Recv: timed out after 3s (RANKS_TIMEOUT) on rank 0 of 3 of world";
    let parts = |rank, messages: &[Value]| [world(rank, 3, 0, &[], messages)];
    let (_, text) = report(vec![
        left(0, false, "time limit", limit, &parts(0, &receive)),
        left(1, false, "panic", "panicked: out of luck", &parts(1, &[])),
        left(2, false, "SIGTERM", "", &parts(2, &[])),
    ]);
    let told = [
        "rank 1 panicked: out of luck",
        "rank 0 waits in MPI_Recv of 1 i32 from rank 2, tag 7: rank 2 has sent it nothing with that tag",
    ];
    assert_eq!(troubles(&text), told, "{text}");
}

/// It was told that rank 1 is missing, and not where the others wait for it.
#[test]
fn a_rank_without_a_dump_is_waited_for_in_a_collective_that_is_named() {
    let gathers =
        [json!({"operation": "MPI_Allgather", "element": "usize", "items": 1, "done": false})];
    let left = |rank| {
        left(
            rank,
            false,
            "time limit",
            "",
            &[world(rank, 3, 0, &gathers, &[])],
        )
    };
    let (_, text) = report(vec![left(0), left(2)]);
    says(
        &text,
        &[
            "TROUBLE  rank 1 has left no dump: killed, cut off, or never in trouble\n         \
             ranks 0, 2 wait for it in MPI_Allgather of 1 usize (number 0) on world\n",
        ],
    );
}

/// It was said that the ranks differ in nothing.
#[test]
fn a_collective_that_came_to_a_limit_of_its_own_is_told() {
    let barrier = [collective("MPI_Barrier", true)];
    for limit in ["Communicator::within", "RANKS_CHECK_LIMIT"] {
        let error = format!(
            "MPI_Barrier: timed out after 2s ({limit}) on rank 0 of 3 of world: not all of the 3 ranks have come"
        );
        let of_0 = format!("rank 0 of 3: {error}");
        let part = |rank, calls: &[Value]| [world(rank, 3, 0, calls, &[])];
        let (one, text) = report(vec![
            left(0, true, "error", &error, &part(0, &barrier)),
            left(1, true, "error on rank 0", &of_0, &part(1, &[])),
            left(2, true, "error on rank 0", &of_0, &part(2, &[])),
        ]);
        assert!(!one.is_well());
        let told = format!("rank 0 returned an error: {error}");
        assert_eq!(troubles(&text), [told], "{text}");
        let waited = "rank 0      was in MPI_Barrier (number 0) on world: waited for ranks 1, 2\n";
        says(&text, &[waited]);
    }
}
