//! Communicators that nobody holds any more, and that the library is not yet done with.
//!
//! A communicator is finalized before it is freed, which needs the other ranks, and nothing may
//! wait for them in `drop`. So what is not over after a moment is put aside here, and looked at
//! again whenever a communicator is made or ends in this process.
#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::CString;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ranks_cuda::Context;
use ranks_nccl_sys::{Nccl, ncclComm_t, ncclInProgress, ncclResult_t, ncclSuccess};
use ranks_raw::backend::Deadline;

use crate::state::open_group;
use crate::state::{Handle, abort_handle};

/// The time that `drop` may take: it looks for so long whether a communicator can be freed at once.
pub(crate) const MOMENT: Duration = Duration::from_millis(5);

/// The time that a communicator may take to be finalized before it is given up.
const LONGEST: Duration = Duration::from_secs(120);

static LEFT: Mutex<Vec<Leaving>> = Mutex::new(Vec::new());

/// Memory of whichever kind.
type Memory = Vec<Box<dyn Any + Send>>;

/// A communicator on its way out.
struct Leaving {
    nccl: &'static Nccl,
    context: Context,
    comm: Handle,
    finalizing: bool,
    since: Instant,
    /// Memory that its configuration points at.
    _names: Arc<[CString]>,
    /// Memory that the library knows of until the communicator is freed.
    _memory: Memory,
}

/// Lets go of a communicator that nothing is under way on: frees it now or later. Does not wait for
/// other ranks.
pub(crate) fn leave(
    nccl: &'static Nccl,
    context: Context,
    names: Arc<[CString]>,
    memory: Memory,
    comm: Handle,
) {
    let mut leaving = Leaving {
        nccl,
        context,
        comm,
        finalizing: false,
        since: Instant::now(),
        _names: names,
        _memory: memory,
    };
    // In a group nothing can be ended: the library would make that part of it.
    if open_group::is_open() {
        return put_aside(leaving);
    }
    let mut moment = Deadline::after(Some(MOMENT));
    loop {
        if leaving.step() {
            break;
        }
        if moment.pause().is_some() {
            put_aside(leaving);
            break;
        }
    }
    tidy();
}

fn put_aside(leaving: Leaving) {
    LEFT.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(leaving);
}

/// Looks at all that were put aside, once.
pub(crate) fn tidy() {
    if open_group::is_open() {
        return;
    }
    let left = std::mem::take(&mut *LEFT.lock().unwrap_or_else(PoisonError::into_inner));
    for mut leaving in left {
        if !leaving.step() {
            put_aside(leaving);
        }
    }
}

impl Leaving {
    /// Goes on with the end of the communicator; whether it is over. It never waits.
    fn step(&mut self) -> bool {
        let _current = self.context.enter();
        let standing = standing_of(self.nccl, self.comm.0.as_ptr());
        if standing == ncclInProgress && self.since.elapsed() < LONGEST {
            return false;
        }
        if standing == ncclSuccess {
            if self.finalizing {
                destroy_handle(self.nccl, self.comm);
                return true;
            }
            self.finalizing = true;
            let finalized = finalize_handle(self.nccl, self.comm);
            if finalized == ncclSuccess || finalized == ncclInProgress {
                return false;
            }
        }
        abort_handle(self.nccl, &self.context, self.comm);
        true
    }
}

/// The state of a communicator that is held by its handle alone, by the library.
pub(crate) fn standing_of(nccl: &Nccl, comm: ncclComm_t) -> ncclResult_t {
    let mut standing = ncclSuccess;
    let Some(function) = nccl.table().ncclCommGetAsyncError else {
        return standing;
    };
    // SAFETY: the handle was taken out of its state, or is in none yet, and is freed only by who
    // holds it; the place is there to be written to.
    let code = unsafe { function(comm, ptr::from_mut(&mut standing)) };
    if code == ncclSuccess { standing } else { code }
}

/// Begins to end a communicator.
pub(crate) fn finalize_handle(nccl: &Nccl, comm: Handle) -> ncclResult_t {
    let Some(function) = nccl.table().ncclCommFinalize else {
        return ncclSuccess;
    };
    // SAFETY: as in `standing_of`.
    unsafe { function(comm.0.as_ptr()) }
}

/// Frees a communicator that was finalized.
pub(crate) fn destroy_handle(nccl: &Nccl, comm: Handle) -> ncclResult_t {
    let Some(function) = nccl.table().ncclCommDestroy else {
        return ncclSuccess;
    };
    // SAFETY: as in `standing_of`, and this is the last use of the handle.
    unsafe { function(comm.0.as_ptr()) }
}
