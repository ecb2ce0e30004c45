//! Memory of an operation is given back at its completion, or leaked; and never freed before,
//! whatever panics on the way.
//!
//! Each rank exchanges messages with itself, so that a rank which has left an operation half done
//! keeps none waiting. A message shows whether an operation that unwound was started: a receive
//! takes a message that is sent to it, and a synchronous send can be received.

mod kept;
mod watched;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ranks_comm::{Communicator, Error, ErrorKind, Layout, Result, look_for_subscriber};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};
use watched::{Watch, Watched};

/// Long enough to be received in parts, except under an interpreter, which looks at each byte.
const LENGTH: usize = if cfg!(miri) { 30 } else { 3000 };

/// Panics at one of the calls that it gets when operations start, or of those that it gets when
/// they end.
struct PanicsAt {
    nth: usize,
    ending: bool,
}

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

impl PanicsAt {
    fn count(&self, ending: bool) {
        if ending == self.ending {
            CALLS.set(CALLS.get() + 1);
            if CALLS.get() == self.nth {
                std::panic::resume_unwind(Box::new("the subscriber panicked"));
            }
        }
    }
}

impl Subscriber for PanicsAt {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "ranks::comm"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        self.count(false);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.count(true);
    }

    fn enter(&self, _: &Id) {
        self.count(false);
    }

    fn exit(&self, _: &Id) {
        self.count(true);
    }
}

/// Runs `form` with a subscriber that panics at its first call, at its second, and so on, until it
/// makes no more of them; each time with a tag of its own, and followed by `check`.
fn at_each_call(
    world: &Communicator,
    form: impl Fn(i32, &Watch) -> Result<()>,
    check: impl Fn(i32, &Watch) -> Result<()>,
) -> Result<()> {
    let mut tag = 0;
    for ending in [true, false] {
        for nth in 1.. {
            tag += 1;
            let watch = Watch::default();
            CALLS.set(0);
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                with_default(PanicsAt { nth, ending }, || {
                    assert!(look_for_subscriber());
                    form(tag, &watch)
                })
            }));
            match outcome {
                Ok(Err(error)) if error.kind() == ErrorKind::NotInLibrary => return Ok(()),
                Ok(outcome) => outcome?,
                // The started operation is checked below.
                Err(_) => {}
            }
            check(tag, &watch)?;
            if CALLS.get() < nth {
                break;
            }
        }
    }
    // Later operations see nothing that was left behind.
    world.barrier_by_messages()
}

/// Asserts that a message to a receive that was left is taken by it, and that the memory of the
/// receive was not freed before.
fn nothing_received_into_freed_memory(world: &Communicator, tag: i32, watch: &Watch) -> Result<()> {
    let (me, freed) = (world.rank(), watch.freed());
    let mut sending = world.issend(vec![7u8; LENGTH], me, tag)?;
    while !sending.test()? {
        if world.iprobe(me, tag)?.is_some() {
            world.recv(&mut vec![0u8; LENGTH], me, tag)?;
            return sending.wait().map(drop);
        }
    }
    assert!(
        !freed,
        "a receive took a message into memory that was freed (tag {tag})"
    );
    Ok(())
}

/// Asserts that a message that was left has arrived, and that its memory was not freed before.
fn nothing_sent_from_freed_memory(world: &Communicator, tag: i32, watch: &Watch) -> Result<()> {
    let (me, freed) = (world.rank(), watch.freed());
    if world.iprobe(me, tag)?.is_some() {
        assert!(!freed, "a message lay in memory that was freed (tag {tag})");
        world.recv(&mut vec![0u8; LENGTH], me, tag)?;
    }
    Ok(())
}

trait Together {
    fn barrier_by_messages(&self) -> Result<()>;
}

impl Together for Communicator {
    fn barrier_by_messages(&self) -> Result<()> {
        let (rank, size) = (self.rank(), self.size());
        for other in (0..size).filter(|&other| other != rank) {
            self.sendrecv(&[0u8], other, 0, &mut [0u8], other, 0)?;
        }
        Ok(())
    }
}

#[ranks_test::ranks(1, 2)]
fn a_subscriber_that_panics_frees_nothing_that_is_received_into(world: Communicator) -> Result<()> {
    let me = world.rank();
    let owned = |tag, watch: &Watch| {
        let receiving = world.irecv(Watched::new(LENGTH, watch), me, tag)?;
        world.isend(vec![1u8; LENGTH], me, tag)?.wait()?;
        receiving.wait().map(drop)
    };
    let check = |tag, watch: &Watch| nothing_received_into_freed_memory(&world, tag, watch);
    at_each_call(&world, owned, check)
}

#[ranks_test::ranks(1, 2)]
fn a_subscriber_that_panics_frees_nothing_that_is_sent_from(world: Communicator) -> Result<()> {
    let me = world.rank();
    let owned = |tag, watch: &Watch| {
        let sending = world.issend(Watched::new(LENGTH, watch), me, tag)?;
        world.recv(&mut vec![0u8; LENGTH], me, tag)?;
        sending.wait().map(drop)
    };
    let check = |tag, watch: &Watch| nothing_sent_from_freed_memory(&world, tag, watch);
    at_each_call(&world, owned, check)
}

#[ranks_test::ranks(1, 2)]
fn a_subscriber_that_panics_leaves_nothing_under_way_on_borrowed_memory(
    world: Communicator,
) -> Result<()> {
    let me = world.rank();
    let scoped = |tag, watch: &Watch| {
        let mut buffer = Watched::new(LENGTH, watch);
        world.scope(|s| {
            let receiving = s.irecv(buffer.elements(), me, tag)?;
            s.isend(&[1u8; LENGTH], me, tag)?;
            receiving.wait().map(drop)
        })
    };
    let check = |tag, watch: &Watch| nothing_received_into_freed_memory(&world, tag, watch);
    at_each_call(&world, scoped, check)
}

#[ranks_test::ranks(1, 2)]
fn a_subscriber_that_panics_frees_nothing_of_a_persistent_receive(
    world: Communicator,
) -> Result<()> {
    let me = world.rank();
    let persistent = |tag, watch: &Watch| {
        let receiving = world.recv_init(Watched::new(LENGTH, watch), me, tag)?;
        let receiving = receiving.start()?;
        world.isend(vec![1u8; LENGTH], me, tag)?.wait()?;
        receiving.wait()?.0.free().map(drop)
    };
    let check = |tag, watch: &Watch| nothing_received_into_freed_memory(&world, tag, watch);
    at_each_call(&world, persistent, check)
}

#[ranks_test::ranks(1, 2)]
fn a_subscriber_that_panics_frees_nothing_of_what_layouts_take(world: Communicator) -> Result<()> {
    let me = world.rank();
    let layout = Layout::vector(LENGTH, 1, 2);
    let laid_out = |tag, watch: &Watch| {
        let receiving = world.irecv_layout(Watched::new(2 * LENGTH, watch), &layout, me, tag)?;
        world
            .isend_layout(vec![1u8; 2 * LENGTH], &layout, me, tag)?
            .wait()?;
        receiving.wait().map(drop)
    };
    let check = |_, _: &Watch| Ok(());
    at_each_call(&world, laid_out, check)?;
    let borrowed = |tag, watch: &Watch| {
        let mut buffer = Watched::new(2 * LENGTH, watch);
        world.scope(|s| {
            let receiving = s.irecv_view(layout.of_mut(buffer.elements())?, me, tag)?;
            s.isend(&[1u8; LENGTH], me, tag)?;
            receiving.wait().map(drop)
        })
    };
    at_each_call(&world, borrowed, check)
}

#[ranks_test::ranks(1, 2)]
fn a_subscriber_that_panics_frees_nothing_of_partitioned_messages(
    world: Communicator,
) -> Result<()> {
    let me = world.rank();
    let partitioned = |tag, watch: &Watch| {
        let receiving = world.precv_init(Watched::new(LENGTH, watch), 3, me, tag)?;
        let sending = world.psend_init(vec![1u8; LENGTH], 3, me, tag)?;
        let (receiving, sending) = (receiving.start()?, sending.start()?);
        sending.pready_range(0..3)?;
        sending.wait()?;
        receiving.wait().map(drop)
    };
    at_each_call(&world, partitioned, |_, _| Ok(()))
}

#[ranks_test::ranks(1, 2)]
fn a_subscriber_that_panics_frees_no_copy_of_a_call_under_a_time_limit(
    world: Communicator,
) -> Result<()> {
    let me = world.rank();
    let limited = |tag, _: &Watch| {
        let limit = std::time::Duration::from_secs(60);
        let (send, mut recv) = ([1u8; LENGTH], [0u8; LENGTH]);
        world.within(limit, |world| {
            world.sendrecv(&send, me, tag, &mut recv, me, tag)?;
            Ok::<_, Error>(())
        })
    };
    at_each_call(&world, limited, |_, _| Ok(()))
}

#[ranks_test::ranks(1, 2)]
fn a_buffer_that_panics_while_a_message_is_sent_frees_nothing_that_is_received_into(
    world: Communicator,
) -> Result<()> {
    let (me, watch) = (world.rank(), Watch::default());
    let sending = Watched::panicking(LENGTH);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let receiving = Watched::new(LENGTH, &watch);
        world.isendrecv(sending, me, 1, receiving, me, 2).map(drop)
    }));
    assert!(outcome.is_err());
    nothing_received_into_freed_memory(&world, 2, &watch)?;
    world.barrier_by_messages()
}
