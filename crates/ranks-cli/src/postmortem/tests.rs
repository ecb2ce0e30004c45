//! Dumps that are made up, and what is said of them.

use serde_json::{Value, json};

use super::Report;
use super::job::Job;
use super::text;

mod causes;
mod drawn;
mod waiting;

/// A communicator of `size` ranks whose collectives are numbered from `first`, all done but the
/// last.
fn world(rank: usize, size: usize, first: u64, calls: &[Value], messages: &[Value]) -> Value {
    let numbered = |calls: &[Value], first: u64| -> Vec<Value> {
        let numbers = first..;
        let calls = numbers.zip(calls).map(|(number, call)| {
            let mut call = call.clone();
            call["number"] = number.into();
            call
        });
        calls.collect()
    };
    let collectives = numbered(calls, first);
    let done = collectives
        .iter()
        .filter(|call| call["done"] == true)
        .count();
    json!({
        "id": 1, "name": "world", "rank": rank, "size": size,
        "world_ranks": (0..size).collect::<Vec<_>>(),
        "begun": first + collectives.len() as u64, "ended": first + done as u64,
        "collectives": collectives, "messages": numbered(messages, 0),
    })
}

fn dump(rank: usize, size: usize, communicators: &[Value]) -> (String, Result<String, String>) {
    let dump = json!({
        "version": 1, "rank": rank, "size": size, "host": "node1", "pid": 100 + rank,
        "library": "in process", "reason": "time limit", "communicators": communicators, "under_way": [],
    });
    (format!("rank-{rank}.json"), Ok(dump.to_string()))
}

fn collective(operation: &str, done: bool) -> Value {
    json!({"operation": operation, "done": done})
}

fn allreduce(items: usize, done: bool) -> Value {
    json!({
        "operation": "MPI_Allreduce", "element": "f64", "width": 8, "items": items,
        "reduction": "ranks_collectives::ops::Sum", "done": done,
    })
}

fn message(operation: &str, peer: Option<usize>, tag: i64, done: bool) -> Value {
    json!({"operation": operation, "element": "i32", "items": 1, "peer": peer, "tag": tag, "done": done})
}

fn report(files: Vec<(String, Result<String, String>)>) -> (Report, String) {
    let report = Report::of(Job::of(files));
    let mut out = Vec::new();
    text::write(&report, &mut out).unwrap();
    let text = anstream::adapter::strip_bytes(&out).into_vec();
    (report, String::from_utf8(text).unwrap())
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn ranks_that_did_the_same_differ_in_nothing() {
    let calls = [collective("MPI_Barrier", true), allreduce(4, true)];
    let of = |rank| dump(rank, 2, &[world(rank, 2, 0, &calls, &[])]);
    let (report, text) = report(vec![of(0), of(1)]);
    assert!(report.is_well(), "{text}");
    says(
        &text,
        &[
            "2 of 2 ranks left a dump",
            "the ranks differ in nothing",
            "rank 1      2 begun, 2 done, the last was MPI_Allreduce of 4 f64 by Sum",
        ],
    );
}

#[test]
fn the_first_collective_that_differs_is_named() {
    let calls = |items| {
        [
            collective("MPI_Barrier", true),
            allreduce(items, true),
            collective("MPI_Barrier", false),
        ]
    };
    let other = [
        collective("MPI_Barrier", true),
        json!({"operation": "MPI_Bcast", "element": "i32", "items": 1, "root": 0}),
    ];
    let files = vec![
        dump(0, 4, &[world(0, 4, 0, &calls(4), &[])]),
        dump(1, 4, &[world(1, 4, 0, &calls(4), &[])]),
        dump(2, 4, &[world(2, 4, 0, &calls(5), &[])]),
        dump(3, 4, &[world(3, 4, 0, &other, &[])]),
    ];
    let (report, text) = report(files);
    assert_eq!(
        report.communicators[0].difference.as_ref().unwrap().number,
        1
    );
    says(
        &text,
        &[
            "TROUBLE  world, collective number 1: the ranks disagree about the collective",
            "ranks 0, 1   MPI_Allreduce of 4 f64 by Sum\n",
            "rank 2       MPI_Allreduce of 5 f64 by Sum\n",
            "rank 3       MPI_Bcast of 1 i32, root 0\n",
        ],
    );
}

#[test]
fn a_rank_that_has_not_come_and_one_that_is_gone_are_told_apart() {
    let calls = [collective("MPI_Barrier", true), allreduce(4, false)];
    let files = vec![
        dump(0, 4, &[world(0, 4, 0, &calls, &[])]),
        dump(1, 4, &[world(1, 4, 0, &calls[..1], &[])]),
        dump(3, 4, &[world(3, 4, 0, &calls, &[])]),
    ];
    let (report, text) = report(files);
    assert!(!report.is_well());
    says(
        &text,
        &[
            "3 of 4 ranks left a dump",
            "TROUBLE  rank 2 has left no dump",
            "world, collective number 1: not all ranks have come to it",
            "ranks 0, 3   MPI_Allreduce of 4 f64 by Sum\n",
            "rank 1       not there\n",
            "rank 2       not known\n",
            "rank 0      in MPI_Allreduce of 4 f64 by Sum (number 1) on world: waits for rank 1\n",
        ],
    );
}

#[test]
fn what_rings_no_longer_hold_is_said() {
    let calls: Vec<Value> = (0..128).map(|_| allreduce(1, true)).collect();
    let files = vec![
        dump(0, 3, &[world(0, 3, 1000, &calls, &[])]),
        dump(1, 3, &[world(1, 3, 1001, &calls, &[])]),
        dump(2, 3, &[world(2, 3, 0, &calls, &[])]),
    ];
    let (_, text) = report(files);
    says(
        &text,
        &[
            "ranks 0, 1 hold no longer those before number 1001: they could not be compared",
            "rank 2 has come to number 128 only, of which others hold nothing any more",
        ],
    );
}

#[test]
fn communicators_of_some_ranks_are_told_in_ranks_of_the_world() {
    let pair = |rank: usize, calls: &[Value]| {
        let mut part = world(rank, 2, 0, calls, &[]);
        (part["id"], part["name"], part["world_ranks"]) = (9.into(), "pair".into(), json!([1, 3]));
        part
    };
    let all = |rank: usize| world(rank, 4, 0, &[], &[]);
    let files = vec![
        dump(0, 4, &[all(0)]),
        dump(
            1,
            4,
            &[all(1), pair(0, &[collective("MPI_Barrier", false)])],
        ),
        dump(2, 4, &[all(2)]),
        dump(3, 4, &[all(3)]),
    ];
    let (report, text) = report(files);
    let story = report
        .communicators
        .iter()
        .find(|story| story.communicator == "pair")
        .unwrap();
    assert_eq!(story.without.to_string(), "3");
    says(
        &text,
        &[
            "pair (ranks 1, 3): collectives",
            "rank 3 has no such communicator: not yet, or no longer",
        ],
    );
}

#[test]
fn files_that_are_no_dumps_are_named_and_stop_nothing() {
    let good = dump(
        0,
        3,
        &[world(0, 3, 0, &[collective("MPI_Barrier", false)], &[])],
    );
    let half: String = good.1.clone().unwrap().chars().take(80).collect();
    let files = vec![
        good.clone(),
        ("rank-1.json".to_owned(), Ok(half)),
        ("rank-2.json".to_owned(), Err("it is no text".to_owned())),
        ("rank-00.json".to_owned(), good.1),
    ];
    let (report, text) = report(files);
    assert_eq!(report.unreadable.len(), 3);
    says(
        &text,
        &[
            "rank-1.json cannot be read: it ends too soon, as if its rank had been killed",
            "rank-2.json cannot be read: it is no text",
            "rank-00.json cannot be read: another file is of rank 0, too",
            "ranks 1, 2 have left no dump",
        ],
    );
}

#[test]
fn an_empty_folder_says_how_dumps_are_made() {
    let (report, text) = report(Vec::new());
    assert!(!report.is_well());
    says(&text, &["no dump of a rank is here", "RANKS_DUMP=DIR"]);
}

#[test]
fn dumps_of_several_jobs_are_noticed() {
    let (_, text) = report(vec![dump(0, 2, &[]), dump(1, 3, &[])]);
    says(&text, &["dumps of several jobs, of 2 and 3 ranks"]);
}
