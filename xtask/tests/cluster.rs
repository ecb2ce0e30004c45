//! Clusters of this machine's namespaces: what hosts have of their own, how they are lost, and that nothing stays.
//!
//! Where no namespaces can be made these tests say so on standard output, where `cargo xtask test` counts them as skipped.

#![allow(clippy::unwrap_used, reason = "a test ends where something is wrong")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ranks_launch::Installation;

fn xtask(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command
        .args(["cluster", "--name", name])
        .args(arguments)
        .stdin(Stdio::null());
    command
}

/// Runs a command to its end; returns its status and what it wrote.
fn said(name: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = xtask(name, arguments).output().unwrap();
    let text = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    (status.code(), text.trim().to_owned())
}

/// A cluster of two hosts that ends with this value, or nothing where there can be none.
struct Held {
    name: String,
    xtask: Child,
}

impl Held {
    fn up(test: &str) -> Option<Held> {
        let name = format!("test-{}-{test}", std::process::id());
        let mut command = xtask(&name, &["up", "--nodes", "2", "--hold"]);
        let mut xtask = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(xtask.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        if line.contains("n0, n1 are up") {
            return Some(Held { name, xtask });
        }
        let output = xtask.wait_with_output().unwrap();
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(
            why.contains("this process may not") || why.contains("the limit in /proc/sys/user"),
            "{why}"
        );
        not_tested(test, &format!("there can be no hosts here: {why}"));
        None
    }

    fn said(&self, arguments: &[&str]) -> (Option<i32>, String) {
        said(&self.name, arguments)
    }

    /// Whether a host reaches another: one that is there refuses at once, one that is not never answers.
    fn reaches(&self, from: &str, to: &str) -> bool {
        let connect =
            format!("timeout 1 bash -c 'echo > /dev/tcp/{to}/9' 2> /dev/null; test $? != 124");
        self.said(&["exec", from, "sh", "-c", &connect]).0 == Some(0)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.xtask.kill().unwrap();
        self.xtask.wait().unwrap();
        // A killed one has no time to take its folder away.
        self.said(&["down"]);
    }
}

fn not_tested(test: &str, why: &str) {
    let text = format!("\nNOT TESTED: {test}: {}\n", why.trim());
    // Not by a macro: what macros print is shown of failed tests alone.
    std::io::stdout().write_all(text.as_bytes()).unwrap();
}

/// A program that runs on a host, and has begun to.
fn sleeping(name: &str, host: &str) -> Child {
    // The name is in the words that its process is known by.
    let script = format!("echo ready; sleep 600 # {name}");
    let mut command = xtask(name, &["exec", host, "sh", "-c", &script]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
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
    let Some(cluster) = Held::up("apart") else {
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
    let Some(cluster) = Held::up("cut") else {
        return;
    };
    assert!(cluster.reaches("n0", "n1"));
    assert_eq!(cluster.said(&["cut", "n1"]).0, Some(0));
    assert!(!cluster.reaches("n0", "n1"));
    assert_eq!(cluster.said(&["heal", "n1"]).0, Some(0));
    assert!(cluster.reaches("n0", "n1"));

    let mut sleeper = sleeping(&cluster.name, "n1");
    assert_eq!(cluster.said(&["freeze", "n1"]).0, Some(0));
    let stopped = "grep -l '(stopped)' /proc/[0-9]*/status | wc -l";
    let stopped = ["exec", "n1", "sh", "-c", stopped];
    assert_eq!(cluster.said(&stopped), (Some(0), "2".to_owned()));
    assert_eq!(cluster.said(&["thaw", "n1"]).0, Some(0));
    assert_eq!(cluster.said(&stopped), (Some(0), "0".to_owned()));

    assert_eq!(cluster.said(&["kill", "n1"]).0, Some(0));
    assert_ne!(sleeper.wait().unwrap().code(), Some(0));
    assert_ne!(cluster.said(&["exec", "n1", "true"]).0, Some(0));
    assert_eq!(cluster.said(&["exec", "n0", "true"]).0, Some(0));
}

#[test]
fn a_killed_xtask_leaves_nothing() {
    let Some(mut cluster) = Held::up("killed") else {
        return;
    };
    let name = cluster.name.clone();
    let mut sleeper = sleeping(&name, "n1");
    cluster.xtask.kill().unwrap();
    cluster.xtask.wait().unwrap();
    assert_ne!(sleeper.wait().unwrap().code(), Some(0));
    let started = Instant::now();
    // The kernel takes their processes one after the other.
    while !processes(&name).is_empty() && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(processes(&name), [""; 0]);
    assert_ne!(said(&name, &["down"]).0, Some(0));
}

/// The first MPI that is here whose name begins so, by the order of the beginnings.
fn mpi(beginnings: &[&str]) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let all = Installation::all(Some(&root.join("target/mpi")));
    let names: Vec<String> = all.into_iter().map(|one| one.name).collect();
    let mut found = beginnings
        .iter()
        .filter_map(|beginning| names.iter().find(|name| name.starts_with(beginning)));
    found.next().cloned()
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

/// A few tests of this workspace, which a run of all its tests has built: messages from any rank, nodes and their leaders, memory that
/// the ranks of a host share. Before them come the jobs of known size.
#[test]
fn tests_on_ranks_run_over_hosts() {
    const TEST: &str = "tests-over-hosts";
    if Held::up(TEST).is_none() {
        return;
    }
    let mpis = [
        mpi(&["mpich-5", "mpich-4", "debian-mpich"]),
        mpi(&["debian-openmpi", "openmpi-4", "openmpi-5"]),
    ];
    let mpis: Vec<String> = mpis.into_iter().flatten().collect();
    if mpis.is_empty() {
        return not_tested(TEST, "no MPI is here");
    }
    let name = format!("test-{}-suites", std::process::id());
    let list = mpis.join(",");
    let (status, text) = said(
        &name,
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
    );
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
