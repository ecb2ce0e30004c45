//! Communicators that become unusable: parts that were split off for it.

use std::thread;
use std::time::{Duration, Instant};

use ranks_comm::ErrorKind;

use super::memory::Memory;
use super::messages;
use super::mistakes;
use super::{ensure, fails, text};
use ranks_raw::{Dtype, RawCollectives, RawOp};

/// Longer than anything takes that ends at all.
pub(super) const LONG: Duration = Duration::from_secs(30);

const UNUSABLE: &[ErrorKind] = &[ErrorKind::Aborted];

/// Everything is refused afterwards, with a reason, and the whole goes on.
pub(super) fn abort(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let part = all_of(comm)?;
    part.barrier().map_err(text)?;
    ensure(part.failure().is_none(), || {
        "it has failed before".to_owned()
    })?;
    // Others may learn of it.
    comm.barrier().map_err(text)?;
    part.abort().map_err(text)?;
    refused(&*part, memory)?;
    part.abort().map_err(text)?;
    drop(part);
    mistakes::barrier(comm, memory)
}

/// Rank 0 waits for a message that nobody sends, and is woken.
pub(super) fn abort_wakes(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let part = connected(comm, memory)?;
    if comm.rank() == 0 && comm.size() > 1 {
        let block = memory.allocate(64)?;
        // SAFETY: the block is that long; it is kept until all is over, or leaked.
        if let Err(error) = unsafe { part.recv(block.address(), 8, Dtype::F64, 1, 0) } {
            std::mem::forget(block);
            return Err(text(error));
        }
        let part = &*part;
        let (waited, aborted) = thread::scope(|scope| {
            let aborting = scope.spawn(|| {
                thread::sleep(Duration::from_millis(5));
                part.abort()
            });
            let waited = part.wait(LONG);
            (waited, aborting.join())
        });
        fails("a wait that was aborted", waited, UNUSABLE)?;
        let aborted = aborted.map_err(|_| "the thread that aborts has panicked")?;
        aborted.map_err(text)?;
        refused(part, memory)?;
    } else {
        part.abort().map_err(text)?;
    }
    drop(part);
    mistakes::barrier(comm, memory)
}

/// Rank 0 waits for a message that nobody sends until its time limit has passed.
pub(super) fn time_limit(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let part = connected(comm, memory)?;
    if comm.rank() == 0 && comm.size() > 1 {
        let block = memory.allocate(64)?;
        // SAFETY: the block is that long; it is kept until all is over, or leaked.
        if let Err(error) = unsafe { part.recv(block.address(), 8, Dtype::F64, 1, 0) } {
            std::mem::forget(block);
            return Err(text(error));
        }
        let begun = Instant::now();
        let waited = part.wait(Duration::from_millis(20));
        fails(
            "a wait for a peer that does not come",
            waited,
            &[ErrorKind::TimedOut],
        )?;
        let took = begun.elapsed();
        ensure(took < LONG / 3, || {
            format!("a limit of 20 ms took {took:?}")
        })?;
        refused(&*part, memory)?;
    }
    drop(part);
    mistakes::barrier(comm, memory)
}

/// All ranks, in a communicator of their own.
fn all_of(comm: &dyn RawCollectives) -> Result<Box<dyn RawCollectives>, String> {
    let part = comm.split(Some(0), 0).map_err(text)?;
    part.ok_or_else(|| "split gives None to a rank with a color".to_owned())
}

/// The same after messages between all of them: the first one to a rank may wait, where it begins,
/// until that rank connects.
fn connected(
    comm: &dyn RawCollectives,
    memory: &dyn Memory,
) -> Result<Box<dyn RawCollectives>, String> {
    let part = all_of(comm)?;
    messages::exchange(&*part, memory)?;
    // Others may still connect.
    comm.barrier().map_err(text)?;
    Ok(part)
}

/// Nothing can be done with it, and it says why.
fn refused(part: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let reason = part.failure();
    ensure(
        reason.as_ref().is_some_and(|reason| !reason.is_empty()),
        || "an unusable communicator does not say why".to_owned(),
    )?;
    let block = memory.allocate(64)?;
    let at = block.address();
    // SAFETY: the block is that long, and an operation that is refused is not begun.
    let outcome = unsafe { part.allreduce(at, at, 4, Dtype::F32, RawOp::Sum) };
    fails("allreduce on an unusable communicator", outcome, UNUSABLE)?;
    // SAFETY: as above.
    let outcome = unsafe { part.send(at, 4, Dtype::F32, 0, 0) };
    fails("send on an unusable communicator", outcome, UNUSABLE)?;
    fails("sync of an unusable communicator", part.sync(), UNUSABLE)?;
    fails(
        "barrier of an unusable communicator",
        part.barrier(),
        UNUSABLE,
    )?;
    fails(
        "progress of an unusable communicator",
        part.progress(),
        UNUSABLE,
    )?;
    fails(
        "split of an unusable communicator",
        part.split(Some(0), 0),
        UNUSABLE,
    )
}
