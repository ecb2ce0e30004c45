//! A profiling tool that is preloaded sees every call, although no library is linked.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use ranks_launch::Installation;

use super::{assert_done, is_mpich, job, job_with, named, said, scratch, shared_library};

/// Each part of the program, and how often it calls what is one call of MPI on every library.
const PARTS: [(&str, &[(&str, usize)]); 4] = [
    (
        "collectives",
        &[
            ("MPI_Barrier", 2),
            ("MPI_Bcast", 3),
            ("MPI_Reduce", 4),
            ("MPI_Allreduce", 5),
            ("MPI_Gather", 6),
            ("MPI_Allgather", 7),
            ("MPI_Scatter", 8),
            ("MPI_Alltoall", 9),
        ],
    ),
    ("messages", &[("MPI_Send", 11), ("MPI_Iprobe", 12)]),
    (
        "communicators",
        &[
            ("MPI_Comm_dup", 1),
            ("MPI_Comm_split", 2),
            ("MPI_Comm_free", 3),
        ],
    ),
    // Receives that wait for messages of several tags are looked for by one tag each.
    ("promises", &[("MPI_Iprobe", LOOKS)]),
];

/// The looks at a communicator that is freed for what was not received, with debug assertions.
const LOOKS: usize = if cfg!(debug_assertions) { 4 } else { 0 };

/// What completes 11 receives and 10 exchanges: which of them is up to the library.
const RECEIVING: [&str; 3] = ["MPI_Recv", "MPI_Mrecv", "MPI_Sendrecv"];

type Counts = BTreeMap<String, usize>;

#[test]
#[ignore = "needs an MPI"]
fn a_preloaded_tool_sees_every_call() {
    for installation in named() {
        let start = counts(&installation, "nothing");
        for (part, expected) in PARTS {
            let name = format!("{part} on {}", installation.name);
            for (before, after) in start.iter().zip(counts(&installation, part)) {
                check(&name, before, &after, expected);
            }
        }
    }
}

/// The rank called what it should, beside what the start takes.
fn check(name: &str, before: &Counts, after: &Counts, expected: &[(&str, usize)]) {
    let count = |calls: &Counts, function: &str| calls.get(function).copied().unwrap_or(0);
    for function in ["MPI_Init_thread", "MPI_Finalize"] {
        assert_eq!(count(after, function), 1, "{name}: {function} in {after:?}");
    }
    let more = |function: &str| count(after, function) - count(before, function);
    for (function, times) in expected {
        assert_eq!(more(function), *times, "{name}: {function} in {after:?}");
    }
    let received: usize = RECEIVING.into_iter().map(more).sum();
    let to_receive = if name.starts_with("messages") {
        11 + 10
    } else {
        0
    };
    assert_eq!(received, to_receive, "{name}: {after:?}");
}

/// What the tool counts of each rank of the program.
fn counts(installation: &Installation, part: &str) -> Vec<Counts> {
    let name = &installation.name;
    let ints = is_mpich(installation) && !name.ends_with("-abi");
    let tool = shared_library(if ints {
        "pmpi_counter_int"
    } else {
        "pmpi_counter_word"
    });
    // Tests of one library run side by side.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = scratch(&format!("preloading-{name}-{number}"));
    let preload = format!("LD_PRELOAD={}", tool.display());
    let to = format!("PMPI_COUNTER_FOLDER={}", folder.display());
    // Comparing calls is a collective more for each.
    let variables = [&*preload, &*to, "RANKS_CHECK=local"];
    let job = job_with(&variables, &["counted", part]).on(installation.clone());
    let outcome = job.ranks(2).run().unwrap();
    assert_done(name, &outcome);
    let counts = read(&folder);
    assert_eq!(counts.len(), 2, "{name}: a file a rank: {outcome}");
    fs::remove_dir_all(folder).unwrap();
    counts
}

/// What each process wrote down: functions and how often they were called.
fn read(folder: &Path) -> Vec<Counts> {
    let files = fs::read_dir(folder).unwrap();
    let read = |file: fs::DirEntry| {
        let text = fs::read_to_string(file.path()).unwrap();
        let line = |line: &str| {
            let (function, times) = line.split_once(' ').unwrap();
            (function.to_owned(), times.parse().unwrap())
        };
        text.lines().map(line).collect()
    };
    files.map(|file| read(file.unwrap())).collect()
}

/// A process tries a persistent collective of the library before it relies on it; the trial was
/// among the calls of the program.
#[test]
#[ignore = "needs an MPI"]
fn the_trial_of_persistent_collectives_is_in_no_statistics() {
    for installation in named() {
        let name = installation.name.clone();
        let job = job(&["counted", "prepared"]).on(installation).ranks(2);
        let outcome = job.env("RANKS_STATS", "1").run().unwrap();
        let said = said(&outcome);
        let mut words = said.split_whitespace();
        assert!(words.any(|word| word == "MPI_Allreduce_init"), "{outcome}");
        for tried in ["MPI_Allreduce", "MPI_Comm_split"] {
            let mut words = said.split_whitespace();
            assert!(!words.any(|word| word == tried), "{name}: {outcome}");
        }
    }
}

/// One that is begun anew at each start has a communicator of its own. MPICH 4.0, which prepares
/// a gather wrongly, was not asked for an allreduce either.
#[test]
#[ignore = "needs an MPI"]
fn a_library_prepares_the_allreduce_that_it_does_right() {
    /// Has none, and mixes them up.
    const WITHOUT: [&str; 2] = ["mpich-3.4", "impi-2021"];
    for installation in named() {
        let duplicates = |part| {
            let count = |calls: Counts| calls.get("MPI_Comm_dup").copied().unwrap_or(0);
            counts(&installation, part).into_iter().map(count).max()
        };
        let name = &installation.name;
        let begun_anew = WITHOUT.iter().any(|without| name.starts_with(without));
        let expected = duplicates("nothing").map(|count| count + usize::from(begun_anew));
        assert_eq!(duplicates("prepared"), expected, "{name}");
    }
}
