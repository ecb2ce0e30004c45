//! Clusters of this machine's namespaces: what hosts have of their own, how they are lost, and that
//! nothing stays.
//!
//! Where no namespaces can be made these tests say so on standard output, where `cargo xtask test`
//! counts them as skipped.

#![allow(clippy::unwrap_used, reason = "a test ends where something is wrong")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

mod common;

use common::{Held, mpi, named, not_tested, ranks_cluster, said};

/// What the program says where the machine, and not the project, is at fault.
const REASONS: [&str; 2] = ["this process may not", "the limit in /proc/sys/user"];

/// Two hosts, or nothing where there can be none.
fn held(test: &str) -> Option<Held> {
    Held::up(test, &[], &REASONS)
}

/// Returns `true` if a host is heard to refuse a connection within so many seconds: one that is
/// there does so at once, one that is cut off never.
fn reaches(cluster: &Held, from: &str, to: &str, seconds: u32) -> bool {
    let connect = format!("timeout {seconds} bash -c 'echo > /dev/tcp/{to}/9' 2>&1");
    let (_, text) = cluster.said(&["exec", from, "sh", "-c", &connect]);
    text.contains("Connection refused")
}

/// Returns `true` if so many processes of a host are stopped, at once or a little later: each stops
/// when it would go on.
fn stopped(cluster: &Held, host: &str, number: usize) -> bool {
    let script = format!(
        "until test $(grep -l '(stopped)' /proc/[0-9]*/status 2> /dev/null | wc -l) = {number}; do sleep 0.02; done"
    );
    let command = ["exec", host, "timeout", "60", "sh", "-c", &script];
    cluster.said(&command).0 == Some(0)
}

/// Two processes that run on a host: a shell, and what it has started before it said so.
fn sleeping(name: &str, host: &str) -> Child {
    // The name is in the words that its process is known by.
    let script = format!("sleep 600 & echo ready; wait # {name}");
    ready(ranks_cluster(name, &["exec", host, "sh", "-c", &script]).stderr(Stdio::null()))
}

/// Starts a command, and waits until it says that it is ready.
fn ready(command: &mut Command) -> Child {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let output = child.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "ready");
    child
}

/// The processes that have something to do with a cluster.
fn processes(name: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(name))
        .collect()
}

#[test]
fn hosts_are_apart_and_reach_each_other_through_the_agent() {
    let Some(cluster) = held("apart") else {
        return;
    };
    let own = "hostname; ls /dev/shm /tmp/made 2> /dev/null; set -- /proc/[0-9]*; echo $#";
    assert_eq!(
        cluster.said(&["exec", "n0", "touch", "/dev/shm/made"]),
        (Some(0), String::new())
    );
    let (status, text) = cluster.said(&["exec", "n0", "ssh", "-x", "n1", own]);
    // Its first process, and the shell, which counts by itself.
    assert_eq!(
        text.split_whitespace().collect::<Vec<_>>(),
        ["n1", "/dev/shm:", "2"],
        "{text}"
    );
    assert_eq!(status, Some(0));
    assert_eq!(
        cluster.said(&["exec", "n0", "ssh", "n1", "exit 7"]).0,
        Some(7)
    );
    assert_eq!(
        cluster.said(&["exec", "n0", "rsh", "n2", "true"]).0,
        Some(255)
    );
}

#[test]
fn a_host_is_cut_off_and_comes_back_and_is_killed() {
    let Some(cluster) = held("cut") else {
        return;
    };
    assert!(reaches(&cluster, "n0", "n1", 60));
    assert_eq!(cluster.said(&["cut", "n1"]).0, Some(0));
    assert!(!reaches(&cluster, "n0", "n1", 1));
    assert_eq!(cluster.said(&["heal", "n1"]).0, Some(0));
    assert!(reaches(&cluster, "n0", "n1", 60));

    let mut sleeper = sleeping(&cluster.name, "n1");
    assert_eq!(cluster.said(&["freeze", "n1"]).0, Some(0));
    assert!(stopped(&cluster, "n1", 2));
    assert_eq!(cluster.said(&["thaw", "n1"]).0, Some(0));
    assert!(stopped(&cluster, "n1", 0));

    assert_eq!(cluster.said(&["kill", "n1"]).0, Some(0));
    assert_ne!(sleeper.wait().unwrap().code(), Some(0));
    assert_ne!(cluster.said(&["exec", "n1", "true"]).0, Some(0));
    assert_eq!(cluster.said(&["exec", "n0", "true"]).0, Some(0));
}

#[test]
fn a_rank_is_killed_by_its_number() {
    let Some(cluster) = held("rank") else {
        return;
    };
    // As launchers tell ranks their numbers.
    let rank = |number: usize| {
        let variable = format!("PMI_RANK={number}");
        let script = "echo ready; exec sleep 600";
        let mut command = ranks_cluster(
            &cluster.name,
            &["exec", "n1", "env", &variable, "sh", "-c", script],
        );
        ready(command.stderr(Stdio::null()))
    };
    let [mut first, mut second] = [0, 1].map(rank);
    assert_eq!(cluster.said(&["kill", "1"]).0, Some(0));
    assert_ne!(second.wait().unwrap().code(), Some(0));
    assert!(first.try_wait().unwrap().is_none());
    let (status, text) = cluster.said(&["kill", "7"]);
    assert_ne!(status, Some(0));
    assert!(text.contains("rank 7 does not run"), "{text}");
    assert_eq!(cluster.said(&["kill", "n1"]).0, Some(0));
    assert_ne!(first.wait().unwrap().code(), Some(0));
}

#[test]
fn a_killed_maker_leaves_nothing() {
    let Some(mut cluster) = held("killed") else {
        return;
    };
    let name = cluster.name.clone();
    let mut sleeper = sleeping(&name, "n1");
    cluster.process.kill().unwrap();
    cluster.process.wait().unwrap();
    assert_ne!(sleeper.wait().unwrap().code(), Some(0));
    let started = Instant::now();
    // The kernel takes their processes one after the other.
    while !processes(&name).is_empty() && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(processes(&name), [""; 0]);
    assert_ne!(said(ranks_cluster(&name, &["down"])).0, Some(0));
}

#[test]
fn a_job_that_fails_shows_what_was_asked_of_hosts() {
    const TEST: &str = "job-that-fails";
    if held(TEST).is_none() {
        return;
    }
    let Some(mpi) = mpi(&["mpich-5", "mpich-4", "debian-mpich", "mpich", "openmpi"]) else {
        return not_tested(TEST, "no MPI is here");
    };
    let job = ["run", "--mpi", &mpi.name, "--", "/bin/false"];
    let (status, text) = said(ranks_cluster(&named("fails"), &job));
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("0 of 1 MPIs ran over 2 hosts"), "{text}");
    let (_, calls) = text.split_once("calls of ssh").expect(&text);
    assert!(calls.contains(" s  n1: ended with "), "{text}");
}

/// The millions of bytes that came to each host, as the line that begins so tells them.
fn megabytes(text: &str, beginning: &str) -> Vec<f64> {
    let mut lines = text.lines();
    let line = lines.find(|line| line.starts_with(beginning) && line.contains("MB to the hosts"));
    let (_, numbers) = line
        .and_then(|line| line.rsplit_once(": "))
        .unwrap_or_else(|| panic!("no line begins with {beginning}:\n{text}"));
    let numbers = numbers.split_whitespace();
    numbers.map(|number| number.parse().unwrap()).collect()
}

/// A few tests of this workspace, which a run of all its tests has built: messages from any rank,
/// nodes and their leaders, memory that the ranks of a host share. Before them come the jobs of
/// known size.
#[test]
fn tests_on_ranks_run_over_hosts() {
    const TEST: &str = "tests-over-hosts";
    if held(TEST).is_none() {
        return;
    }
    let mpis = [
        mpi(&["mpich-5", "mpich-4", "debian-mpich"]),
        mpi(&["debian-openmpi", "openmpi-4", "openmpi-5"]),
    ];
    let mpis = mpis.into_iter().flatten().map(|mpi| mpi.name);
    let mpis: Vec<String> = mpis.collect();
    if mpis.is_empty() {
        return not_tested(TEST, "no MPI is here");
    }
    let list = mpis.join(",");
    let (status, text) = said(ranks_cluster(
        &named("suites"),
        &[
            "test",
            "--nodes",
            "2",
            "--ppn",
            "2",
            "--mpi",
            &list,
            "--",
            "messages_of_one_sender_do_not_overtake",
            "hierarchy::nodes_of_this_machine",
            "topology::every_rank_is_told_of",
            "fill::the_root_fills_it_in_place",
        ],
    ));
    assert_eq!(status, Some(0), "{text}");
    let expected = format!("{} passed, 0 failed", 4 * mpis.len());
    assert!(text.lines().any(|line| line == expected), "{text}");
    for mpi in mpis {
        let at = format!("{mpi}, 2 hosts x 2: ");
        // 4 MiB for the host without rank 0, however many ranks are there; and again the sum.
        for (job, least, most) in [
            ("hosts: ", 4.1, f64::MAX),
            ("hosts node-shared: ", 4.1, 6.3),
            ("hosts in-two-steps: ", 8.3, 14.7),
        ] {
            let received = megabytes(&text, &format!("{at}job {job}"));
            assert_eq!(received.len(), 2, "{text}");
            assert!(
                (least..=most).contains(&received[1]),
                "{mpi}, {job}{received:?}"
            );
        }
        assert_eq!(megabytes(&text, &format!("{at}4 ok")).len(), 2);
    }
}
