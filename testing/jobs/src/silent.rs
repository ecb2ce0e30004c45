//! Rank 1 is silent for a while, and the others wait for it under a time limit.

use std::thread;
use std::time::Duration;

use ranks::collectives::SparseExchange;
use ranks::ops::Sum;
use ranks::p2p::Outbox;
use ranks::{
    Checks, Collectives, Communicator, ErrorKind, HaloExchange, NodeShared, Runtime, SharedWindow,
};

use crate::outcome::{Failure, Outcome};

/// How long rank 1 is silent: longer than all that others wait for it. Not for ever, as there are
/// launchers that wait for it.
const SILENCE: Duration = Duration::from_secs(5);

/// All ranks but rank 1 do this; the limit is that of `RANKS_TIMEOUT`.
pub(crate) fn main(what: &str) -> Outcome {
    let checks = match what {
        "compared-finalize" => Checks::Collective,
        _ => Checks::Local,
    };
    Runtime::builder().checks(checks).run(|world| {
        let what: fn(&Communicator) -> Outcome = match what {
            "recv" => |world| Ok(world.recv(&mut [0u8], 1, 0).map(drop)?),
            "ssend" => |world| Ok(world.ssend(&[0u8], 1, 0)?),
            "wait" => |world| Ok(world.irecv(vec![0u8], 1, 0)?.wait().map(drop)?),
            "scope" => |world| {
                let mut buf = [0u8];
                Ok(world.scope(|s| s.irecv(&mut buf, 1, 0).map(drop))?)
            },
            "scoped-wait" => |world| {
                let data = vec![1u8; 8 << 20];
                let waited = world.scope(|s| s.issend(&data, 1, 0)?.wait().map(drop));
                eprintln!("the scope returned {waited:?}");
                Ok(waited?)
            },
            "barrier" => |world| Ok(world.barrier()?),
            "bcast" => |world| Ok(world.bcast(&mut [0u8; 5], 1)?),
            "allreduce" => |world| Ok(world.allreduce(&[1.0], &mut [0.0], Sum)?),
            "dup" => |world| Ok(world.dup().map(drop)?),
            "finalize" | "compared-finalize" => |_| Ok(()),
            "fence" => {
                // Open MPI may take seconds to make one, on a busy machine.
                let window =
                    world.within(SILENCE, |world| ranks::Window::<u64>::allocate(world, 1))?;
                wait_if(world.rank() == 1);
                drop(window.fence()?);
                return Ok(());
            }
            "phase" => {
                let node = world.split_shared(0)?;
                let window = node.within(SILENCE, |node| SharedWindow::<u64>::allocate(node, 1))?;
                wait_if(world.rank() == 1);
                drop(window.fence()?);
                return Ok(());
            }
            "update" => return update(&world),
            "outbox" => {
                let mut outbox = Outbox::new(&world, 1);
                wait_if(world.rank() == 1);
                for _ in 0..2 {
                    outbox.send(&vec![0u8; 8 << 20], 1, 0)?;
                }
                if world.rank() == 0 {
                    eprintln!("there was room");
                }
                return Ok(outbox.finish()?);
            }
            "halo" => {
                let grid = |world: &Communicator| world.cart_create(&[2], &[true], false);
                let ring = world
                    .within(SILENCE, grid)?
                    .ok_or("two ranks are no ring")?;
                wait_if(world.rank() == 1);
                HaloExchange::new(&ring, &[3], &[1])?.exchange(&mut [0u8; 3])?;
                return Ok(());
            }
            "sparse" => {
                let exchange = world.within(SILENCE, SparseExchange::new)?;
                wait_if(world.rank() == 1);
                exchange.alltoallv([(1, [0u8; 3])])?;
                return Ok(());
            }
            other => return Err(format!("nobody waits in {other}").into()),
        };
        wait_if(world.rank() == 1);
        what(&world)
    })
}

/// What an array is for a rank that has not come to the end of its update: the root may write to it
/// still.
fn update(world: &Communicator) -> Outcome {
    let mut array = world.within(SILENCE, |world| {
        NodeShared::from_root(world, 0, 1000, |out| out.fill(1u64))
    })?;
    wait_if(world.rank() == 1);
    let Err(error) = array.update(0..1000, 0, &[2; 1000]) else {
        return Err("it was not late".into());
    };
    if !array.is_empty() || array.update(0..1, 0, &[3]).is_ok() {
        return Err("what others may write to can be read".into());
    }
    Err(error.into())
}

fn wait_if(silent: bool) {
    if silent {
        thread::sleep(SILENCE);
    }
}

/// Rank 1 comes late to a collective, which is over for the others by then; they go on with each
/// other, and with rank 1 on another communicator.
pub(crate) fn late() -> Outcome {
    const LIMIT: Duration = Duration::from_millis(300);
    Runtime::builder().checks(Checks::Local).run(|world| {
        let other = world.dup()?;
        let limited = world.dup()?;
        limited.set_time_limit(Some(LIMIT))?;
        let mut sum = [0.0];
        if world.rank() == 1 {
            // Until the others say that they are late.
            for source in (0..world.size()).filter(|&rank| rank != 1) {
                world.recv(&mut [0u8], source, 0)?;
            }
            limited.set_time_limit(Some(10 * LIMIT))?;
            limited.allreduce(&[1.0], &mut sum, Sum)?;
        } else {
            match limited.allreduce(&[1.0], &mut sum, Sum) {
                Err(error) if error.kind() == ErrorKind::TimedOut => {}
                other => return Err::<(), Failure>(format!("not late: {other:?}").into()),
            }
            world.send(&[1u8], 1, 0)?;
        }
        let mut count = [0u64];
        other.allreduce(&[1u64], &mut count, Sum)?;
        // What was late is over now: the same communicator is used again.
        limited.set_time_limit(Some(20 * LIMIT))?;
        limited.allreduce(&[1.0], &mut sum, Sum)?;
        if count != [world.size() as u64] || sum != [count[0] as f64] {
            return Err(format!("{count:?} and {sum:?} of {} ranks", world.size()).into());
        }
        Ok(())
    })
}

/// Rank 1 does not come to a collective that is compared; the others go on after their limit, up to
/// the end, which cannot be while that is pending.
pub(crate) fn compared() -> Outcome {
    Runtime::builder().checks(Checks::Collective).run(|world| {
        if world.rank() == 1 {
            thread::sleep(SILENCE);
            return Ok(());
        }
        match world.allreduce(&[1.0], &mut [0.0], Sum) {
            Err(error) if error.kind() == ErrorKind::TimedOut => {}
            other => return Err::<(), Failure>(format!("not late: {other:?}").into()),
        }
        // A job that is aborted is soon.
        thread::sleep(Duration::from_secs(1));
        println!("went on");
        Ok(())
    })
}

/// A rank comes to the end when rank 0 waits for it no longer.
pub(crate) fn last(rank: &str) -> Outcome {
    const LIMIT: Duration = Duration::from_millis(300);
    let last: usize = rank.parse()?;
    Runtime::builder().checks(Checks::Local).run(|world| {
        world.barrier()?;
        if world.rank() == 0 {
            // Observations have the longest limit that has passed.
            let nothing = world.within(LIMIT, |world| world.recv(&mut [0u8], 1, 0));
            if nothing.is_ok() {
                return Err::<(), Failure>("a message came".into());
            }
        }
        wait_if(world.rank() == last);
        Ok(())
    })
}

/// A rank asks for a message again and again, each time for no longer than a call takes.
pub(crate) fn asked_for() -> Outcome {
    const MOMENT: Duration = Duration::from_micros(20);
    Runtime::builder().checks(Checks::Local).run(|world| {
        if world.rank() == 0 {
            thread::sleep(Duration::from_secs(2));
            return Ok(world.send(&[1_u8], 1, 0)?);
        }
        loop {
            match world.within(MOMENT, |world| world.recv(&mut [0_u8], 0, 0)) {
                Err(error) if error.kind() == ErrorKind::TimedOut => {}
                other => return Ok(other.map(drop)?),
            }
        }
    })
}

/// Rank 0 comes a second later to the end than the others, of which each has given up a call after
/// a moment. It receives what they have left: a buffered message, and one that nobody waits for.
pub(crate) fn late_at_the_end(checks: &str) -> Outcome {
    const MOMENT: Duration = Duration::from_millis(20);
    const LONG: usize = 4 << 20;
    let checks = match checks {
        "compared" => Checks::Collective,
        _ => Checks::Local,
    };
    Runtime::builder().checks(checks).run(|world| {
        if world.rank() == 0 {
            thread::sleep(50 * MOMENT);
            for source in 1..world.size() {
                for tag in [1, 2] {
                    let (message, _) = world.recv_vec::<u8>(source, tag)?;
                    if message.len() != LONG {
                        return Err::<(), Failure>("a message is not whole".into());
                    }
                }
            }
            return Ok(());
        }
        let given_up = world.within(MOMENT, |world| world.recv(&mut [0u8], 0, 0));
        match given_up {
            Err(error) if error.kind() == ErrorKind::TimedOut => {}
            other => return Err(format!("not given up: {other:?}").into()),
        }
        let attached = world.buffer_attach(vec![0; 2 * LONG])?;
        world.bsend(&vec![1u8; LONG], 0, 1)?;
        drop(attached);
        drop(world.isend(vec![2u8; LONG], 0, 2)?);
        Ok(())
    })
}
