//! Requests as futures.

use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use ranks_comm::{Communicator, ErrorKind, Result};

use crate::{let_the_left_go_on, neighbours};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor there is.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[ranks_test::ranks(1, 2, 3)]
fn requests_are_awaited(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    block_on(async {
        for step in 0..20u8 {
            let arriving = world.irecv(vec![0u8; 1000], left, 0)?;
            let vector = world.irecv_vec::<u8>(left, 1)?;
            let leaving = world.isend(vec![step; 1000], right, 0)?;
            let second = world.isend(vec![step; usize::from(step)], right, 1)?;
            assert_eq!(arriving.await?.0, [step; 1000]);
            assert_eq!(vector.await?.0, vec![step; usize::from(step)]);
            leaving.await?;
            second.await?;
        }
        Ok(())
    })
}

/// It had none.
#[ranks_test::ranks(2)]
fn a_future_ends_at_the_time_limit(world: Communicator) -> Result<()> {
    let comm = world.dup()?;
    if comm.rank() == 0 {
        comm.set_time_limit(Some(Duration::from_millis(60)))?;
        let late = block_on(comm.irecv(vec![0_u8], 1, 0)?.into_future());
        let late = late.map(drop).expect_err("nobody has sent anything");
        assert_eq!(late.kind(), ErrorKind::TimedOut, "{late}");
        assert!(
            late.to_string().starts_with("MPI_Wait (of MPI_Irecv)"),
            "{late}"
        );
        comm.set_time_limit(None)?;
        world.send(&[0_u8], 1, 1)?;
        // It has taken no message.
        assert_eq!(
            block_on(comm.irecv(vec![0_u8], 1, 0)?.into_future())?.0,
            [3]
        );
    } else {
        world.recv(&mut [0_u8], 0, 1)?;
        comm.send(&[3_u8], 0, 0)?;
    }
    Ok(())
}

/// A waker that panicked ended the thread that wakes all of them.
#[ranks_test::ranks(1, 2)]
fn after_a_waker_that_panicked_no_future_was_woken(world: Communicator) -> Result<()> {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("on purpose");
        }
    }
    let (left, right) = neighbours(&world);
    let waker = Waker::from(Arc::new(Panics));
    let mut context = Context::from_waker(&waker);
    let mut first = pin!(world.irecv(vec![0_u8], left, 0)?.into_future());
    assert!(first.as_mut().poll(&mut context).is_pending());
    // The thread wakes within a millisecond, and so before the next message has come.
    let second = world.irecv(vec![0_u8], left, 1)?;
    thread::sleep(Duration::from_millis(50));
    let (one, other) = (
        world.isend(vec![1_u8], right, 0)?,
        world.isend(vec![2_u8], right, 1)?,
    );
    block_on(async {
        assert_eq!(second.await?.0, [2]);
        assert_eq!(first.await?.0, [1]);
        one.await?;
        other.await?;
        Ok(())
    })
}

#[ranks_test::ranks(1, 2)]
fn a_future_that_was_polled_goes_on_or_is_given_up(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mut arriving = world.irecv(vec![0u8; 4], left, 0)?.into_future();
    let mut context = Context::from_waker(Waker::noop());
    assert!(pin!(&mut arriving).poll(&mut context).is_pending());
    let_the_left_go_on(&world)?;
    let leaving = world.isend(vec![1u8; 4], right, 0)?;
    let request = arriving.into_request().expect("it is under way");
    assert_eq!(block_on(request.into_future())?.0, [1; 4]);
    block_on(leaving.into_future())?;
    drop(world.irecv(vec![0u8; 4], left, 99)?.into_future());
    Ok(())
}
