//! Calls to be counted under callgrind: the same as in `c/calls.c`, through ranks.
//!
//! `bench_calls single|multiple CALLS` makes each call so many times on a world of one rank, and
//! dumps one profile a call, named after it. What a loop costs of itself is the profile `empty`.
//! Printed is the library it ran on.
//!
//! Each turn reads its operands from memory that the compiler knows nothing about, as `c/calls.c`
//! does: no check may be done once for all turns.

#![deny(unsafe_code)]

use std::hint::black_box;
use std::io::{Error as IoError, ErrorKind as IoErrorKind};

use ranks::ThreadLevel;

use callgrind::count;

mod callgrind;
mod collectives;
mod messages;
mod runtime;
mod table;
mod windows;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [level, calls] = arguments.as_slice() else {
        return Err(usage().into());
    };
    let level = match level.as_str() {
        "single" => ThreadLevel::Single,
        "multiple" => ThreadLevel::Multiple,
        _ => return Err(usage().into()),
    };
    let calls: usize = calls.parse().map_err(|_| usage())?;

    let runtime = runtime::of(level)?;
    let world = runtime.world();
    count("empty", calls, &mut (), |()| Ok(()))?;
    count("rank_table", calls, &mut 0, |asked| {
        table::rank(asked);
        Ok(())
    })?;
    count("rank", calls, &mut &world, |world| {
        black_box(world.rank());
        Ok(())
    })?;
    messages::count_all(&world, calls)?;
    collectives::count_all(&world, calls)?;
    collectives::count_among_neighbors(&world, calls)?;
    windows::count_all(&world, calls)?;
    let library = runtime.facts().to_string();
    drop(world);
    runtime.finalize()?;
    report(&library)
}

fn usage() -> IoError {
    IoError::new(
        IoErrorKind::InvalidInput,
        "usage: bench_calls single|multiple CALLS",
    )
}

#[expect(clippy::print_stdout, reason = "the one line that this program says")]
fn report(library: &str) -> Result<(), Box<dyn std::error::Error>> {
    println!("{library}");
    Ok(())
}
