//! Communicators of the part in C, each of which is lent once more, or freed when it has been given
//! back.

use std::collections::HashSet;
use std::ffi::c_int;
use std::thread;
use std::time::Duration;

use ranks::interop::Ownership;
use ranks::{Collectives, Communicator, Runtime, Source, Tag};

use super::{Handle, Side, done, same};
use crate::outcome::{Failure, Outcome};

/// The tag of the part in C.
const TAG: i32 = 5;

fn borrow<H: Handle>(handle: H, runtime: &Runtime) -> Result<Communicator, Failure> {
    // SAFETY: the callers below free it when no handle of it is left here.
    let lent = unsafe { runtime.communicator_from_native_raw(handle.to_c(), Ownership::Borrowed) };
    Ok(lent?)
}

/// Receives that were dropped with their communicator took messages of the next one, to which the
/// library gives the same handle or the same context.
pub(super) fn what_is_left_takes_nothing<H: Handle>(side: &Side<H>, runtime: &Runtime) -> Outcome {
    for _ in 0..3 {
        // SAFETY: MPI is initialised; all ranks do this.
        let handle = unsafe { (side.make)() };
        let lent = borrow(handle, runtime)?;
        drop(lent.irecv(vec![0.0], Source::Any, Tag::Any)?);
        drop(lent.irecv_vec::<f64>(Source::Any, TAG)?);
        lent.barrier()?;
        drop(lent);
        // SAFETY: no handle of it is left here; all ranks do this.
        done("side_free", unsafe { (side.free)(handle) })?;
        // SAFETY: as above.
        let next = unsafe { (side.make)() };
        let (left, right) = neighbours(side, next, runtime)?;
        // SAFETY: the communicator is alive, and has that rank.
        done("side_send", unsafe { (side.send)(next, right, 1.5) })?;
        // For the receives that were left.
        thread::sleep(Duration::from_millis(50));
        // SAFETY: as above.
        same("the message", &unsafe { (side.recv)(next, left) }, &1.5)?;
        // SAFETY: all ranks do this.
        done("side_free", unsafe { (side.free)(next) })?;
    }
    Ok(())
}

/// The receive that was begun first has the first message, whichever is waited for.
pub(super) fn handles_have_one_order<H: Handle>(side: &Side<H>, runtime: &Runtime) -> Outcome {
    // SAFETY: MPI is initialised; all ranks do this.
    let handle = unsafe { (side.make)() };
    let (left, right) = neighbours(side, handle, runtime)?;
    let source = usize::try_from(left)?;
    let lent = [borrow(handle, runtime)?, borrow(handle, runtime)?];
    let first = lent[0].irecv_vec::<f64>(source, TAG)?;
    let second = lent[1].irecv_vec::<f64>(source, TAG)?;
    for value in [1.0, 2.0] {
        // SAFETY: the communicator is alive, and has that rank.
        done("side_send", unsafe { (side.send)(handle, right, value) })?;
    }
    same("the second message", &second.wait()?.0, &vec![2.0])?;
    same("the first message", &first.wait()?.0, &vec![1.0])?;
    drop(lent);
    // SAFETY: no handle of it is left here; all ranks do this.
    done("side_free", unsafe { (side.free)(handle) })
}

/// Duplicates that were dropped stayed until the end of the runtime.
pub(super) fn duplicates_are_freed<H: Handle>(side: &Side<H>, runtime: &Runtime) -> Outcome {
    const MANY: usize = 40;
    let mut handles = HashSet::new();
    for _ in 0..MANY {
        // SAFETY: MPI is initialised; all ranks do this.
        let handle = unsafe { (side.make)() };
        let own = borrow(handle, runtime)?.dup()?;
        own.barrier()?;
        handles.insert(own.as_raw());
        drop(own);
        // SAFETY: no handle of it is left here; all ranks do this.
        done("side_free", unsafe { (side.free)(handle) })?;
    }
    // A library gives handles of what was freed again.
    if handles.len() > MANY / 2 {
        return Err(format!(
            "{} of {MANY} duplicates have different handles",
            handles.len()
        )
        .into());
    }
    Ok(())
}

/// The ranks to the left and to the right, in C.
fn neighbours<H: Handle>(
    side: &Side<H>,
    handle: H,
    runtime: &Runtime,
) -> Result<(c_int, c_int), Failure> {
    let size = c_int::try_from(runtime.world().size())?;
    // SAFETY: the communicator is alive.
    let rank = unsafe { (side.rank)(handle) };
    Ok(((rank + size - 1) % size, (rank + 1) % size))
}
