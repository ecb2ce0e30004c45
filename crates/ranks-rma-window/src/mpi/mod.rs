//! The calls into libmpi. The rest of the crate has no unsafe code that calls C.
//!
//! Facts that make them sound, so that the comments in these files can be short:
//!
//! * The library lives as long as a communicator, and a window holds one
//!   ([`Inner`](crate::window::inner::Inner)).
//! * A [`TargetRange`](crate::epoch::table::TargetRange) was compared with the lengths of all
//!   ranks, which they exchanged when the window was made.
//! * Memory that the library reads or writes later is borrowed until a call has completed the
//!   operation; if that call fails, the job is aborted ([`operations`](crate::window::operations)),
//!   so nobody gets the memory back.
//! * Memory of the window is ours to look at only while the state of the window says that nobody
//!   accesses it; while others do, only through [`own`].
#![allow(unsafe_code)]

mod dynamic;
mod epochs;
mod exposure;
mod faults;
pub(crate) mod handle;
mod layouts;
mod narrow_sums;
mod network_atomics;
mod own;
mod own_comm;
mod requests;
mod transfer;
mod window;

pub(crate) use dynamic::keeps_its_lock_after_a_failure;
pub(crate) use own_comm::OwnComm;
pub(crate) use window::Window;

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicU64;

/// Nothing is asserted: `MPI_MODE_NOCHECK` makes the shared-memory windows of Open MPI 4.1 go
/// wrong.
const NO_ASSERTION: c_int = 0;

static NOTHING: AtomicU64 = AtomicU64::new(0);

/// The address of memory that has no bytes: not the one of an empty slice, which may be that of a
/// constant of MPI's.
fn nothing() -> *mut c_void {
    NOTHING.as_ptr().cast()
}
