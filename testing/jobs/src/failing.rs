//! Rank 1 fails while the others wait for a message that will not come; or does not come where they
//! wait for it.

use std::thread;
use std::time::Duration;

use ranks::ops::Sum;
use ranks::prelude::PersistentCollectives;
use ranks::raw::{Dtype, RawCollectives, RawComm, RawOptions};
use ranks::{Checks, Collectives, Communicator, Runtime, Source};

use crate::outcome::Outcome;

pub(crate) fn main(how: &str) -> Outcome {
    match how {
        "error" => ranks::run(|world| {
            if world.rank() == 1 {
                return Err("no convergence".into());
            }
            wait(&world)
        }),
        "persistent" => ranks::run(|world| {
            let prepared = world.allreduce_init(vec![1], vec![0], Sum)?;
            if world.rank() != 1 {
                prepared.start()?.wait()?;
            }
            Ok(())
        }),
        "busy" => ranks::run(|world| {
            if world.rank() == 1 {
                return Err("no convergence".into());
            }
            std::thread::sleep(Duration::from_secs(3));
            eprintln!("rank {} was busy", world.rank());
            Ok(())
        }),
        "panic" => ranks::run(|world| {
            assert_ne!(world.rank(), 1, "out of luck");
            wait(&world)
        }),
        "panic-in-a-step" => ranks::run(|world| {
            let mut fenced = ranks::Window::<u64>::allocate(&world, 4)?.fence()?;
            fenced.step(|ops| {
                ops.put(&[1, 2], 0, 1)?;
                assert_ne!(world.rank(), 1, "out of luck");
                Ok(())
            })?;
            wait(&world)
        }),
        "panic-under-a-lock" => ranks::run(|world| {
            let window = ranks::Window::<u64>::allocate(&world, 4)?.passive()?;
            let locked = window.lock_all()?;
            locked.put(&[1, 2], 0, 1)?;
            assert_ne!(world.rank(), 1, "out of luck");
            drop(locked);
            window.close()?;
            wait(&world)
        }),
        "unwinding" => {
            let runtime = Runtime::builder().init()?;
            let world = runtime.world();
            assert_ne!(world.rank(), 1, "out of luck");
            wait(&world)
        }
        "missing-call" => ranks::Runtime::builder()
            .checks(Checks::Collective)
            .check_limit(Duration::from_millis(300))
            .run(|world| {
                if world.rank() == 1 {
                    return wait(&world);
                }
                world.barrier()?;
                Ok(())
            }),
        "raw" => ranks::run(|world| {
            let options = RawOptions::new().abort_job(true);
            let comm = RawComm::new(&world, options.time_limit(Duration::from_millis(300)))?;
            if world.rank() == 1 {
                return wait(&world);
            }
            comm.barrier()?;
            Err("a barrier without rank 1".into())
        }),
        // The job goes on; rank 1 does not ask whether others have given up.
        "raw-alone" => ranks::run(|world| {
            let limit = Duration::from_millis(300);
            let comm = RawComm::new(&world, RawOptions::new().time_limit(limit))?;
            if world.rank() == 1 {
                thread::sleep(3 * limit);
                return Ok(());
            }
            let mut byte = 0_u8;
            // SAFETY: the byte lives until the receive is over, at the limit at the latest.
            unsafe { comm.recv((&raw mut byte).cast(), 1, Dtype::U8, 1, 0) }?;
            match comm.sync() {
                Err(_) => Ok(()),
                Ok(()) => Err("a message nobody sent".into()),
            }
        }),
        other => Err(format!("there is no way to fail called {other}").into()),
    }
}

fn wait(world: &Communicator) -> Outcome {
    let status = world.recv(&mut [0_u8], Source::Any, 0)?;
    Err(format!("a message nobody sent: {status:?}").into())
}
