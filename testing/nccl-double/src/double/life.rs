//! How a communicator ends: finalized, destroyed, aborted or revoked; and how it is asked how it
//! is.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::abi::{self, CommHandle};
use super::comm::{self, Comm};
use super::failure::{Failure, Outcome};
use super::group::{self, Background};
use super::{launch, lock, memory, one_sided, operator, pinned, windows};

/// `ncclCommFinalize`: what was enqueued is waited for.
pub(crate) fn finalize(comm: &Arc<Comm>) -> Outcome {
    comm.ready()?;
    if comm.stopped.load(Ordering::Acquire) {
        return Err(Failure::usage("the communicator was revoked"));
    }
    if comm.finalized.swap(true, Ordering::AcqRel) {
        return Err(Failure::argument(
            "ncclCommFinalize was called before on this communicator",
        ));
    }
    wait_in_group(comm)
}

/// Waits, as a job of the group, until nothing is under way any more.
fn wait_in_group(comm: &Arc<Comm>) -> Outcome {
    let of_job = Arc::clone(comm);
    let work = move |background: &Background| {
        let comm = of_job;
        launch::drain(&comm, &comm.stop(background))
    };
    let blocking = comm.wishes.is_blocking();
    group::join(vec![Arc::clone(comm)], blocking, Box::new(work))
}

/// `ncclCommDestroy`: waits for what was enqueued, if nobody has yet.
pub(crate) fn destroy(handle: CommHandle) -> Outcome {
    if handle == 0 {
        return Ok(());
    }
    let comm = comm::of(handle)?;
    comm.ready()?;
    launch::drain(&comm, &[&comm.aborted])?;
    let comm = comm::take(handle)?;
    release(&comm);
    Ok(())
}

/// `ncclCommAbort`: what is under way stops, here; nobody else is told.
pub(crate) fn abort(handle: CommHandle) -> Outcome {
    if handle == 0 {
        return Ok(());
    }
    let comm = comm::take(handle)?;
    comm.aborted.store(true, Ordering::Release);
    let background = lock(&comm.background).clone();
    if let Some(background) = background {
        background.stop.store(true, Ordering::Release);
        background.wait();
    }
    release(&comm);
    Ok(())
}

/// What belongs to a communicator goes with it. Its memory goes with the last thing that is on a
/// stream.
fn release(comm: &Arc<Comm>) {
    one_sided::release(comm);
    operator::destroy_all(&mut lock(&comm.operators));
    let mut registrations = lock(&comm.registrations);
    memory::REGISTERED.fetch_sub(registrations.len(), Ordering::Relaxed);
    registrations.clear();
    let mut all = lock(&comm.windows);
    windows::LIVE.fetch_sub(all.len(), Ordering::Relaxed);
    all.clear();
    drop((registrations, all));
    pinned::free_behind(comm);
}

/// `ncclCommRevoke`: what is under way stops, here; the communicator can be destroyed, split and
/// shrunk.
pub(crate) fn revoke(comm: &Arc<Comm>, flags: i32) -> Outcome {
    if flags != 0 {
        return Err(Failure::argument(format!(
            "revokeFlags must be 0, not {flags}"
        )));
    }
    if comm.state() == abi::IN_PROGRESS {
        comm.ready()?;
    }
    comm.stopped.store(true, Ordering::Release);
    comm.fail(abi::SUCCESS);
    wait_in_group(comm)
}
