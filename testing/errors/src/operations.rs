//! Errors of operations, of two ranks in process, where one text is that of every backend but for
//! what the library adds.

use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ranks::prelude::*;
use ranks::{Backend, Checks, Pack, Runtime, ThreadLevel};

use crate::Text;

#[derive(Debug, Pack)]
struct Cell {
    is_alive: bool,
    value: f64,
}

pub(crate) fn texts() -> Vec<Text> {
    let mut texts = arguments();
    texts.extend(messages());
    texts.extend(agreements());
    texts.extend(lifetimes());
    let invalid = Cell::unpack(packed_wrong()).unwrap_err();
    texts.push(("ranks_comm::element::Invalid", invalid.to_string()));
    texts
}

/// The error of the lowest rank that gets one.
fn told(kind: ErrorKind, call: impl Fn(&Communicator) -> Result<()> + Send + Sync) -> String {
    let first: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let threads = Runtime::builder()
        .backend(Backend::InProcess)
        .ranks(2)
        .thread_level(ThreadLevel::Funneled)
        .checks(Checks::Collective);
    let outcome = threads.run(|world| {
        world.set_name("heat")?;
        if let Err(error) = call(&world) {
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(rank, _)| world.rank() < *rank) {
                *first = Some((world.rank(), error));
            }
        }
        Ok::<(), Error>(())
    });
    outcome.unwrap();
    let (_, error) = first.into_inner().unwrap().expect("it fails");
    assert_eq!(error.kind(), kind, "{error}");
    error.to_string()
}

fn arguments() -> Vec<Text> {
    vec![
        (
            "ranks_comm::ErrorKind::Rank",
            told(ErrorKind::Rank, |world| world.send(&[1], 7, 0)),
        ),
        (
            "ranks_comm::ErrorKind::Tag",
            told(ErrorKind::Tag, |world| world.send(&[1], 0, -1)),
        ),
        (
            "ranks_comm::ErrorKind::Root",
            told(ErrorKind::Root, |world| world.bcast(&mut [1], 2)),
        ),
        (
            "ranks_comm::ErrorKind::Length",
            told(ErrorKind::Length, |world| {
                world.allreduce(&[1.0; 3], &mut [0.0; 4], Sum)
            }),
        ),
        (
            "ranks_comm::ErrorKind::Length",
            told(ErrorKind::Length, |world| {
                world.allgather(&[1.0; 3], &mut [0.0; 5])
            }),
        ),
        (
            "ranks_comm::ErrorKind::Length",
            told(ErrorKind::Length, |world| {
                let passive = Window::<f64>::allocate(world, 10)?.passive()?;
                let locked = passive.lock(LockKind::Exclusive, 1)?;
                locked.put(&[1.0; 4], 1, 8)
            }),
        ),
        (
            "ranks_comm::ErrorKind::Argument",
            told(ErrorKind::Argument, |world| world.set_name("a\0b")),
        ),
        (
            "ranks_comm::ErrorKind::Argument",
            told(ErrorKind::Argument, |world| {
                let passive = Window::<f64>::allocate(world, 10)?.passive()?;
                let locked = passive.lock(LockKind::Exclusive, 1)?;
                locked.put(&[1.0], 0, 0)
            }),
        ),
        (
            "ranks_comm::ErrorKind::Other",
            told(ErrorKind::Other, |_| Err(Error::other("the mesh is empty"))),
        ),
    ]
}

/// A message of rank 0 to rank 1, and its receive.
fn sent(
    kind: ErrorKind,
    send: impl Fn(&Communicator) -> Result<()> + Send + Sync,
    receive: impl Fn(&Communicator) -> Result<()> + Send + Sync,
) -> String {
    told(kind, |world| match world.rank() {
        0 => send(world),
        _ => receive(world),
    })
}

fn packed_wrong() -> <Cell as Pack>::Packed {
    let cell = Cell {
        is_alive: true,
        value: 0.5,
    };
    let mut packed = cell.pack();
    ranks::bytemuck::bytes_of_mut(&mut packed)[0] = 2;
    packed
}

fn messages() -> Vec<Text> {
    vec![
        (
            "ranks_comm::ErrorKind::Truncated",
            sent(
                ErrorKind::Truncated,
                |world| world.send(&[1.0; 100], 1, 7),
                |world| world.recv(&mut [0.0; 50], 0, 7).map(drop),
            ),
        ),
        (
            "ranks_comm::ErrorKind::Type",
            sent(
                ErrorKind::Type,
                |world| world.send(&[1u8; 9], 1, 7),
                |world| world.recv_vec::<u32>(0, 7).map(drop),
            ),
        ),
        (
            "ranks_comm::ErrorKind::Type",
            sent(
                ErrorKind::Type,
                |world| world.send(&[1.0f64; 2], 1, 7),
                |world| world.recv(&mut [0u64; 2], 0, 7).map(drop),
            ),
        ),
        (
            "ranks_comm::ErrorKind::Type",
            sent(
                ErrorKind::Type,
                |world| world.send(&[1u8; 10], 1, 7),
                |world| world.recv_packed::<Cell>(0, 7).map(drop),
            ),
        ),
        (
            "ranks_comm::ErrorKind::Value",
            sent(
                ErrorKind::Value,
                |world| world.send(&[packed_wrong()], 1, 7),
                |world| world.recv_packed::<Cell>(0, 7).map(drop),
            ),
        ),
        (
            "ranks_comm::ErrorKind::Value",
            sent(
                ErrorKind::Value,
                |world| world.send_value(&(1, true), 1, 7),
                |world| world.recv_value::<String>(0, 7).map(drop),
            ),
        ),
    ]
}

fn agreements() -> Vec<Text> {
    vec![
        (
            "ranks_comm::ErrorKind::Mismatch",
            told(ErrorKind::Mismatch, |world| match world.rank() {
                0 => world.barrier(),
                _ => world.bcast(&mut [0.0; 4], 0),
            }),
        ),
        (
            "ranks_comm::ErrorKind::Mismatch",
            told(ErrorKind::Mismatch, |world| {
                let mine = vec![1.0; 4 + world.rank()];
                world.allreduce(&mine, &mut mine.clone(), Sum)
            }),
        ),
        (
            "ranks_comm::ErrorKind::Mismatch",
            told(ErrorKind::Mismatch, |world| {
                let mine = Cell::pack_all(&[]);
                match world.rank() {
                    0 => world.allgather(&mine, &mut mine.clone()),
                    _ => world.allgather::<f64>(&[], &mut []),
                }
            }),
        ),
        (
            "ranks_comm::ErrorKind::Mismatch",
            told(ErrorKind::Mismatch, |world| match world.rank() {
                0 => world.bcast(&mut [0.0; 4], 0),
                _ => world.bcast(&mut [0.0; 4], 9),
            }),
        ),
    ]
}

fn lifetimes() -> Vec<Text> {
    let both = Barrier::new(2);
    vec![
        (
            "ranks_comm::ErrorKind::TimedOut",
            told(ErrorKind::TimedOut, |world| {
                if world.rank() == 0 {
                    let limit = Duration::from_millis(50);
                    let late = world.within(limit, |world| world.recv(&mut [0.0; 3], 1, 7));
                    both.wait();
                    late?;
                } else {
                    both.wait();
                }
                Ok(())
            }),
        ),
        (
            "ranks_comm::ErrorKind::PeerFailed",
            told(ErrorKind::PeerFailed, |world| match world.rank() {
                0 => world.recv(&mut [0.0; 3], 1, 7).map(drop),
                _ => Ok(()),
            }),
        ),
        (
            "ranks_comm::ErrorKind::ProcFailed",
            told(ErrorKind::ProcFailed, |world| match world.rank() {
                0 => {
                    let lost = world.recv(&mut [0.0; 3], 1, 7).unwrap_err();
                    assert!(lost.kind().is_loss());
                    world.shrink()?.quorum().map(drop)
                }
                _ => Ok(()),
            }),
        ),
        (
            "ranks_comm::ErrorKind::Revoked",
            told(ErrorKind::Revoked, |world| {
                let comm = world.dup()?;
                comm.revoke()?;
                comm.barrier()
            }),
        ),
        (
            "ranks_comm::ErrorKind::WrongThread",
            told(ErrorKind::WrongThread, |world| {
                thread::scope(|scope| scope.spawn(|| world.send(&[1], 0, 0)).join().unwrap())
            }),
        ),
        ("ranks_comm::ErrorKind::Finalized", after_the_end()),
    ]
}

fn after_the_end() -> String {
    let runtime = Runtime::builder().backend(Backend::InProcess).ranks(1);
    let runtime = runtime.init().unwrap();
    let world = runtime.world();
    runtime.finalize().unwrap();
    let error = world.send(&[1], 0, 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Finalized);
    error.to_string()
}
