//! Calls to be counted under callgrind: the same as in `c/calls.c`, through ranks.
//!
//! `bench_calls single|multiple CALLS` makes each call so many times on a world of one rank, and
//! dumps one profile a call, named after it. What a loop costs of itself is the profile `empty`.
//! Printed is the library it ran on.
//!
//! Each turn reads its operands from memory that the compiler knows nothing about, as `c/calls.c`
//! does: no check may be done once for all turns.

#![deny(unsafe_code)]

use std::ffi::c_int;
use std::hint::black_box;
use std::io::{Error as IoError, ErrorKind as IoErrorKind};

use ranks::prelude::*;
use ranks::{Persistent, ThreadLevel};

mod callgrind;
mod runtime;
mod table;
mod windows;

/// What the calls work on.
struct State {
    world: Communicator,
    rank: usize,
    asked: c_int,
    send: Vec<f64>,
    recv: Vec<f64>,
    bytes: Vec<u8>,
    received: Vec<u8>,
    blocks: Blocks,
    many_send: [f64; HALF],
    many_recv: [f64; HALF],
    prepared: Option<Persistent<(Vec<f64>, Vec<f64>)>>,
}

/// How many messages are under way at a time in `waitall64`, each with a send and a receive.
const HALF: usize = 32;

/// Turns before the counting begins: what is done once only is done by then.
const WARM_UP: usize = 20;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
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
    let mut state = State {
        rank: world.rank(),
        asked: 0,
        world,
        send: vec![1.0],
        recv: vec![0.0],
        bytes: vec![1; 8],
        received: vec![0; 8],
        blocks: Blocks::from_counts(&[1])?,
        many_send: [1.0; HALF],
        many_recv: [0.0; HALF],
        prepared: None,
    };
    count("empty", calls, &mut state, |_| Ok(()))?;
    count("rank_table", calls, &mut state, |state| {
        table::rank(&mut state.asked);
        Ok(())
    })?;
    count("rank", calls, &mut state, |state| {
        black_box(state.world.rank());
        Ok(())
    })?;
    count("barrier", calls, &mut state, |state| state.world.barrier())?;
    count("allreduce", calls, &mut state, |state| {
        state.world.allreduce(&state.send, &mut state.recv, Sum)
    })?;
    count("allgatherv", calls, &mut state, |state| {
        state
            .world
            .allgatherv_into(&state.send, &mut state.recv, &state.blocks)
    })?;
    count("alltoallv", calls, &mut state, |state| {
        state
            .world
            .alltoallv_into(&state.send, &state.blocks, &mut state.recv, &state.blocks)
    })?;
    count("iprobe", calls, &mut state, |state| {
        black_box(state.world.iprobe(Source::Any, Tag::Any)?.is_some());
        Ok(())
    })?;
    count("sendrecv", calls, &mut state, |state| {
        let (world, me) = (&state.world, state.rank);
        let status = world.sendrecv(&state.send, me, 7, &mut state.recv, me, 7)?;
        black_box(&status);
        Ok(())
    })?;
    count("sendrecv_bytes", calls, &mut state, |state| {
        let (world, me) = (&state.world, state.rank);
        let status = world.sendrecv(&state.bytes, me, 7, &mut state.received, me, 7)?;
        black_box(&status);
        Ok(())
    })?;
    let prepared = state.world.allreduce_init(vec![1.0], vec![0.0], Sum)?;
    state.prepared = Some(prepared);
    count("pallreduce", calls, &mut state, |state| {
        if let Some(prepared) = state.prepared.take() {
            state.prepared = Some(prepared.start()?.wait()?.0);
        }
        Ok(())
    })?;
    state.prepared = None;
    count("isendrecv", calls, &mut state, |state| {
        let (world, me) = (&state.world, state.rank);
        world.scope(|s| {
            s.irecv(&mut state.recv, me, 7)?;
            s.isend(&state.send, me, 7)?;
            Ok(())
        })
    })?;
    count("waitall64", calls, &mut state, |state| {
        let (world, me) = (&state.world, state.rank);
        world.scope(|s| {
            for value in state.many_recv.chunks_mut(1) {
                s.irecv(value, me, 7)?;
            }
            for value in state.many_send.chunks(1) {
                s.isend(value, me, 7)?;
            }
            Ok(())
        })
    })?;
    windows::count_all(&state.world, calls)?;
    let library = runtime.facts().to_string();
    drop(state);
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
fn report(library: &str) -> std::result::Result<(), Box<dyn std::error::Error>> {
    println!("{library}");
    Ok(())
}

/// Makes `call` so many times and dumps what that took as the profile `name`.
#[inline(never)]
fn count<S>(
    name: &'static str,
    calls: usize,
    state: &mut S,
    call: impl Fn(&mut S) -> Result<()>,
) -> Result<()> {
    let repeat = |turns: usize, state: &mut S| {
        for _ in 0..turns {
            call(black_box(&mut *state))?;
        }
        Ok(())
    };
    repeat(WARM_UP, state)?;
    callgrind::start();
    let outcome = repeat(calls, state);
    callgrind::stop();
    callgrind::dump(name);
    outcome
}
