//! What the exported functions do, whichever release they are of.
//!
//! # How it is made
//!
//! A PE is a process. PEs have two things in common, neither of which has a name, so that nothing
//! is left behind:
//!
//! * the [`region`], control words in a memfd of whoever made the unique id: some for all, a slot
//!   per PE, and in each slot *lines*, one per team;
//! * each other's [`heap`]s, which are memory of the driver's (`cuMemAlloc`) that all map
//!   (`cuMemGetHandleForAddressRange`). An address is turned into an offset by this PE's base, and
//!   only that; `heap.at(pe, offset)` is where the host finds those bytes of any PE.
//!
//! Every exported function begins with a check of [`pe`]: `live(NAME)` gives this PE, or ends the
//! process as the library does before its initialization; `unlimited(NAME)` does so in limited mode
//! too.
//!
//! * PEs meet on a line: `pe.meet(pes, line, Call)` returns when all of `pes` have come, and ends
//!   the process in strict mode if they have come with different calls ([`meeting`]). Line 0 is
//!   that of all PEs; a team has the line that its PEs agree on when it is made. It may be called
//!   in a host function.
//! * What is to happen when a stream comes to it: `stream::enqueue(pe, stream, move |pe| …)`, in
//!   which no function of the driver may be called ([`stream`]).
//! * What is put is on its way for a while ([`outbox`]): `pe.outbox.quiet(pe)` delivers it all;
//!   `order::quiet` and `order::quiet_on_stream` do so for hosts and streams.
//!
//! A collective operation is thus: check, translate addresses to offsets *now*, then now or on the
//! stream: `meet`, read from the heaps of others, `meet`. `abort(text)` ends the process for what a
//! program does wrong; `exit(text)` where the library itself calls `exit(-1)` ([`fatal`]).

pub(crate) mod abi;
pub(crate) mod collectives;
pub(crate) mod cuda;
#[path = "../../../nccl-double/src/double/driver.rs"]
pub(crate) mod driver;
pub(crate) mod elements;
pub(crate) mod fatal;
pub(crate) mod founding;
pub(crate) mod gathering;
pub(crate) mod heap;
pub(crate) mod hooks;
pub(crate) mod life;
pub(crate) mod local;
pub(crate) mod meeting;
pub(crate) mod memory;
pub(crate) mod modules;
#[path = "../../../nccl-double/src/double/number.rs"]
pub(crate) mod number;
pub(crate) mod order;
pub(crate) mod outbox;
pub(crate) mod parts;
pub(crate) mod pe;
pub(crate) mod region;
pub(crate) mod rendezvous;
pub(crate) mod rma;
pub(crate) mod signals;
pub(crate) mod stream;
pub(crate) mod teams;
pub(crate) mod transfer;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; what a panic has left behind is looked at all the same.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
