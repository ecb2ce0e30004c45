//! Nothing waits outside of the one wait, which ends at the time limit and is seen by the watchdog.
//!
//! Who waits for other ranks looks by `ranks_comm::backend::look`, or for so long by
//! `Pause::until`, or rests in a mailbox. What passes time in another way is in the table below,
//! with the reason why it need not; each line of it has something behind it.

use super::code::{self, words};
use super::finding::Finding;
use super::tree::Tree;

/// Words that pass time.
const WAITS: [&str; 7] = [
    "sleep",
    "yield_now",
    "spin_loop",
    "park",
    "park_timeout",
    "Condvar",
    "recv_timeout",
];

/// The same by more than a word.
const LOOPS: [&str; 2] = ["Pause::default", "mpsc::channel"];

/// Files and folders that pass time, and why they may.
const MAY: [(&str, &str); 32] = [
    // The wait itself.
    (
        "crates/ranks-comm/src/call/limit/pause.rs",
        "the time between two looks",
    ),
    (
        "crates/ranks-comm/src/call/limit/in_time.rs",
        "the wait: until something is there, or the limit",
    ),
    (
        "crates/ranks-comm/src/transport/in_process/world.rs",
        "what ranks that are threads rest on, by `Mailbox::rest`",
    ),
    (
        "crates/ranks-comm/src/transport/in_process/waiting.rs",
        "`Mailbox::rest`, which ends at the limit",
    ),
    (
        "crates/ranks-comm/src/transport/in_process/patience.rs",
        "so many looks before a rank rests",
    ),
    // Parts of a call whose thread looks at the limit, or is looked at by the watchdog.
    (
        "crates/ranks-comm/src/transport/mpi/claims.rs",
        "without a limit: `Flight::wait` looks under one",
    ),
    (
        "crates/ranks-comm/src/transport/mpi/turn.rs",
        "without a limit: probes look under one",
    ),
    (
        "crates/ranks-comm/src/op/pending_op.rs",
        "until the limit of the comparison",
    ),
    (
        "crates/ranks-comm/src/op/requests.rs",
        "without a limit: `wait_any` looks under one",
    ),
    (
        "crates/ranks-comm/src/op/scope/give_up.rs",
        "after a panic, with an end of its own",
    ),
    (
        "crates/ranks-rma-window/src/window/inner.rs",
        "for another thread's call, which has its limit",
    ),
    // Threads of ours, which nobody waits for.
    (
        "crates/ranks-comm/src/op/future.rs",
        "the thread that wakes futures",
    ),
    (
        "crates/ranks-comm/src/call/limit/watchdog.rs",
        "the watchdog",
    ),
    (
        "crates/ranks-comm/src/transport/mpi/progress.rs",
        "the thread that looks after receives",
    ),
    (
        "crates/ranks-comm/src/transport/mpi/query_ranks.rs",
        "the watchdog's questions, each with an end",
    ),
    // The end of a job.
    (
        "crates/ranks-comm/src/runtime/run.rs",
        "for the threads of ranks, which are joined",
    ),
    (
        "crates/ranks-comm/src/call/limit/last_resort.rs",
        "the thread that ends the process",
    ),
    (
        "crates/ranks-comm/src/transport/mpi/over_hosts.rs",
        "a tenth of a second before the end",
    ),
    (
        "crates/ranks-comm/src/call/last_words.rs",
        "last words, to be read",
    ),
    // Limits of their own.
    ("crates/ranks-bootstrap/src/", "the limit of a bootstrap"),
    (
        "crates/ranks-raw/src/raw_comm/in_flight.rs",
        "the limit of the raw communicator, and its thread",
    ),
    (
        "crates/ranks-raw/src/backend/waiting.rs",
        "the wait for NCCL, NVSHMEM or a stream",
    ),
    ("crates/ranks-nccl/src/state/call_lock.rs", "the same limit"),
    (
        "crates/ranks-cuda/src/driver/pause.rs",
        "the wait for a device",
    ),
    (
        "crates/ranks-nvshmem/src/backend/in_process/event.rs",
        "the limit of a wait for a stream",
    ),
    (
        "crates/ranks-nvshmem/src/backend/in_process/stream.rs",
        "a stream's thread, for work",
    ),
    (
        "crates/ranks-nvshmem/src/backend/in_process/world.rs",
        "the limit of the heap",
    ),
    // Processes, for which there are deadlines of jobs.
    ("crates/ranks-launch/src/job/", "jobs"),
    (
        "crates/ranks-launch/src/mismatch.rs",
        "a second in which other ranks of the job are seen",
    ),
    (
        "crates/ranks-cli/src/run/system/unix.rs",
        "20 ms between two ends that a launcher tells apart",
    ),
    (
        "crates/ranks-cli/src/probe.rs",
        "a process that is asked, with an end",
    ),
    ("crates/ranks-test/src/", "tests"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut used = [false; MAY.len()];
    for (path, code) in tree.code().filter(|(path, _)| is_of_a_library(path)) {
        let lines = code::lines(code::before_tests(code));
        for (number, line) in lines.filter(|(_, line)| !line.starts_with("use ")) {
            let word = words(line).find(|word| WAITS.contains(word));
            let Some(word) = word.or_else(|| LOOPS.into_iter().find(|part| line.contains(part)))
            else {
                continue;
            };
            match MAY.iter().position(|(place, _)| path.starts_with(place)) {
                Some(index) => used[index] = true,
                None => findings.push(Finding::new(
                    path,
                    number,
                    format!("`{word}`: a wait that no time limit ends and no watchdog sees"),
                    "wait by ranks_comm::backend::look within a call that was entered, or say in xtask/src/tidy/waits.rs why not",
                )),
            }
        }
    }
    let idle = MAY.iter().zip(used).filter(|(_, used)| !used);
    findings.extend(idle.map(|((place, _), _)| {
        Finding::new(
            place,
            0,
            "passes no time",
            "take its line out of xtask/src/tidy/waits.rs",
        )
    }));
    findings
}

fn is_of_a_library(path: &str) -> bool {
    path.starts_with("crates/")
        && path.contains("/src/")
        && !path.contains("/src/in_process/tests/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings about a file, and not about the table.
    fn found(path: &str, text: &str) -> Vec<usize> {
        let findings = check(&Tree::of(&[(path, text)]));
        let here = findings
            .into_iter()
            .filter(|finding| finding.path == path && finding.line > 0);
        here.map(|finding| finding.line).collect()
    }

    #[test]
    fn a_wait_of_its_own_is_found() {
        let path = "crates/ranks-rma-window/src/shared_window/steps.rs";
        for waits in [
            "std::thread::sleep(SHORT);",
            "thread::yield_now();",
            "hint::spin_loop();",
            "let mut pause = Pause::default();",
            "changed: Condvar,",
            "let (sender, words) = mpsc::channel();",
            "std::thread::park();",
        ] {
            assert_eq!(
                found(path, &format!("fn f() {{\n    {waits}\n}}\n")),
                vec![2_usize],
                "{waits}"
            );
        }
    }

    #[test]
    fn the_wait_and_tests_and_words_are_none() {
        let path = "crates/ranks-rma-window/src/shared_window/steps.rs";
        let looks = "use std::sync::Condvar;\n// sleep\nbackend::look(|| Ok(None))?; Pause::until(limit, over)?; f(\"sleep\");\n\
                     #[cfg(test)]\nmod tests {\n    fn f() { thread::sleep(LONG); }\n}\n";
        assert!(found(path, looks).is_empty());
        let sleeps = "fn f() { thread::sleep(LONG); }\n";
        assert!(found("crates/ranks-comm/src/op/future.rs", sleeps).is_empty());
        assert!(found("crates/ranks-comm/tests/future.rs", sleeps).is_empty());
        assert!(found("xtask/src/run.rs", sleeps).is_empty());
    }

    #[test]
    fn a_line_of_the_table_with_nothing_behind_it_is_found() {
        let idle = check(&Tree::default());
        assert_eq!(idle.len(), MAY.len());
    }
}
