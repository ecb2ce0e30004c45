//! Start and end in process: effects of a failed rank on the others, thread levels, finalize;
//! spans.

#[cfg(feature = "tracing")]
mod spans;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

use ranks_comm::{
    Backend, Builder, Checks, Communicator, Error, ErrorKind, Result, Runtime, Source, ThreadLevel,
};

fn ranks(count: usize) -> Builder {
    Runtime::builder().backend(Backend::InProcess).ranks(count)
}

#[test]
fn every_rank_runs_once() {
    for count in 1..=4 {
        let seen = Mutex::new(vec![0; count]);
        ranks(count)
            .run(|world| {
                assert_eq!(world.size(), count);
                seen.lock().unwrap()[world.rank()] += 1;
                Ok::<_, Error>(())
            })
            .unwrap();
        assert_eq!(seen.into_inner().unwrap(), vec![1; count]);
    }
}

/// An error type of a program.
#[derive(Debug)]
enum Failure {
    Own(String),
    Comm(Error),
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Comm(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(text) => f.write_str(text),
            Self::Comm(error) => error.fmt(f),
        }
    }
}

#[test]
fn the_value_of_rank_0_comes_back() {
    let value = ranks(3).run(|world| Ok::<_, Failure>(format!("of {}", world.rank())));
    assert_eq!(value.ok().as_deref(), Some("of 0"));
}

#[test]
fn errors_of_any_type_and_their_sources_come_back() {
    type Boxed = Box<dyn std::error::Error + Send + Sync>;
    let boxed = ranks(2).run(|_| Err::<(), Boxed>("no mesh".parse::<f64>().unwrap_err().into()));
    assert!(boxed.unwrap_err().is::<std::num::ParseFloatError>());
    let read = |_| std::fs::read("/nowhere/mesh").map_err(Error::other);
    let error = ranks(2).run(read).unwrap_err();
    assert_eq!((error.kind(), error.operation()), (ErrorKind::Other, ""));
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), error.to_string());
    assert!(source.is::<std::io::Error>());
}

#[test]
fn the_error_that_came_first_comes_back_and_ends_the_waiting_of_the_others() {
    let ended = AtomicUsize::new(0);
    let outcome: Result<(), Failure> = ranks(4).run(|world| {
        if world.rank() == 2 {
            return Err(Failure::Own("no convergence".into()));
        }
        let waiting = world.recv(&mut [0u8], Source::Any, 0).unwrap_err();
        assert_eq!(waiting.kind(), ErrorKind::PeerFailed);
        assert_eq!(
            waiting.to_string(),
            "MPI_Recv: rank 2 of 4 failed: no convergence"
        );
        ended.fetch_add(1, Ordering::Relaxed);
        Err(waiting.into())
    });
    match outcome.unwrap_err() {
        Failure::Own(text) => assert_eq!(text, "no convergence"),
        Failure::Comm(error) => panic!("a consequence came back: {error}"),
    }
    assert_eq!(ended.into_inner(), 3);
}

#[test]
fn a_panic_ends_the_waiting_of_the_others_and_comes_back() {
    let panic = catch_unwind(AssertUnwindSafe(|| {
        ranks(3).run(|world| {
            assert_ne!(world.rank(), 1, "boom");
            let error = match world.rank() {
                0 => world.recv_vec::<u8>(1, 0).unwrap_err(),
                _ => world.ssend(&[1u8], 0, 9).unwrap_err(),
            };
            assert_eq!(error.kind(), ErrorKind::PeerFailed);
            assert!(
                error.to_string().contains("rank 1 of 3 failed: panicked: "),
                "{error}"
            );
            Err::<(), _>(error)
        })
    }))
    .unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("boom"), "{text}");
}

/// As a rule the others were told that it calls `MPI_Finalize`.
#[test]
fn a_failure_is_told_as_one_where_calls_are_compared() {
    for _ in 0..20 {
        let outcome = ranks(3).checks(Checks::Collective).run(|world| {
            if world.rank() == 1 {
                return Err(Error::other("gone"));
            }
            let error = world.dup().map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
            let text = "MPI_Comm_dup: rank 1 of 3 failed: gone";
            assert_eq!(error.to_string(), text);
            Ok(())
        });
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Other);
    }
}

/// It ended when it was tested, though this rank still sent to itself.
#[test]
fn a_receive_from_any_rank_takes_what_the_last_rank_sends_to_itself() {
    let others = Barrier::new(2);
    ranks(2)
        .run(|world| {
            let mut receiving = world.irecv(vec![0], Source::Any, 5)?;
            others.wait();
            if world.rank() == 1 {
                receiving.cancel()?;
                return receiving.wait().map(drop);
            }
            while world.recv(&mut [0u8], 1, 0).is_ok() {}
            assert!(!receiving.test()?);
            world.isend(vec![7], 0, 5)?.wait()?;
            assert_eq!(receiving.wait()?.0, [7]);
            Ok::<_, Error>(())
        })
        .unwrap();
}

/// Half of the ranks are no majority: the others may live elsewhere.
#[test]
fn one_of_two_goes_on_only_if_it_knows_that_the_other_is_gone() {
    let outcome = ranks(2).run(|world| {
        if world.rank() == 1 {
            return Err(Error::other("gone"));
        }
        let lost = world.recv(&mut [0u8], 1, 0).unwrap_err();
        assert_eq!(lost.kind(), ErrorKind::PeerFailed);
        world.revoke()?;
        let error = world.shrink()?.quorum().map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ProcFailed);
        let text = "1 of 2 ranks are left, which is no majority";
        assert!(error.to_string().contains(text), "{error}");
        let shrunk = world.shrink()?;
        assert_eq!((shrunk.before(), shrunk.size()), (2, 1));
        assert!(!shrunk.has_quorum());
        let alone = shrunk.without_quorum();
        let mut echo = [0u8];
        alone.sendrecv(&[5], 0, 0, &mut echo, 0, 0)?;
        assert_eq!(echo, [5]);
        Ok(())
    });
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Other);
}

/// A payload that panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a payload was dropped");
    }
}

/// The payloads of the others were dropped while the first went on, which ended the process.
#[test]
fn payloads_that_panic_when_they_are_dropped_leave_the_first_panic() {
    let panic = catch_unwind(|| {
        ranks(3).run(|world| -> Result<()> {
            if world.rank() == 0 {
                // The others have failed.
                let _ = world.recv(&mut [0_u8], Source::Any, 0);
            }
            panic_any(Bomb)
        })
    });
    assert!(
        panic
            .unwrap_err()
            .downcast::<Bomb>()
            .map(std::mem::forget)
            .is_ok()
    );
}

#[test]
fn a_panic_of_the_only_rank_is_a_panic_here() {
    let panic = catch_unwind(|| ranks(1).run(|_| -> Result<()> { panic!("alone") })).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"alone"));
}

#[test]
fn waiting_for_a_rank_that_has_ended_is_an_error() {
    let error = ranks(2)
        .run(|world| match world.rank() {
            0 => Ok(()),
            _ => world.recv(&mut [0u8], 0, 0).map(drop),
        })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PeerFailed);
    assert_eq!(
        error.to_string(),
        "MPI_Recv: rank 0 ended without sending a message that matches"
    );
}

#[test]
fn a_dead_rank_ends_a_split() {
    let error = ranks(3)
        .run(|world| match world.rank() {
            1 => Err(world.send(&[0u8], 9, 0).unwrap_err()),
            _ => world.split(Some(0), 0).map(drop),
        })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rank);
}

#[test]
fn a_funneled_rank_refuses_other_threads() {
    ranks(2)
        .thread_level(ThreadLevel::Funneled)
        .run(|world| {
            let here = &world;
            let elsewhere = std::thread::scope(|s| {
                s.spawn(move || here.send(&[1u8], here.rank(), 0))
                    .join()
                    .unwrap()
            });
            let error = elsewhere.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WrongThread);
            assert!(
                error.to_string().contains("ThreadLevel::Multiple"),
                "{error}"
            );
            world.send(&[1u8], world.rank(), 0)?;
            world.recv(&mut [0u8], world.rank(), 0).map(drop)
        })
        .unwrap();
}

#[test]
fn a_serialized_rank_refuses_what_overlaps() {
    let told = Barrier::new(2);
    ranks(2)
        .thread_level(ThreadLevel::Serialized)
        .run(|world| {
            if world.rank() == 1 {
                told.wait();
                return world.send(&[1u8], 0, 2);
            }
            std::thread::scope(|s| {
                let receiving = s.spawn(|| world.recv(&mut [0u8], 1, 2).map(drop));
                // Calls of this thread are accepted until the other one is inside of its receive.
                let error = loop {
                    match world.iprobe(1, 3) {
                        Ok(_) if receiving.is_finished() => break None,
                        Ok(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
                        Err(error) => break Some(error),
                    }
                };
                told.wait();
                let received = receiving.join().unwrap();
                // One of the two met the other.
                let refused = error.or(received.err()).unwrap();
                assert_eq!(refused.kind(), ErrorKind::WrongThread);
            });
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_closed_runtime_refuses_calls_on_every_handle() {
    let runtime = ranks(1).init().unwrap();
    let world = runtime.world();
    let other = world.dup().unwrap();
    assert_eq!(runtime.facts().backend(), Backend::InProcess);
    assert_eq!(runtime.facts().thread_level(), ThreadLevel::Multiple);
    assert_eq!((runtime.facts().rank(), runtime.facts().size()), (0, 1));
    let second = runtime.clone();
    runtime.finalize().unwrap();
    for comm in [&world, &other] {
        let error = comm.send(&[1u8], 0, 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Finalized);
        assert!(error.to_string().starts_with("MPI_Send: "), "{error}");
    }
    assert_eq!((world.rank(), world.size()), (0, 1));
    assert_eq!(world.dup().unwrap_err().kind(), ErrorKind::Finalized);
    assert_eq!(second.finalize().unwrap_err().kind(), ErrorKind::Finalized);
}

/// It was Ok in process, where over MPI it is this error.
#[test]
fn a_handle_that_escapes_run_is_an_error_of_run_and_is_refused() {
    let escaped: Mutex<Option<Communicator>> = Mutex::new(None);
    let keep = |world: Communicator| {
        *escaped.lock().unwrap() = Some(world);
        Ok::<_, Error>(())
    };
    for (handle, count) in [("world", 1), ("dup", 2)] {
        let error = ranks(count).run(|world| match (world.rank() == count - 1, handle) {
            (false, _) => world.dup().map(drop),
            (true, "dup") => world.dup().and_then(keep),
            (true, _) => keep(world),
        });
        let error = error.expect_err(handle);
        assert_eq!(error.kind(), ErrorKind::InUse, "{error}");
        let text = format!(
            "MPI_Finalize: not called on rank {} of {count}, since 1 handle ",
            count - 1
        );
        assert!(error.to_string().starts_with(&text), "{error}");
    }
    let outcome = ranks(1).run(|world| keep(world).and(Err::<(), _>(Error::other("no mesh"))));
    assert_eq!(outcome.unwrap_err().to_string(), "no mesh");
    let world = escaped.into_inner().unwrap().unwrap();
    assert_eq!(
        world.send(&[1u8], 0, 0).unwrap_err().kind(),
        ErrorKind::Finalized
    );
}

#[test]
fn several_ranks_need_a_closure() {
    let error = ranks(2).init().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("use `run`"), "{error}");
    assert_eq!(
        ranks(0).run(|_| Ok::<_, Error>(())).unwrap_err().kind(),
        ErrorKind::Argument
    );
}

#[test]
fn the_world_is_not_freed_and_has_a_name() {
    ranks(1)
        .run(|world| {
            assert_eq!(world.name()?, "MPI_COMM_WORLD");
            let other = world.dup()?;
            assert_eq!(other.name()?, "");
            other.free()
        })
        .unwrap();
}

#[test]
fn worlds_are_apart() {
    ranks(1)
        .run(|outer| {
            ranks(2).run(|inner| {
                assert_eq!(inner.compare(&outer)?, ranks_comm::Comparison::Unequal);
                Ok::<_, Error>(())
            })
        })
        .unwrap();
}

/// The error of rank 0 at the limit of the job, where the others do `f`.
fn told_at_the_limit(f: impl Fn(&Communicator) -> Result<()> + Send + Sync) -> String {
    let limit = std::time::Duration::from_millis(400);
    let outcome = ranks(3).time_limit(limit).run(|world| {
        if world.rank() == 0 {
            return world.recv(&mut [0u8], 1, 0).map(drop);
        }
        f(&world)
    });
    let error = outcome.expect_err("rank 1 is silent");
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    error.to_string()
}

#[test]
fn a_rank_that_is_silent_is_named_at_the_limit_and_one_that_waits_too() {
    let told = told_at_the_limit(|world| {
        if world.rank() == 1 {
            std::thread::sleep(std::time::Duration::from_millis(800));
            return Ok(());
        }
        // It comes later, and so is still there when rank 0 times out.
        std::thread::sleep(std::time::Duration::from_millis(40));
        match world.recv(&mut [0u8], 1, 0) {
            Err(_) => Ok(()),
            Ok(status) => panic!("a message nobody sent: {status:?}"),
        }
    });
    let begin = "MPI_Recv: timed out after 400ms (Builder::time_limit) on rank 0 of 3 of MPI_COMM_WORLD; \
                 it waits for rank 1, tag 0; waiting too: rank 2 in MPI_Recv for 0.";
    assert!(told.starts_with(begin), "{told}");
    let end = " s; silent: rank 1 (alive, in no operation)";
    assert!(told.ends_with(end), "{told}");
}

#[test]
fn what_only_is_reported_goes_on() {
    let builder = ranks(2).time_limit(std::time::Duration::from_millis(20));
    let builder = builder.on_time_limit(ranks_comm::OnTimeLimit::Warn);
    builder
        .run(|world| {
            if world.rank() == 1 {
                std::thread::sleep(std::time::Duration::from_millis(80));
                return world.send(&[1u8], 0, 0);
            }
            world.recv(&mut [0u8], 1, 0).map(drop)
        })
        .unwrap();
}
