//! Calls from threads that the thread level keeps out.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use ranks::{Backend, Collectives, Communicator, ErrorKind, Runtime, ThreadLevel, ops::Sum};

use crate::outcome::{Outcome, refused};

fn start(level: ThreadLevel) -> ranks::Result<Runtime> {
    Runtime::builder()
        .backend(Backend::Mpi)
        .thread_level(level)
        .init()
}

/// At levels that let the initialising thread alone communicate, every operation of another one is
/// refused.
pub(crate) fn main_only(level: &str) -> Outcome {
    let level = match level {
        "single" => ThreadLevel::Single,
        "funneled" => ThreadLevel::Funneled,
        other => return Err(format!("no such level here: {other}").into()),
    };
    let runtime = start(level)?;
    let world = runtime.world();
    let refusals = thread::scope(|scope| scope.spawn(|| all_refused(&world)).join());
    refusals.map_err(|_| "the other thread panicked")??;
    around(&world)?;
    // Joining from another thread gives a handle, and no way past the level.
    let joined = thread::spawn(|| -> Outcome {
        let runtime = Runtime::builder().init()?;
        let refusal = runtime.world().barrier();
        Ok(refused("barrier", refusal, ErrorKind::WrongThread)?)
    });
    joined.join().map_err(|_| "the other thread panicked")??;
    around(&world)
}

/// A matched message is dropped on a thread that may not call, and another one refused there; their
/// sender goes on as soon as the thread that may makes a call.
pub(crate) fn message_elsewhere() -> Outcome {
    const LENGTH: usize = 1 << 20;
    let runtime = start(ThreadLevel::Funneled)?;
    let world = runtime.world();
    if world.rank() == 1 {
        let (dropped, received) = (world.mprobe(0, 0)?, world.mprobe(0, 1)?);
        let elsewhere = thread::spawn(move || {
            drop(dropped);
            refused(
                "recv_vec",
                received.recv_vec::<u8>(),
                ErrorKind::WrongThread,
            )
        });
        elsewhere
            .join()
            .map_err(|_| "the other thread panicked")??;
        world.recv(&mut [0u8], 0, 2)?;
    } else if world.rank() == 0 {
        let sending = [0, 1].map(|tag| world.isend(vec![1u8; LENGTH], 1, tag));
        for request in sending {
            request?.wait()?;
        }
        world.send(&[1u8], 1, 2)?;
    }
    around(&world)
}

fn all_refused(world: &Communicator) -> Result<(), String> {
    let kind = ErrorKind::WrongThread;
    let me = world.rank();
    refused("send", world.send(&[1_u8], me, 0), kind)?;
    refused("ssend", world.ssend(&[1_u8], me, 0), kind)?;
    refused("recv", world.recv(&mut [0_u8], me, 0), kind)?;
    refused("recv_vec", world.recv_vec::<u8>(me, 0), kind)?;
    refused("iprobe", world.iprobe(me, 0), kind)?;
    refused("improbe", world.improbe(me, 0), kind)?;
    refused("barrier", world.barrier(), kind)?;
    refused("allreduce", world.allreduce(&[1], &mut [0], Sum), kind)?;
    refused("dup", world.dup(), kind)?;
    refused("split", world.split(Some(0), 0), kind)
}

/// On the initialising thread all goes on as ever.
fn around(world: &Communicator) -> Outcome {
    let (rank, size) = (world.rank(), world.size());
    let mut heard = [0];
    world.sendrecv(
        &[rank],
        (rank + 1) % size,
        7,
        &mut heard,
        (rank + size - 1) % size,
        7,
    )?;
    if heard != [(rank + size - 1) % size] {
        return Err(format!("rank {rank} heard {heard:?}").into());
    }
    Ok(())
}

/// At `MPI_THREAD_SERIALIZED` a call is refused while another thread is inside of one, and let in
/// when it is not.
///
/// Rank 1 sends when `file` appears, which rank 0 writes when it was refused: so the receive is
/// under way until then.
pub(crate) fn one_at_a_time(file: &str) -> Outcome {
    let runtime = start(ThreadLevel::Serialized)?;
    let world = runtime.world();
    match world.rank() {
        0 => thread::scope(|scope| {
            let receiving = scope.spawn(|| receive(&world));
            while !receiving.is_finished() {
                match world.iprobe(1, 3) {
                    Ok(_) => thread::sleep(Duration::from_millis(1)),
                    Err(error) => {
                        refused("iprobe", Err::<(), _>(error), ErrorKind::WrongThread)?;
                        fs::write(file, "refused")?;
                        break;
                    }
                }
            }
            receiving
                .join()
                .map_err(|_| "the receiving thread panicked")?
        })?,
        1 => {
            while !Path::new(file).exists() {
                thread::sleep(Duration::from_millis(10));
            }
            world.send(&[5_u8], 0, 2)?;
        }
        _ => {}
    }
    world.barrier()?;
    // One after the other may call from any thread.
    let elsewhere = thread::scope(|scope| scope.spawn(|| around(&world)).join());
    elsewhere.map_err(|_| "the other thread panicked")?
}

/// Receives; comes again if the other thread happened to be inside first.
fn receive(world: &Communicator) -> Outcome {
    loop {
        match world.recv(&mut [0_u8], 1, 2) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::WrongThread => thread::yield_now(),
            Err(error) => return Err(error.into()),
        }
    }
}
