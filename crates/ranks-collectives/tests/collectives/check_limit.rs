//! Ranks that do not come to a collective, where calls are compared and ranks wait for each other
//! only so long.

use std::future::IntoFuture;
use std::time::Duration;

use ranks_collectives::ops::Sum;
use ranks_collectives::{Collectives, NonblockingCollectives, ScopedCollectives};
use ranks_comm::{Backend, Checks, Communicator, Error, ErrorKind, Requests, Result, Runtime};
use ranks_test::__private::block_on;

/// All ranks but the last do something in vain, for which that one waits.
fn in_vain(calls: impl Fn(&Communicator) -> Error + Send + Sync) {
    let outcome = Runtime::builder()
        .backend(Backend::InProcess)
        .ranks(3)
        .checks(Checks::Collective)
        .check_limit(Duration::from_millis(50))
        .run(|world| {
            let last = world.size() - 1;
            if world.rank() == last {
                for other in 0..last {
                    world.recv(&mut [0u8], other, 1)?;
                }
                return Ok(());
            }
            let error = calls(&world);
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
            let text = error.to_string();
            let whose = format!(
                ": timed out after 50ms (RANKS_CHECK_LIMIT) on rank {} of 3 of MPI_COMM_WORLD: \
                 not all of the 3 ranks have come",
                world.rank()
            );
            assert!(text.contains(&whose) && text.contains("rank 2 "), "{error}");
            let later = world.bcast(&mut [1], 0).unwrap_err();
            assert_eq!(later.kind(), ErrorKind::TimedOut, "{later}");
            world.send(&[1u8], last, 1)
        });
    outcome.expect("all as said");
}

fn failed<R>(outcome: Result<R>) -> Error {
    outcome.map(drop).expect_err("one never comes")
}

#[test]
fn missing_call_ends_at_the_time_limit() {
    in_vain(|world| failed(world.barrier()));
}

#[test]
fn nonblocking_collectives_were_waited_for_beyond_the_limit() {
    in_vain(|world| failed(world.ibarrier().and_then(ranks_comm::Request::wait)));
    in_vain(|world| {
        let sum = world.iallreduce(vec![1], vec![0], Sum);
        failed(sum.and_then(ranks_comm::Request::wait))
    });
}

#[test]
fn one_that_is_awaited_was_pending_beyond_the_limit() {
    in_vain(|world| {
        let sum = world.iallreduce(vec![1], vec![0], Sum);
        failed(block_on(sum.expect("it begins").into_future()))
    });
}

#[test]
fn one_of_several_was_waited_for_beyond_the_limit() {
    in_vain(|world| {
        let mut begun = Requests::new();
        for _ in 0..2 {
            begun.push(world.ibarrier().expect("it begins"));
        }
        failed(begun.wait_any())
    });
    in_vain(|world| {
        let mut begun = Requests::new();
        begun.push(world.ibarrier().expect("it begins"));
        failed(begun.wait_all())
    });
}

#[test]
fn what_is_borrowed_was_waited_for_beyond_the_limit() {
    in_vain(|world| {
        let (mine, mut sum) = ([1], [0]);
        failed(world.scope(|scope| scope.iallreduce(&mine, &mut sum, Sum).map(drop)))
    });
}
