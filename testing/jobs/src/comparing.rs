//! Ranks that call different things, where they compare that: what each of them is told.
//!
//! A line `told: ` has the error of a rank. What is begun and never ends keeps MPI from its end, so
//! that the job need not end well.

use std::time::Duration;

use ranks::ops::{Max, Min, Sum};
use ranks::{
    Checks, Collectives, Communicator, Error, ErrorKind, NonblockingCollectives, Runtime,
    ScopedCollectives, Window,
};

use crate::outcome::Outcome;

fn told(error: &Error) {
    println!("told: {error}");
}

/// What ranks are told who call differently, and how the runtime ended.
fn on_each(calls: impl Fn(&Communicator) -> ranks::Result<()> + Send + Sync) -> ranks::Result<()> {
    let checks = match std::env::var("RANKS_CHECK").as_deref() {
        Ok("digests") => Checks::Digests,
        _ => Checks::Collective,
    };
    Runtime::builder().checks(checks).run(|world| calls(&world))
}

/// The last rank ends, and the others come to two collectives before they do.
pub(crate) fn end() -> Outcome {
    let outcome = on_each(|world| {
        if world.rank() + 1 < world.size() {
            let error = world.barrier().expect_err("one has ended");
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
            told(&error);
            let later = world.bcast(&mut [0u8], 0).expect_err("it has ended");
            assert_eq!(later.kind(), ErrorKind::Mismatch, "{later}");
        }
        Ok(())
    });
    match outcome {
        Err(error) if error.kind() == ErrorKind::Mismatch => told(&error),
        other => other?,
    }
    Ok(())
}

/// The last rank ends, and the others are in a collective of another communicator.
pub(crate) fn end_elsewhere() -> Outcome {
    let last = |world: &Communicator| world.rank() + 1 == world.size();
    Runtime::builder()
        .checks(Checks::Collective)
        .check_limit(Duration::from_millis(500))
        .run(|world| {
            let own = world.dup()?;
            if last(&world) {
                return Ok(());
            }
            own.barrier()
        })?;
    Ok(())
}

/// Collectives that return at once, and are not the same.
pub(crate) fn nonblocking(which: &str) -> Outcome {
    let outcome = on_each(|world| {
        let own = world.dup()?;
        let wrong = world.rank() + 1 == world.size();
        let outcome = match (which, wrong) {
            ("calls", false) => own.ibcast(vec![1u8; 3], 0)?.wait().map(drop),
            ("calls", true) => own.ibarrier()?.wait().map(drop),
            ("operations", false) => own.iallreduce(vec![1], vec![0], Max)?.wait().map(drop),
            ("operations", true) => own.iallreduce(vec![1], vec![0], Min)?.wait().map(drop),
            ("lengths", false) => {
                let begun = own.iallreduce(vec![1u64; 3], vec![0; 3], Sum)?;
                begun.wait().map(drop)
            }
            ("lengths", true) => {
                let begun = own.iallreduce(vec![1u64; 1000], vec![0; 1000], Sum)?;
                begun.wait().map(drop)
            }
            ("started", false) => own.ibarrier()?.wait().map(drop),
            ("started", true) => own.barrier(),
            _ => panic!("nothing is known of {which}"),
        };
        let error = outcome.expect_err("ranks call differently");
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        told(&error);
        // Before any of them ends the job.
        world.barrier()?;
        std::mem::forget(own);
        Ok(())
    });
    outcome?;
    Ok(())
}

/// The last rank refuses what the others begin, and wait for or drop. Then all come to two more.
pub(crate) fn refused(which: &str) -> Outcome {
    on_each(|world| {
        let own = world.dup()?;
        let wrong = world.rank() + 1 == world.size();
        let room = vec![0u64; if wrong { 2 } else { 3 }];
        let begun = own.iallreduce(vec![1; 3], room, Sum);
        assert_eq!(begun.is_err(), wrong);
        match begun {
            Ok(begun) if which == "waited" => {
                let error = begun.wait().map(drop).expect_err("the last rank refuses");
                assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
            }
            begun => drop(begun),
        }
        for _ in 0..2 {
            let later = own.allreduce(&[1u64], &mut [0], Sum);
            told(&later.expect_err("no later one would match"));
        }
        world.barrier()?;
        std::mem::forget(own);
        Ok(())
    })?;
    Ok(())
}

/// The first rank waits for the last one, which waits for the first elsewhere: no two of these
/// calls are compared with each other.
pub(crate) fn apart(which: &str) -> Outcome {
    Runtime::builder()
        .checks(Checks::Collective)
        .check_limit(Duration::from_millis(500))
        .run(|world| {
            let wrong = world.rank() + 1 == world.size();
            let [one, other] = [
                Window::<u64>::allocate(&world, 1)?,
                Window::allocate(&world, 1)?,
            ];
            let mut one = one;
            let last = world.size() - 1;
            let half = world.split(Some(i32::from(world.rank() > 0)), 0)?;
            match (which, wrong) {
                ("between-groups", false) => {
                    let half = half.ok_or_else(|| Error::other("no group"))?;
                    let other = usize::from(world.rank() == 0);
                    half.intercomm_create(0, &world, other, 9).map(drop)
                }
                ("create-group", false) => world.create_group(&world.group()?, 3).map(drop),
                ("barrier", false) | ("order", false) => one.fence().map(drop),
                ("groups", false) => world.create_group(&world.group()?, 3).map(drop),
                ("groups", true) => {
                    let some = world.group()?.include(&[last, 0])?;
                    world.create_group(&some, 3).map(drop)
                }
                ("starts", false) => one.start(&[last], |ops| ops.put(&[1], last, 0)),
                ("starts", true) => one.start(&[0], |ops| ops.put(&[1], 0, 0)),
                ("start", false) => one.start(&[last], |ops| ops.put(&[1], last, 0)),
                ("wait", false) => one.post(&[last])?.wait().map(drop),
                ("create-group" | "barrier" | "between-groups", true) => world.barrier(),
                ("order", true) => other.fence().map(drop),
                ("start" | "wait", true) => one.fence().map(drop),
                _ => panic!("nothing is known of {which}"),
            }
        })?;
    Ok(())
}

/// One of two ranks sends more than the other has room for, and nothing is compared.
pub(crate) fn uncompared() -> Outcome {
    Runtime::builder().checks(Checks::Local).run(|world| {
        let length = if world.rank() == 0 { 2000 } else { 6 };
        world.alltoall(&vec![1u64; length], &mut vec![0; length])
    })?;
    Ok(())
}

/// One rank alone begins a barrier, and waits.
pub(crate) fn begun_alone() -> Outcome {
    Runtime::builder()
        .checks(Checks::Collective)
        .check_limit(Duration::from_millis(300))
        .run(|world| {
            if world.rank() == 0 {
                return world.ibarrier()?.wait().map(drop);
            }
            world.recv(&mut [0u8], 0, 0).map(drop)
        })?;
    Ok(())
}

/// A scope in which an operation is waited for that ranks call differently, and its slice after it.
pub(crate) fn scope() -> Outcome {
    const LENGTH: usize = 1 << 20;
    on_each(|world| {
        let other = world.dup()?;
        let (mine, mut sum) = (vec![1u64; LENGTH], vec![0u64; LENGTH]);
        let refused = world.scope(|s| {
            let request = match world.rank() {
                0 => s.iallreduce(&mine, &mut sum, Sum)?,
                _ => s.iallreduce(&mine, &mut sum, Max)?,
            };
            request.wait().map(drop)
        });
        told(&refused.expect_err("ranks call differently"));
        let then = sum.clone();
        other.barrier()?;
        std::thread::sleep(Duration::from_millis(50));
        other.barrier()?;
        assert_eq!(then, sum, "written to after the scope");
        println!("not written to");
        Ok(())
    })?;
    Ok(())
}
