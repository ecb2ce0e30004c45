//! What becomes of the other ranks, and of memory, when one gives up.

use std::time::{Duration, Instant};

use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_raw::{Dtype, RawCollectives, RawComm, RawOp, RawOptions};

const LONG: Duration = Duration::from_secs(30);

/// The ranks that wait for one that gives up learn of it, and why.
#[ranks_test::ranks(2, 3)]
fn an_abort_reaches_those_who_wait(world: Communicator) -> Result<()> {
    let comm = super::raw(&world)?;
    let (rank, size) = (world.rank(), world.size());
    let mut room = [0_u64; 8];
    let begun = Instant::now();
    if rank == size - 1 {
        comm.abort()?;
    } else {
        // SAFETY: the room is that long, and lives until `sync` has returned.
        unsafe { comm.recv(room.as_mut_ptr().cast(), 8, Dtype::U64, size - 1, 0) }?;
        let error = comm.sync().expect_err("nobody sends");
        assert_eq!(error.kind(), ErrorKind::Aborted);
        let who = format!("rank {} has given up", size - 1);
        assert!(error.to_string().contains(&who), "{error}");
    }
    assert!(comm.failure().is_some());
    assert!(begun.elapsed() < LONG);
    drop(comm);
    world_works(&world)
}

/// The communicator's own time limit, in `sync` and in a barrier that a rank does not come to.
#[ranks_test::ranks(2)]
fn a_time_limit_ends_sync_and_barrier(world: Communicator) -> Result<()> {
    let options = RawOptions::new().time_limit(Duration::from_millis(30));
    for barrier in [false, true] {
        let comm = RawComm::new(&world, options.clone())?;
        let mut room = [0_u8; 8];
        if world.rank() == 0 {
            let outcome = if barrier {
                comm.barrier()
            } else {
                // SAFETY: the room is that long, and lives until `sync` has returned.
                unsafe { comm.recv(room.as_mut_ptr().cast(), 8, Dtype::U8, 1, 3) }?;
                comm.sync()
            };
            let error = outcome.expect_err("rank 1 does nothing");
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
            assert!(error.to_string().contains("30ms"), "{error}");
            let later = comm.sync().expect_err("it has failed");
            assert_eq!(later.kind(), ErrorKind::Aborted);
            world.send(&[1_u8], 1, 0)?;
        } else {
            world.recv(&mut [0_u8], 0, 0)?;
            if barrier {
                // What rank 0 has begun ends, so that nothing is left of it: rank 1 comes, though
                // too late.
                let late = comm.barrier();
                assert!(
                    late.is_ok() || late.is_err_and(|error| error.kind() == ErrorKind::Aborted)
                );
            }
        }
    }
    world_works(&world)
}

/// After an error nothing is written to memory any more, even if the others come later.
#[ranks_test::ranks(2)]
fn nothing_is_written_after_an_error(world: Communicator) -> Result<()> {
    let comm = super::raw(&world)?;
    let mut data = vec![1.0_f32; 20_000];
    let address = data.as_mut_ptr().cast();
    if world.rank() == 0 {
        // SAFETY: `data` has so many elements, and nobody uses it until `wait` has returned.
        unsafe { comm.allreduce(address, address, 20_000, Dtype::F32, RawOp::Sum) }?;
        let error = comm
            .wait(Duration::from_millis(10))
            .expect_err("rank 1 has not come");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        data.fill(5.0);
        world.send(&[1_u8], 1, 0)?;
        world.recv(&mut [0_u8], 1, 0)?;
        assert!(data.iter().all(|number| *number == 5.0));
    } else {
        world.recv(&mut [0_u8], 0, 0)?;
        // SAFETY: as above.
        unsafe { comm.allreduce(address, address, 20_000, Dtype::F32, RawOp::Sum) }?;
        // The other has taken part before it gave up, and has said so.
        let outcome = comm.wait(LONG);
        assert!(outcome.is_ok() || outcome.is_err_and(|error| error.kind() == ErrorKind::Aborted));
        world.send(&[1_u8], 0, 0)?;
    }
    Ok(())
}

fn world_works(world: &Communicator) -> Result<()> {
    use ranks_collectives::Collectives;
    world.barrier()
}

/// A limit of the communicator, or `RANKS_TIMEOUT`, was not one of the raw communicator that was
/// made of it.
#[ranks_test::ranks(2, in_process_only)]
fn a_raw_communicator_waits_no_longer_than_its_communicator_may(world: Communicator) -> Result<()> {
    let limited = world.dup()?;
    limited.set_time_limit(Some(Duration::from_millis(300)))?;
    let comm = super::raw(&limited)?;
    if world.rank() == 0 {
        let error = comm.barrier().expect_err("rank 1 does nothing");
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        world.send(&[1_u8], 1, 0)
    } else {
        world.recv(&mut [0_u8], 0, 0).map(drop)
    }
}
