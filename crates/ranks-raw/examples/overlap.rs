//! Measures the part of a sum over all ranks that goes on while the program does something else:
//! with and without a thread that looks after it.
//!
//! `mpiexec -n 2 overlap [megabytes]`. Two kinds of work: what a device would do, for which the
//! program sleeps, and what this core does. The time for both is between that of the longer (all of
//! it goes on meanwhile) and the sum of the two (nothing does).
#![allow(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::ffi::c_void;
use std::time::{Duration, Instant};

use ranks_collectives::Collectives;
use ranks_collectives::ops::Max;
use ranks_comm::{Communicator, Result};
use ranks_raw::{Dtype, RawCollectives, RawComm, RawOp, RawOptions};

fn main() -> Result<()> {
    ranks_comm::run(|world| {
        let megabytes = std::env::args().nth(1).and_then(|text| text.parse().ok());
        let elements = megabytes.unwrap_or(8) << 18;
        for thread in [false, true] {
            let options = RawOptions::new().progress_thread(thread);
            measure(&world, &RawComm::new(&world, options)?, elements, thread)?;
        }
        Ok(())
    })
}

fn measure(world: &Communicator, comm: &RawComm, elements: usize, thread: bool) -> Result<()> {
    let mut data = vec![0.0_f32; elements];
    let address: *mut c_void = data.as_mut_ptr().cast();
    // SAFETY: `data` has so many elements, and nobody uses it before `sync` has returned.
    let begin = || unsafe { comm.allreduce(address, address, elements, Dtype::F32, RawOp::Sum) };
    let alone = fastest(world, || {
        begin()?;
        comm.sync()
    })?;
    for who in ["a device", "this core"] {
        let work = match who {
            "a device" => std::thread::sleep,
            _ => busy,
        };
        let both = fastest(world, || {
            begin()?;
            work(alone);
            comm.sync()
        })?;
        if world.rank() == 0 {
            let hidden = 2.0 - both.as_secs_f64() / alone.as_secs_f64();
            let (library, thread) = (
                comm.backend(),
                if thread { "a thread" } else { "no thread" },
            );
            println!(
                "{library}, {thread}: allreduce of {} MB {:.2} ms; with as long a work of {who} {:.2} ms: {:.0} % hidden",
                elements >> 18,
                alone.as_secs_f64() * 1e3,
                both.as_secs_f64() * 1e3,
                hidden * 100.0
            );
        }
    }
    Ok(())
}

/// The shortest of ten, on the slowest rank.
fn fastest(world: &Communicator, mut run: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut shortest = Duration::MAX;
    for _ in 0..10 {
        world.barrier()?;
        let begun = Instant::now();
        run()?;
        let mut slowest = [0];
        let took = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        world.allreduce(&[took], &mut slowest, Max)?;
        shortest = shortest.min(Duration::from_nanos(slowest[0]));
    }
    Ok(shortest)
}

/// Computes for so long.
fn busy(long: Duration) {
    let end = Instant::now() + long;
    let mut number = 1.0_f64;
    while Instant::now() < end {
        for _ in 0..1000 {
            number = (number * 1.000_001).sqrt();
        }
    }
    std::hint::black_box(number);
}
