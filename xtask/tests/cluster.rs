//! Clusters of this machine's namespaces: what hosts have of their own, how they are lost, and that nothing stays.
//!
//! Where no namespaces can be made these tests say so on standard output, where `cargo xtask test` counts them as skipped.

#![allow(clippy::unwrap_used, reason = "a test ends where something is wrong")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

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
        // Not by a macro: what macros print is shown of failed tests alone.
        let text = format!("\nNOT TESTED: {test}, as there can be no hosts here: {why}\n");
        std::io::stdout().write_all(text.as_bytes()).unwrap();
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
