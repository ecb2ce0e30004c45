//! Dumps that are drawn: none of them ends the command.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::report;

/// A call with ranks, tags and numbers that may be anything.
fn any_call() -> impl Strategy<Value = Value> {
    let operation = prop::sample::select(vec![
        "MPI_Barrier",
        "MPI_Recv",
        "MPI_Send",
        "MPI_Sendrecv",
        "MPI_Wait",
        "MPI_Irecv",
        "MPI_Start",
        "MPI_Probe",
        "é",
        "",
    ]);
    let number = prop_oneof![0..6_u64, Just(u64::MAX)];
    let rank = || prop::option::of(prop_oneof![0..5_usize, Just(usize::MAX)]);
    let tag = prop::option::of(0..3_i64);
    (operation, number, rank(), rank(), tag, any::<bool>()).prop_map(|(operation, number, peer, dest, tag, done)| {
        json!({"operation": operation, "number": number, "peer": peer, "dest": dest, "root": peer, "tag": tag, "done": done})
    })
}

fn any_dump() -> impl Strategy<Value = String> {
    let calls = || prop::collection::vec(any_call(), 0..5);
    let part = (0..3_u64, 0..5_usize, prop::collection::vec(0..6_usize, 0..5), calls(), calls(), any::<u64>()).prop_map(
        |(id, rank, world_ranks, collectives, messages, begun)| {
            json!({
                "id": id, "rank": rank, "world_ranks": world_ranks, "begun": begun, "ended": begun / 2,
                "collectives": collectives, "messages": messages,
            })
        },
    );
    let size = prop_oneof![Just(4_usize), Just(usize::MAX)];
    (0..4_usize, size, prop::collection::vec(part, 0..3)).prop_map(|(rank, size, communicators)| {
        let under_way =
            json!([{"operation": "MPI_Wait", "seconds": 1e300, "waits_for": [usize::MAX, 0]}]);
        json!({"rank": rank, "size": size, "communicators": communicators, "under_way": under_way})
            .to_string()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn no_text_ends_it(texts in prop::collection::vec(any::<String>(), 0..3)) {
        let files = texts.into_iter().map(|text| ("rank-0.json".to_owned(), Ok(text)));
        let (report, _) = report(files.collect());
        prop_assert!(!report.is_well());
    }

    #[test]
    fn no_dumps_end_it(texts in prop::collection::vec(any_dump(), 0..5)) {
        let files = texts.into_iter().map(|text| ("rank-0.json".to_owned(), Ok(text)));
        let (report, _) = report(files.collect());
        prop_assert!(serde_json::to_string(&report).is_ok());
        let waits = |rank: &usize| report.waits.iter().any(|wait| wait.rank == *rank);
        prop_assert!(report.deadlock.iter().all(waits));
    }
}
