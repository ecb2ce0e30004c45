//! `cargo xtask cluster doctor`: whether hosts can be made here, by which right, and what they can
//! do.

use std::process::ExitCode;

use ranks_harness::mpi;

use super::lifetime::{Cluster, Life};
use super::names;
use super::namespaces::Right;
use super::slurm;
use super::state::State;

/// What a link can be made to do, and the kernel's word for it with what it wants to be told.
const QUEUES: [(&str, &[&str]); 2] = [
    (
        "less bandwidth (tbf)",
        &[
            "tbf", "rate", "200mbit", "burst", "64kb", "latency", "100ms",
        ],
    ),
    ("delays and losses (netem)", &["netem", "delay", "1ms"]),
];

/// Tries both rights; fails if none works.
pub(super) fn main() -> ExitCode {
    let mut works = false;
    for (right, what) in [
        (Right::Root, "as root        "),
        (Right::User, "as anybody     "),
    ] {
        match one(right) {
            Ok(text) => {
                works = true;
                println!("{what} {text}");
            }
            Err(why) => println!("{what} no: {why}"),
        }
    }
    match mpi::matrix(&[]) {
        Ok(here) => {
            let names: Vec<&str> = here
                .iter()
                .map(|installation| installation.name.as_str())
                .collect();
            println!("MPIs            {}", names.join(", "));
        }
        Err(why) => println!("MPIs            none: {why}"),
    }
    match slurm::here() {
        Ok([controller, _]) => println!("Slurm           {}", controller.display()),
        Err(why) => println!("Slurm           no: {why}"),
    }
    if works {
        ExitCode::SUCCESS
    } else {
        println!(
            "No hosts can be made here. What does without: tests in process, and every MPI on one host."
        );
        ExitCode::FAILURE
    }
}

/// Makes a cluster of two hosts, and tries its network.
fn one(right: Right) -> Result<String, String> {
    let state = State::named(&format!("doctor-{}", std::process::id()))?;
    let cluster = Cluster::up(state, 2, right, Life::Held, None)?;
    let state = cluster.state();
    state.read(
        "n0",
        &["sh", "-c", "getent hosts n1 && test $(hostname) = n0"],
    )?;
    let link = names::link(0);
    let mut can: Vec<&str> = vec!["cut"];
    let mut cannot: Vec<&str> = Vec::new();
    for (what, queue) in QUEUES {
        let mut command = vec!["tc", "qdisc", "replace", "dev", link.as_str(), "root"];
        command.extend(queue);
        match state.read(names::HEAD, &command) {
            Ok(_) => can.push(what),
            Err(_) => cannot.push(what),
        }
    }
    let up = cluster.took();
    let down = cluster.down();
    let cannot = if cannot.is_empty() {
        String::new()
    } else {
        format!("; not {}", cannot.join(", "))
    };
    Ok(format!(
        "yes: two hosts up in {up:.0?}, down in {down:.0?}; links can have: {}{cannot}",
        can.join(", ")
    ))
}
