//! A subscriber of `tracing` that panics changes no collective, and frees nothing that one works
//! on.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use ranks_collectives::ops::{Avg, Max, Sum, UserOp};
use ranks_collectives::{
    Blocks, Collectives, NonblockingCollectives, PersistentCollectives, ScopedCollectives,
};
use ranks_comm::{Communicator, Error, Result, look_for_subscriber};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};

const LENGTH: usize = 1000;

/// Panics at one of the calls that it gets on this thread.
struct PanicsAt(usize);

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

impl PanicsAt {
    fn count(&self) {
        CALLS.set(CALLS.get() + 1);
        if CALLS.get() == self.0 {
            std::panic::resume_unwind(Box::new("the subscriber panicked"));
        }
    }
}

impl Subscriber for PanicsAt {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "ranks::comm"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        self.count();
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.count();
    }

    fn enter(&self, _: &Id) {
        self.count();
    }

    fn exit(&self, _: &Id) {
        self.count();
    }
}

/// Runs `form` with a subscriber that panics at its first call, at its second, and so on, until no
/// rank makes more of them.
fn at_each_call(world: &Communicator, form: impl Fn() -> Result<()>) -> Result<()> {
    for nth in 1.. {
        CALLS.set(0);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            with_default(PanicsAt(nth), || {
                assert!(look_for_subscriber());
                form()
            })
        }));
        match outcome {
            Ok(outcome) => outcome?,
            Err(_) => panic!("a collective unwound at call {nth} of the subscriber"),
        }
        let mut most = [0];
        world.allreduce(&[CALLS.get()], &mut most, Max)?;
        if most[0] < nth {
            return Ok(());
        }
    }
    Ok(())
}

/// A sum of ones, and so the number of ranks.
fn is_sum(world: &Communicator, sum: &[usize]) {
    assert_eq!(sum, vec![world.size(); LENGTH]);
}

#[ranks_test::ranks(1, 2)]
fn blocking_collectives_and_those_under_a_time_limit(world: Communicator) -> Result<()> {
    at_each_call(&world, || {
        let mut sum = vec![0; LENGTH];
        world.allreduce(&[1; LENGTH], &mut sum, Sum)?;
        is_sum(&world, &sum);
        world.within(Duration::from_secs(60), |world| {
            let mut sum = vec![0; LENGTH];
            world.allreduce(&[1; LENGTH], &mut sum, Sum)?;
            is_sum(world, &sum);
            Ok::<_, Error>(())
        })
    })
}

#[ranks_test::ranks(1, 2)]
fn collectives_that_own_their_buffers(world: Communicator) -> Result<()> {
    let size = world.size();
    at_each_call(&world, || {
        let sum = world.iallreduce(vec![1; LENGTH], vec![0; LENGTH], Sum)?;
        let mean = world.iallreduce(vec![1.0; LENGTH], vec![0.0; LENGTH], Avg)?;
        let own = UserOp::new(|a: usize, b: usize| a + b);
        let own = world.iallreduce(vec![1; LENGTH], vec![0; LENGTH], own)?;
        let blocks = Blocks::from_counts(&vec![LENGTH; size])?;
        let (send, recv) = (vec![1; size * LENGTH], vec![0; size * LENGTH]);
        let exchanged = world.ialltoallv(send, &blocks, recv, &blocks)?;
        let word = world.ibcast(vec![world.rank(); LENGTH], 0)?;
        is_sum(&world, &sum.wait()?.0.1);
        assert_eq!(mean.wait()?.0.1, [1.0; LENGTH]);
        is_sum(&world, &own.wait()?.0.1);
        assert_eq!(exchanged.wait()?.0.1, vec![1; size * LENGTH]);
        assert_eq!(word.wait()?.0, [0; LENGTH]);
        Ok(())
    })
}

#[ranks_test::ranks(1, 2)]
fn collectives_on_borrowed_slices(world: Communicator) -> Result<()> {
    at_each_call(&world, || {
        let (ones, mut sum, mut word) = (vec![1; LENGTH], vec![0; LENGTH], [7; LENGTH]);
        world.scope(|s| {
            let sum = s.iallreduce(&ones, &mut sum, Sum)?;
            s.ibcast(&mut word, 0)?;
            is_sum(&world, sum.wait()?.0);
            Ok::<_, Error>(())
        })?;
        is_sum(&world, &sum);
        Ok(())
    })
}

#[ranks_test::ranks(1, 2)]
fn collectives_that_are_prepared_once(world: Communicator) -> Result<()> {
    at_each_call(&world, || {
        let mut sum = world.allreduce_init(vec![1; LENGTH], vec![0; LENGTH], Sum)?;
        for _ in 0..2 {
            (sum, _) = sum.start()?.wait()?;
            is_sum(&world, sum.recv());
        }
        sum.free().map(drop)
    })
}
