//! What one rank can know: collectives of two threads at once on one communicator, and calls from
//! within an operation.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use ranks_collectives::ops::{Sum, UserOp};
use ranks_collectives::{Collectives, NonblockingCollectives};
use ranks_comm::{Communicator, ErrorKind, Result};

/// Has a thread of rank 0 stay in a reduction until another one has done `meanwhile`, which fails.
fn in_the_midst_of_a_reduction(
    world: &Communicator,
    meanwhile: impl Fn(&Communicator) -> Result<()> + Sync,
) -> Result<()> {
    if !world.lets_threads_call() {
        return Ok(());
    }
    let (inside, done) = (Barrier::new(2), Barrier::new(2));
    let stays = AtomicBool::new(world.rank() == 0);
    let op = UserOp::commutative(|a: usize, b: usize| {
        if stays.swap(false, Ordering::Relaxed) {
            inside.wait();
            done.wait();
        }
        a + b
    });
    let mut sum = [0];
    thread::scope(|threads| {
        if world.rank() == 0 {
            threads.spawn(|| {
                inside.wait();
                let error = meanwhile(world).expect_err("another thread is in a reduction");
                done.wait();
                assert_eq!(error.kind(), ErrorKind::WrongThread, "{error}");
                assert!(
                    error.to_string().contains("in MPI_Reduce on this"),
                    "{error}"
                );
            });
        }
        world.reduce(&[1usize], &mut sum, op, 0)
    })?;
    assert!(world.rank() > 0 || sum == [world.size()]);
    // As soon as it is over there is nothing wrong with either thread.
    world.barrier()
}

/// Of two threads of rank 0 one waits in a barrier, and the other one is told so, whichever comes
/// first.
#[ranks_test::ranks(2, 3)]
fn two_threads_in_a_collective_mixed_up_their_sums(world: Communicator) -> Result<()> {
    if !world.lets_threads_call() {
        return Ok(());
    }
    for _ in 0..3 {
        if world.rank() > 0 {
            world.recv(&mut [0u8], 0, 7)?;
            world.barrier()?;
            continue;
        }
        let refused = AtomicUsize::new(0);
        let call = || {
            let Err(error) = world.barrier() else {
                return Ok(());
            };
            assert_eq!(error.kind(), ErrorKind::WrongThread, "{error}");
            refused.fetch_add(1, Ordering::Relaxed);
            (1..world.size()).try_for_each(|other| world.send(&[1u8], other, 7))
        };
        thread::scope(|threads| {
            let first = threads.spawn(call);
            // What is begun at the very same time may not be seen on the express ways.
            thread::sleep(Duration::from_millis(20));
            call().and(first.join().expect("no panic"))
        })?;
        assert_eq!(refused.into_inner(), 1);
    }
    in_the_midst_of_a_reduction(&world, |world| world.allreduce(&[1], &mut [0], Sum))?;
    in_the_midst_of_a_reduction(&world, |world| world.dup().map(drop))?;
    let mut sum = [0];
    world.allreduce(&[1], &mut sum, Sum)?;
    assert_eq!(sum, [world.size()]);
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn a_blocking_collective_and_the_start_of_another_mixed_up(world: Communicator) -> Result<()> {
    in_the_midst_of_a_reduction(&world, |world| world.ibarrier().map(drop))?;
    in_the_midst_of_a_reduction(&world, |world| world.ibcast(vec![1u8], 0).map(drop))?;
    in_the_midst_of_a_reduction(&world, |world| world.iscan(vec![1], vec![0], Sum).map(drop))?;
    // One that is merely under way is no obstacle, on whichever thread.
    let under_way = world.iallreduce(vec![1usize], vec![0], Sum)?;
    thread::scope(|threads| threads.spawn(|| world.barrier()).join().expect("no panic"))?;
    assert_eq!(under_way.wait()?.0.1, [world.size()]);
    Ok(())
}

/// Threads that take turns, and threads with communicators of their own, are within the rules.
#[ranks_test::ranks(2, 3)]
fn threads_that_take_turns_may_go_on(world: Communicator) -> Result<()> {
    if !world.lets_threads_call() {
        return Ok(());
    }
    let turns: Vec<Communicator> = (0..2).map(|_| world.dup()).collect::<Result<_>>()?;
    for _ in 0..20 {
        thread::scope(|threads| threads.spawn(|| world.barrier()).join().expect("no panic"))?;
        world.barrier()?;
    }
    thread::scope(|threads| {
        let all: Vec<_> = turns
            .iter()
            .map(|own| {
                threads.spawn(move || {
                    let mut sum = [0];
                    (0..50).try_for_each(|_| own.allreduce(&[1], &mut sum, Sum))
                })
            })
            .collect();
        all.into_iter()
            .try_for_each(|one| one.join().expect("no panic"))
    })
}

/// Each of the ways to communicate from where libraries wait for the program's own operation.
#[ranks_test::ranks(1, 2, 3)]
fn communication_from_within_an_operation_hung(world: Communicator) -> Result<()> {
    let me = world.rank();
    let dropped = Mutex::new(Some((world.irecv(vec![0u8], me, 40)?, world.dup()?)));
    let prepared = Mutex::new(Some(world.send_init(vec![1u8], me, 41)?));
    let seen = Mutex::new(Vec::new());
    let op = UserOp::commutative(|a: u64, b: u64| {
        let mut room = [0u8];
        let outcomes = [
            world.send(&[1u8], me, 42),
            world.recv(&mut [0u8], me, 42).map(drop),
            world.isend(vec![1u8], me, 42).map(drop),
            world.scope(|s| s.irecv(&mut room, me, 42).map(drop)),
            world.iprobe(me, 42).map(drop),
            world.barrier(),
            world.ibarrier().map(drop),
            world.allreduce(&[1], &mut [0], Sum),
            world.dup().map(drop),
            world.split(Some(0), 0).map(drop),
            world.agree(Ok::<_, String>(())),
        ];
        let kinds = outcomes.map(|outcome| outcome.map_err(|error| error.kind()));
        seen.lock().expect("no panic").extend(kinds);
        // What is dropped here is left to the runtime.
        drop(dropped.lock().expect("no panic").take());
        drop(prepared.lock().expect("no panic").take());
        a + b
    });
    let mut sum = [0];
    world.allreduce(&[1u64], &mut sum, op)?;
    assert_eq!(sum, [world.size() as u64]);
    world.reduce(&[1u64], &mut sum, op, 0)?;
    let (sent, scanned) = world
        .iscan(vec![1u64; 3], vec![0; 3], UserOp::new(|a: u64, b| a + b))?
        .wait()?
        .0;
    assert_eq!((sent[0], scanned), (1, vec![me as u64 + 1; 3]));
    let seen = seen.into_inner().expect("no panic");
    assert!(
        seen.iter().all(|kind| *kind == Err(ErrorKind::WrongThread)),
        "{seen:?}"
    );
    let mut called = [0];
    world.allreduce(&[seen.len()], &mut called, Sum)?;
    assert!(world.size() == 1 || called[0] > 0);
    // Afterwards all is as before.
    world.sendrecv(&[1u8], me, 42, &mut [0u8], me, 42)?;
    world.barrier()
}
