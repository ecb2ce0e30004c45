//! Executes what is lock-free in every order that a processor may give it: `cargo run --release -p
//! ranks-atoms`, with a part of a name for some of it.
//!
//! Sources of the crates are taken in as they are, by their paths, with loom's atomics and locks in
//! the place of the standard library's. The modules of [`surroundings`] stand for what they use
//! besides and what is not looked at here.
#![allow(clippy::print_stdout, reason = "a command talks to its user")]
#![allow(clippy::unwrap_used, reason = "a model fails by a panic")]
#![allow(
    dead_code,
    unreachable_pub,
    reason = "sources are parts of larger crates, of which models use some"
)]

extern crate self as ranks_comm;
extern crate self as ranks_trace;
extern crate standard_library as std;

mod call;
mod driver;
mod models;
mod op;
mod shared_window;
mod surroundings;
mod transport;

pub(crate) use surroundings::{Communicator, Error, ErrorKind, Result};
pub(crate) use surroundings::{backend, data, end_of_world, new_job, result, this_thread};

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> std::io::Result<ExitCode> {
    let part = std::env::args().nth(1).unwrap_or_default();
    let chosen = models::ALL.iter().filter(|(name, _)| name.contains(&part));
    let mut count = 0;
    for &(name, model) in chosen {
        let began = Instant::now();
        print!("{name} ... ");
        std::io::stdout().flush()?;
        let executions = std::check(model);
        println!(
            "ok: {executions} executions, {:.1} s",
            began.elapsed().as_secs_f64()
        );
        count += 1;
    }
    println!("{count} models");
    Ok(if count == 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
