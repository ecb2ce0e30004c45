//! All to all, with blocks of lengths of their own.
//!
//! Ranks know of their own blocks alone, so that no two of them can agree on another way where a
//! library has no large-count function.

use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, Plain, StartedOp};
use ranks_comm::record::Over;

use super::functions::Alltoallv;
use super::varying::{self, Ints, Varying};
use crate::arguments::varying::Exchange;
use crate::in_flight::stable::Stable;

/// As the function has it.
fn varying<'a, T>(exchange: Exchange<'a, T>) -> Varying<'a, T> {
    Varying {
        send: exchange.send.into(),
        recv: exchange.recv.into(),
        root: 0,
    }
}

pub(crate) fn blocking<T: Pod>(comm: &Comm, exchange: Exchange<'_, T>) -> Result<()> {
    varying::blocking::<Alltoallv, T>(comm, varying(exchange))
}

/// Blocks that `int`s can count and place: `ints`, made by the exchange's own blocks for this type.
#[inline(always)]
pub(crate) fn small<T: Pod>(
    comm: impl Over<Target = Comm>,
    ints: (&[c_int], &[c_int]),
    exchange: Exchange<'_, T>,
) -> Result<()> {
    let send = (exchange.send.slice, Ints::Blocks(ints.0));
    let recv = (exchange.recv.slice, Ints::Blocks(ints.1));
    varying::small::<Alltoallv, T>(comm, send, recv, 0)
}

/// In place what is sent is a copy. In Open MPI 4.1 `MPI_Ialltoallv` in place does nothing on a
/// rank whose blocks are all empty, and there alone does not count either: whatever is nonblocking
/// on this communicator waits for ever from then on (<https://github.com/open-mpi/ompi/pull/8059>).
pub(crate) fn nonblocking<T: Pod>(
    comm: &Comm,
    exchange: Stable<Exchange<'_, T>>,
) -> Result<StartedOp> {
    let inner = exchange.get();
    let in_place = inner.send.slice.is_none();
    let data = inner.recv.slice.as_deref().filter(|_| in_place);
    let copy = data.map(Plain::copy);
    varying::nonblocking::<Alltoallv, T>(comm, exchange.map(varying), copy)
}

/// Nothing in place, for the same reason: each start takes a copy.
pub(crate) fn init<T: Pod>(
    comm: &Comm,
    exchange: Stable<Exchange<'_, T>>,
) -> Result<Option<StartedOp>> {
    if exchange.get().send.slice.is_none() {
        return Ok(None);
    }
    varying::init::<Alltoallv, T>(comm, exchange.map(varying))
}
