//! Errors with shared windows in another binding (ferrompi 0.4), by the names that its audit gave.

use std::sync::atomic::Ordering;

use ranks_collectives::Collectives;
use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_rma_window::{SharedWindow, phase::Read};

/// S5: `while segment[0] == 0 {}` on a plain slice never ended, as nothing could change it. What
/// changes is an atomic here.
#[ranks_test::ranks(1, 2)]
fn s5_a_loop_that_waits_for_a_peer_ends(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let flags = SharedWindow::<u32>::allocate(&world, 1)?.concurrent()?;
    let left = (world.rank() + world.size() - 1) % world.size();
    flags.mine()[0].store(1, Ordering::Release);
    while flags.segment(left)[0].load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    flags.fence()?.free()
}

/// S6: a peer's element type was trusted.
#[ranks_test::ranks(2, 3)]
fn s6_elements_are_the_same_on_all_ranks(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    if world.size() < 2 {
        // Each rank has a host for itself.
        return Ok(());
    }
    let made = if world.rank() == 0 {
        SharedWindow::<f64>::allocate(&world, 8).map(drop)
    } else {
        SharedWindow::<u64>::allocate(&world, 8).map(drop)
    };
    let error = made.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(error.to_string().contains("64 of 8 bytes"), "{error}");
    world.barrier()
}

/// S7: an empty segment was an error of the followers alone, on MPICH; memory was not initialised.
#[ranks_test::ranks(1, 2, 4)]
fn s7_the_leader_alone_has_memory(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let len = if world.rank() == 0 { 10 } else { 0 };
    let mut window = SharedWindow::<u64>::allocate(&world, len)?;
    assert!(window.mine() == [0; 10] || window.mine().is_empty());
    window.mine_mut().fill(3);
    let window = window.fence()?;
    assert_eq!(window.segment(0), [3; 10]);
    window.free()?;
    // And everybody but the leader.
    let window = SharedWindow::<u64>::allocate(&world, 10 - len)?.fence()?;
    assert!(window.segments().skip(1).all(|segment| segment == [0; 10]));
    assert!(window.segment(0).is_empty());
    window.free()
}

/// S8: slices were usable after the runtime had ended. Here they borrow a window, which keeps what
/// it needs.
#[ranks_test::ranks(1, 2)]
fn s8_a_window_outlives_the_handles_of_its_communicator(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    struct All {
        window: SharedWindow<u64, Read>,
        node: Option<Communicator>,
        another: Option<SharedWindow<u64>>,
    }
    let node = world.dup()?;
    let mut all = All {
        window: SharedWindow::<u64>::allocate(&node, 2)?.fence()?,
        another: Some(SharedWindow::allocate(&node, 3)?),
        node: Some(node),
    };
    // Ranks drop things in different orders.
    if world.rank().is_multiple_of(2) {
        all.node = None;
        all.another = None;
    } else {
        all.another = None;
        all.node = None;
    }
    assert_eq!(all.window.segment(world.size() - 1), [0, 0]);
    let mut again = all.window.fence()?;
    again.mine_mut()[1] = 4;
    assert_eq!(again.fence()?.segment(0), [0, 4]);
    Ok(())
}
