//! `cargo xtask bench times`: ranks, C and peers on two ranks, by turns in one run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ranks_harness::workspace;

use crate::Outcome;
use crate::command::succeeded;

mod page;
pub(super) mod peers;
mod plot;

use super::provenance;
use super::samples::{Run, Sample};
use peers::{Peer, Track};

/// The choice of what to time, and where the results go.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// An MPI, as `cargo xtask mpi` lists it; may be given several times.
    #[arg(long = "mpi", default_values = ["debian-mpich", "debian-openmpi", "mpich-5.0.2-abi", "openmpi-5.0.11"])]
    mpis: Vec<String>,
    /// The number of rounds: in each, every program runs once on every MPI.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// The folder for the page, the table as CSV and the plots.
    #[arg(long, default_value = "target/bench/times")]
    out: PathBuf,
    /// A sentence about this run for the page, such as one about who else used the machine.
    #[arg(long)]
    note: Option<String>,
}

/// An operation, and the numbers of bytes that it is timed with.
type Operation = (&'static str, &'static [u64]);

const ON_MPI: [Operation; 9] = [
    ("pingpong", &[8, 4 << 10, 64 << 10, 1 << 20, 4 << 20]),
    ("relay", &[4 << 10, 64 << 10, 1 << 20, 4 << 20]),
    ("bw", &[8, 4 << 10, 64 << 10, 1 << 20]),
    ("msgrate", &[8, 4 << 10]),
    ("allreduce", &[8, 4 << 10, 64 << 10, 1 << 20]),
    ("iallreduce", &[8, 64 << 10]),
    ("allgatherv", &[8, 4 << 10, 64 << 10, 1 << 20]),
    ("put_flush", &[8, 4 << 10, 64 << 10, 1 << 20]),
    ("fetch_op", &[8]),
];
const IN_PROCESS: [Operation; 5] = [
    ("pingpong", &[8, 4 << 10, 64 << 10, 1 << 20]),
    ("pingpong_moved", &[1 << 20]),
    ("bw", &[8, 64 << 10, 1 << 20]),
    ("msgrate", &[8, 4 << 10]),
    ("allreduce", &[8, 4 << 10, 64 << 10, 1 << 20]),
];

/// The number of calls that take some 20 ms.
fn calls(operation: &str, bytes: u64) -> u64 {
    let calls = match bytes {
        8 => 10000,
        4096 => 4000,
        65536 => 800,
        1_048_576 => 80,
        _ => 40,
    };
    let has_many_messages = ["bw", "msgrate"].contains(&operation);
    if has_many_messages {
        (calls / 16).max(20)
    } else {
        calls
    }
}

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    println!("building the peers, as for release");
    let mut run = Run::default();
    let folder = workspace::root().join("target/bench");
    let (mut tracks, places) = peers::build(&arguments.mpis, &folder, &mut run)?;
    let (before, mut unsteady) = (provenance::load(), 0);
    for round in 1..=arguments.rounds {
        println!("round {round} of {}", arguments.rounds);
        for track in &mut tracks {
            unsteady += u32::from(!turn(track, round, &mut run));
        }
    }
    run.facts = provenance::machine(&places);
    run.facts.extend(provenance::peers());
    run.facts.push(format!(
        "{} rounds of {} comparisons; in {unsteady} of these C was not as fast at the end as at the beginning; load of the machine before: {before}, after: {}",
        arguments.rounds,
        tracks.len(),
        provenance::load()
    ));
    run.facts.extend(arguments.note.clone());

    let out = workspace::root().join(&arguments.out);
    fs::create_dir_all(&out)?;
    write(&out, "times.csv", &page::csv(&run))?;
    write(&out, "times.md", &page::draw(&run))?;
    for (track, rows) in page::tracks(&run) {
        write(&out, &page::picture(track), &plot::draw(&run, track, &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    let file = folder.join(name);
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    println!("{} is written", file.display());
    Ok(())
}

/// Runs every program of a track once, the yardstick first and the others in an order that each
/// round begins with another one. Then the yardstick once more: where it takes another time, the
/// machine has changed meanwhile, and all are run again. Returns `true` unless it always has.
fn turn(track: &mut Track, round: u32, run: &mut Run) -> bool {
    const ATTEMPTS: usize = 3;
    if let [_, others @ ..] = &mut track.peers[..] {
        others.rotate_left(1.min(others.len()));
    }
    let (mut samples, mut steady) = (Vec::new(), false);
    for _ in 0..ATTEMPTS {
        samples.clear();
        track.peers.retain(
            |peer| match times(&track.name, track.operations, peer, round) {
                Ok(of_peer) => {
                    samples.extend(of_peer);
                    true
                }
                Err(why) => {
                    run.leave_out(&track.name, &peer.name, &why);
                    false
                }
            },
        );
        let yardstick = track.peers.first();
        let again =
            yardstick.and_then(|peer| times(&track.name, track.operations, peer, round).ok());
        let again = again.unwrap_or_default();
        let ends = samples.first().zip(again.first());
        steady = ends.is_some_and(|(before, after)| before.is_near(after));
        if steady {
            break;
        }
    }
    run.samples.append(&mut samples);
    steady
}

/// The times of one program.
fn times(
    track: &str,
    operations: &[Operation],
    peer: &Peer,
    round: u32,
) -> Result<Vec<Sample>, String> {
    let mut command = Command::new("timeout");
    command.arg("100").args(&peer.command);
    command.envs(peer.environment.iter().map(|(name, value)| (name, value)));
    for (operation, sizes) in operations {
        for &bytes in *sizes {
            command.args([
                *operation,
                &bytes.to_string(),
                &calls(operation, bytes).to_string(),
            ]);
        }
    }
    let text = succeeded(&mut command)?;
    let sample = |line| Sample::parse(track, &peer.name, round, line);
    Ok(text.lines().filter_map(sample).collect())
}
