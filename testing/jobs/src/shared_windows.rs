//! Shared windows that outlive the runtime, or the luck of a rank.

use ranks::phase::Read;
use ranks::{Backend, Communicator, ErrorKind, Runtime, SharedWindow};

use crate::finalized::has_ended;
use crate::outcome::{Outcome, refused};

/// All that a program has, in one place.
struct All {
    runtime: Option<Runtime>,
    node: Option<Communicator>,
    read: Option<SharedWindow<u64, Read>>,
    written: Option<SharedWindow<u64>>,
}

/// Each rank drops its windows, its communicator and the runtime in another order; MPI ends with
/// the last of them.
pub(crate) fn dropped_in_any_order() -> Outcome {
    let runtime = Runtime::builder().backend(Backend::Mpi).init()?;
    let node = runtime.world().split_shared(0)?;
    let (rank, size) = (node.rank(), node.size());
    let mut read = SharedWindow::<u64>::allocate(&node, 4)?;
    read.mine_mut().fill(1 + rank as u64);
    let mut all = All {
        runtime: Some(runtime),
        written: Some(SharedWindow::allocate(&node, 1)?),
        read: Some(read.fence()?),
        node: Some(node),
    };
    for n in 0..4 {
        let sum = |window: &SharedWindow<u64, Read>| window.segments().flatten().sum::<u64>();
        // What others have dropped is still there for who has not.
        if all
            .read
            .as_ref()
            .is_some_and(|window| sum(window) != 2 * (size * (size + 1)) as u64)
        {
            return Err(format!("what was written is gone after {n} drops").into());
        }
        if has_ended() {
            return Err(format!("MPI has ended after {n} drops").into());
        }
        match (n + rank) % 4 {
            0 => all.runtime = None,
            1 => all.written = None,
            2 => all.node = None,
            _ => all.read = None,
        }
    }
    if !has_ended() {
        return Err("everything is gone, and MPI has not ended".into());
    }
    Ok(())
}

/// The runtime was asked to end, and the windows live on: they can be read, and nothing else.
pub(crate) fn after_the_end() -> Outcome {
    let runtime = Runtime::builder().backend(Backend::Mpi).init()?;
    let node = runtime.world().split_shared(0)?;
    let [read, other] = [0, 1].map(|_| SharedWindow::<u64>::allocate(&node, 2));
    let read = read?.fence()?;
    let other = other?;
    drop(node);
    runtime.finalize()?;
    if has_ended() {
        return Err("MPI ended under living windows".into());
    }
    if read.segments().flatten().any(|&word| word != 0) {
        return Err("a window does not hold what it should".into());
    }
    refused("fence", read.fence(), ErrorKind::Finalized)?;
    refused("free", other.free(), ErrorKind::Finalized)?;
    if !has_ended() {
        return Err("the last window has gone, and MPI has not ended".into());
    }
    Ok(())
}

/// Rank 1 panics in a phase in which the others wait for it.
pub(crate) fn panic_in_a_phase() -> Outcome {
    ranks::run(|world| {
        let window = SharedWindow::<u64>::allocate(&world.split_shared(0)?, 1)?;
        assert_ne!(world.rank(), 1, "out of luck");
        window.fence()?.fence()?.free()?;
        Ok(())
    })
}
