//! Waits of ranks: for messages, failures, each other.

use serde_json::{Value, json};

use super::{Report, allreduce, collective, dump, message, report, says, world};

#[test]
fn a_message_that_nobody_has_sent_is_named() {
    let files = vec![
        dump(
            0,
            2,
            &[world(
                0,
                2,
                0,
                &[],
                &[message("MPI_Send", Some(1), 8, true)],
            )],
        ),
        dump(
            1,
            2,
            &[world(
                1,
                2,
                0,
                &[],
                &[message("MPI_Recv", Some(0), 7, false)],
            )],
        ),
    ];
    let (_, text) = report(files);
    says(
        &text,
        &[
            "TROUBLE  rank 1 waits in MPI_Recv of 1 i32 from rank 0, tag 7: rank 0 has sent it nothing with that tag, but 1 with tag 8",
            "waits for rank 0",
        ],
    );
}

/// Rank 1 has left a dump with this reason and this error, and the calls are its last.
fn failed(
    reason: &str,
    error: &str,
    collectives: &[Value],
    messages: &[Value],
) -> (Report, String) {
    let (name, dumped) = dump(1, 2, &[world(1, 2, 0, collectives, messages)]);
    let mut value: Value = serde_json::from_str(dumped.as_ref().unwrap()).unwrap();
    value["reason"] = reason.into();
    value["error"] = error.into();
    let other = dump(0, 2, &[world(0, 2, 0, &collectives[..0], &[])]);
    report(vec![other, (name, Ok(value.to_string()))])
}

#[test]
fn a_rank_that_came_to_a_time_limit_of_its_own_has_waited() {
    let receive = [message("MPI_Recv", Some(0), 7, true)];
    let error = "MPI_Recv: timed out after 3s (Communicator::within) on rank 1 of 2 of world";
    let (report, text) = failed("error", error, &[], &receive);
    assert!(report.waits[0].over, "{text}");
    says(
        &text,
        &[
            "TROUBLE  rank 1 waited in MPI_Recv of 1 i32 from rank 0, tag 7: rank 0 has sent it nothing with that tag",
            "timed out after 3s",
            "the call was MPI_Recv of 1 i32 from rank 0, tag 7 on world\n",
            "rank 1      was in MPI_Recv of 1 i32 from rank 0, tag 7 on world: waited for rank 0\n",
        ],
    );
    let (report, text) = failed("error on rank 0", error, &[], &receive);
    assert!(report.waits.is_empty(), "{text}");
    assert_eq!(report.ranks[1].failed_in, None, "{text}");
}

#[test]
fn a_barrier_before_was_named_where_another_rank_waits_in_the_next_one() {
    let calls = [collective("MPI_Barrier", true)];
    let receive = [message("MPI_Recv", Some(0), 7, true)];
    let error = "MPI_Recv: timed out after 2s (RANKS_TIMEOUT) on rank 1 of 2 of world; it waits for rank 0; \
                 waiting too: rank 0 in MPI_Barrier for 2.0 s";
    let (_, text) = failed("error", error, &calls, &receive);
    says(
        &text,
        &[
            "the call was MPI_Recv of 1 i32 from rank 0, tag 7 on world\n",
            "rank 1      1 begun, 1 done, the last was MPI_Barrier",
        ],
    );
}

#[test]
fn what_has_failed_is_waited_for_no_longer() {
    let calls = [collective("MPI_Barrier", true), allreduce(4, true)];
    let error = "MPI_Allreduce: rank 0 calls MPI_Bcast of 1 i32, root 0";
    let (report, text) = failed("error", error, &calls, &[]);
    assert!(report.waits.is_empty(), "{text}");
    says(
        &text,
        &[
            "the call was MPI_Allreduce of 4 f64 by Sum (number 1) on world\n",
            "rank 1      2 begun, 1 done, failed in MPI_Allreduce of 4 f64 by Sum\n",
        ],
    );
    let (_, text) = failed("panic", "out of luck", &calls, &[]);
    says(
        &text,
        &["2 begun, 2 done, the last was MPI_Allreduce of 4 f64 by Sum\n"],
    );
}

#[test]
fn a_message_from_anybody_that_nobody_has_sent_is_named() {
    let receive = |nobody: bool| {
        let mut call = message("MPI_Recv", None, 4, false);
        call["nobody"] = nobody.into();
        dump(1, 2, &[world(1, 2, 0, &[], &[call])])
    };
    let sent = || {
        dump(
            0,
            2,
            &[world(
                0,
                2,
                0,
                &[],
                &[message("MPI_Send", Some(1), 3, true)],
            )],
        )
    };
    let (_, text) = report(vec![sent(), receive(false)]);
    says(
        &text,
        &["from any rank, tag 4: no rank has sent it anything with that tag"],
    );
    let (report, text) = report(vec![sent(), receive(true)]);
    assert!(report.waits.iter().all(|wait| wait.why.is_none()), "{text}");
}

#[test]
fn a_message_that_was_sent_and_not_yet_taken_is_no_trouble() {
    let sent = [
        message("MPI_Send", Some(1), 7, true),
        message("MPI_Isend", Some(1), 7, true),
    ];
    let taken = [
        message("MPI_Recv", Some(0), 7, true),
        message("MPI_Recv", Some(0), 7, false),
    ];
    let files = vec![
        dump(0, 2, &[world(0, 2, 0, &[], &sent)]),
        dump(1, 2, &[world(1, 2, 0, &[], &taken)]),
    ];
    let (first, text) = report(files);
    assert!(first.is_well(), "{text}");
    let files = vec![
        dump(0, 2, &[world(0, 2, 0, &[], &sent[..1])]),
        dump(1, 2, &[world(1, 2, 0, &[], &taken)]),
    ];
    let (_, text) = report(files);
    says(
        &text,
        &["rank 0 has sent it 1 with that tag, and 1 were there before"],
    );
}

#[test]
fn ranks_that_wait_for_each_other_are_a_deadlock() {
    let of = |rank: usize| {
        let before = [message("MPI_Recv", Some((rank + 1) % 3), 5, false)];
        dump(rank, 4, &[world(rank, 4, 0, &[], &before)])
    };
    let barrier = dump(
        3,
        4,
        &[world(3, 4, 0, &[collective("MPI_Barrier", false)], &[])],
    );
    let (report, text) = report(vec![of(0), of(1), of(2), barrier]);
    assert_eq!(report.deadlock, [0, 1, 2]);
    says(
        &text,
        &[
            "TROUBLE  deadlock",
            "rank 0 waits for rank 1 in MPI_Recv of 1 i32 from rank 1, tag 5 on world\n",
            "rank 2 waits for rank 0 in",
            "rank 3      in MPI_Barrier (number 0) on world: waits for ranks 0-2",
        ],
    );
}

#[test]
fn a_collective_and_a_message_make_a_deadlock() {
    let files = vec![
        dump(
            0,
            2,
            &[world(0, 2, 0, &[collective("MPI_Barrier", false)], &[])],
        ),
        dump(
            1,
            2,
            &[world(
                1,
                2,
                0,
                &[],
                &[message("MPI_Recv", Some(0), 7, false)],
            )],
        ),
    ];
    let (report, text) = report(files);
    assert_eq!(report.deadlock, [0, 1], "{text}");
}

#[test]
fn a_send_that_nobody_receives_is_named() {
    let files = vec![
        dump(
            0,
            2,
            &[world(
                0,
                2,
                0,
                &[],
                &[message("MPI_Ssend", Some(1), 3, false)],
            )],
        ),
        dump(
            1,
            2,
            &[world(1, 2, 0, &[], &[message("MPI_Recv", None, 4, false)])],
        ),
    ];
    let (report, text) = report(files);
    says(
        &text,
        &[
            "rank 0 waits in MPI_Ssend of 1 i32 to rank 1, tag 3: rank 1 has begun to receive from it nothing with that tag, but 1 with tag 4",
        ],
    );
    assert_eq!(
        report.waits[1].call,
        "MPI_Recv of 1 i32 from any rank, tag 4"
    );
}

/// Nothing was said of them, and the command ended with 0.
#[test]
fn receives_that_are_waited_for_as_requests_are_told() {
    let of = |rank: usize| {
        let messages = [
            message("MPI_Irecv", Some(1 - rank), 77, true),
            json!({"operation": "MPI_Wait", "done": false}),
        ];
        dump(rank, 2, &[world(rank, 2, 0, &[], &messages)])
    };
    let (report, text) = report(vec![of(0), of(1)]);
    assert!(!report.is_well(), "{text}");
    let expected = "TROUBLE  rank 0 waits in MPI_Wait: MPI_Irecv of 1 i32 from rank 1, tag 77 is not complete: \
                    rank 1 has sent it nothing with that tag\n";
    says(&text, &[expected]);
}

/// Nothing was said of a collective that a rank waits for as a request.
#[test]
fn a_nonblocking_collective_that_a_rank_never_began_makes_a_deadlock() {
    let mut begun = allreduce(4, true);
    begun["operation"] = "MPI_Iallreduce".into();
    let receive = |from| message("MPI_Recv", Some(from), 7, false);
    let of = |rank: usize, waits: Value| {
        let calls = std::slice::from_ref(&begun);
        let calls = if rank < 2 { calls } else { &[] };
        dump(rank, 3, &[world(rank, 3, 0, calls, &[waits])])
    };
    let wait = json!({"operation": "MPI_Wait", "done": false});
    let (report, text) = report(vec![of(0, wait), of(1, receive(0)), of(2, receive(1))]);
    assert_eq!(report.deadlock, [0, 2, 1], "{text}");
    says(
        &text,
        &[
            "TROUBLE  world, collective number 0: not all ranks have come to it\n",
            "ranks 0, 1   MPI_Iallreduce of 4 f64 by Sum\n",
            "rank 2       not there\n",
            "rank 0 waits for rank 2 in MPI_Wait on world\n",
            "TROUBLE  rank 0 waits in MPI_Wait: MPI_Iallreduce of 4 f64 by Sum (number 0) is not complete: \
             rank 2 has not come to it\n",
            "rank 0      in MPI_Wait on world: waits for rank 2\n",
        ],
    );
}

/// A collective that all have begun is complete before long; a receive may be what is waited for.
#[test]
fn a_nonblocking_collective_that_all_have_begun_is_waited_for_by_none() {
    let begun = [collective("MPI_Ibarrier", true)];
    let wait = json!({"operation": "MPI_Waitall", "done": false});
    let receive = message("MPI_Irecv", Some(1), 77, true);
    let of = |rank, calls, messages: &[Value]| dump(rank, 2, &[world(rank, 2, 0, calls, messages)]);
    let both = [receive, wait];
    let (all, text) = report(vec![of(0, &begun, &both[1..]), of(1, &begun, &[])]);
    assert!(all.is_well(), "{text}");
    let (mixed, text) = report(vec![of(0, &begun, &both), of(1, &[], &[])]);
    assert!(mixed.waits[0].on.is_empty(), "{text}");
    says(
        &text,
        &[
            "rank 0 waits in MPI_Waitall: MPI_Irecv of 1 i32 from rank 1, tag 77 is not complete: rank 1 has sent it nothing \
             with that tag; MPI_Ibarrier (number 0) is not complete: rank 1 has not come to it\n",
        ],
    );
}

/// An exchange long ago was taken for a receive of what is sent now.
#[test]
fn a_send_that_waits_after_an_exchange_is_told() {
    let of = |rank: usize| {
        let mut exchange = message("MPI_Sendrecv", Some(1 - rank), 1, true);
        exchange["dest"] = (1 - rank).into();
        let messages = [exchange, message("MPI_Ssend", Some(1 - rank), 40, false)];
        dump(rank, 2, &[world(rank, 2, 0, &[], &messages)])
    };
    let (report, text) = report(vec![of(0), of(1)]);
    assert_eq!(report.deadlock, [0, 1], "{text}");
    let expected = "rank 1 has begun to receive from it nothing with that tag, but 1 with tag 1\n";
    says(&text, &[expected]);
}

/// It was told of as a send, without its rank and its tag.
#[test]
fn a_receive_of_any_length_is_a_receive() {
    let mut waits = message("MPI_Mrecv", Some(1), 77, false);
    waits["items"] = 0.into();
    let sent = [78, 79].map(|tag| message("MPI_Send", Some(0), tag, true));
    let files = vec![
        dump(0, 2, &[world(0, 2, 0, &[], &[waits])]),
        dump(1, 2, &[world(1, 2, 0, &[], &sent)]),
    ];
    let (_, text) = report(files);
    let expected = "TROUBLE  rank 0 waits in MPI_Mrecv of i32 from rank 1, tag 77: \
                    rank 1 has sent it nothing with that tag, but 1 with tag 78 and 1 with tag 79\n";
    says(&text, &[expected]);
}

/// The communicator of `rank` of two that has the name, and these calls.
fn named(name: &str, id: u64, rank: usize, calls: &[Value], messages: &[Value]) -> Value {
    let mut part = world(rank, 2, 0, calls, messages);
    (part["id"], part["name"]) = (id.into(), name.into());
    part
}

/// It was said that rank 0 has sent nothing.
#[test]
fn a_message_on_another_communicator_is_named() {
    let sends = |count| vec![message("MPI_Send", Some(1), 7, true); count];
    let receives = |done| [message("MPI_Recv", Some(0), 7, done)];
    let wait = "TROUBLE  rank 1 waits in MPI_Recv of 1 i32 from rank 0, tag 7: rank 0 has sent it nothing with that tag";
    for (sent, told) in [(2, " on world, but 1 with tag 7 on ocean\n"), (1, "\n")] {
        let (_, text) = report(vec![
            dump(
                0,
                2,
                &[
                    world(0, 2, 0, &[], &[]),
                    named("ocean", 2, 0, &[], &sends(sent)),
                ],
            ),
            dump(
                1,
                2,
                &[
                    world(1, 2, 0, &[], &receives(false)),
                    named("ocean", 2, 1, &[], &receives(true)),
                ],
            ),
        ]);
        says(&text, &[&format!("{wait}{told}")]);
    }
    let sends = [message("MPI_Ssend", Some(1), 7, false)];
    let (_, text) = report(vec![
        dump(
            0,
            2,
            &[world(0, 2, 0, &[], &sends), named("ocean", 2, 0, &[], &[])],
        ),
        dump(
            1,
            2,
            &[
                world(1, 2, 0, &[], &[]),
                named("ocean", 2, 1, &[], &receives(false)),
            ],
        ),
    ]);
    let told = "rank 1 has begun to receive from it nothing with that tag on world, but 1 with tag 7 on ocean\n";
    says(&text, &[told]);
}

/// Both lines of the deadlock were of `MPI_Barrier (number 0)`.
#[test]
fn a_deadlock_of_two_communicators_names_both() {
    let barrier = [collective("MPI_Barrier", false)];
    let of = |rank: usize, ocean: &[Value], ice: &[Value]| {
        let parts = [
            named("ocean", 2, rank, ocean, &[]),
            named("ice", 3, rank, ice, &[]),
        ];
        dump(rank, 2, &parts)
    };
    let (_, text) = report(vec![of(0, &barrier, &[]), of(1, &[], &barrier)]);
    says(
        &text,
        &[
            "rank 0 waits for rank 1 in MPI_Barrier (number 0) on ocean\n",
            "rank 1 waits for rank 0 in MPI_Barrier (number 0) on ice\n",
        ],
    );
}
