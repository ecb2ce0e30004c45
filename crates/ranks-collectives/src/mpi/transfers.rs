//! Blocks of one length, moved: blocking, nonblocking and persistent.
//!
//! Blocks of 2³¹ items and more go by the large-count functions of MPI 4; where a library is older,
//! `ranks-mpi-sys` moves the data with derived types instead. What is persistent is always made by
//! the large-count functions, which `ranks-mpi-sys` has for every library that has persistent
//! collectives at all: it is to start them that must be quick.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, StartedOp, TypeOf, check_collective};
use ranks_comm::record::Over;

use super::begun::{begin, begin_large};
use super::functions::{Abi, Large, Moved, Moves, Native, is_in_library};
use crate::arguments::transfer::Transfer;
use crate::in_flight::stable::Stable;

/// The arguments of the function that the transfer was proven for.
#[inline(always)]
fn arguments<A: Abi, T: Pod>(transfer: Transfer<'_, T>) -> Moved<A> {
    let (count, root) = (A::count::<T>(transfer.block()), transfer.root());
    let (send, recv) = transfer.into_slices();
    Moved {
        send_count: count,
        recv_count: count,
        root,
        ..Moved::between(send, recv)
    }
}

pub(crate) fn blocking<F: Moves, T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    if TypeOf::<T>::small_count(transfer.block()).is_some() {
        return small::<F, T>(comm, transfer);
    }
    // SAFETY: the slices are of as many blocks as the function wants, as `Transfer` has proven.
    let code = unsafe { F::blocking_c(arguments::<Large, T>(transfer), comm.canonical) };
    check_collective(code, F::BLOCKING_C)
}

/// A block that an `int` can count.
#[inline(always)]
pub(crate) fn small<F: Moves, T: Pod>(
    comm: impl Over<Target = Comm>,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    // SAFETY: the slices are of as many blocks as the function wants, as `Transfer` has proven.
    let code = unsafe { F::blocking(arguments::<Native, T>(transfer), comm.native) };
    comm.over();
    check_collective(code, F::BLOCKING)
}

#[inline(always)]
pub(crate) fn nonblocking<F: Moves, T: Pod>(
    comm: &Comm,
    transfer: Stable<Transfer<'_, T>>,
) -> Result<StartedOp> {
    let transfer = transfer.into_inner();
    if TypeOf::<T>::small_count(transfer.block()).is_none() {
        let with = arguments::<Large, T>(transfer);
        return begin_large(F::NONBLOCKING_C, None, |request| {
            // SAFETY: the slices are of as many blocks as the function wants, as `Transfer` has
            // proven, and last, as `Stable` says.
            unsafe { F::nonblocking_c(with, comm.canonical, request) }
        });
    }
    let with = arguments::<Native, T>(transfer);
    begin(F::NONBLOCKING, None, |request| {
        // SAFETY: the slices are of as many blocks as the function wants, as `Transfer` has proven,
        // and last, as `Stable` says.
        unsafe { F::nonblocking(with, comm.native, request) }
    })
}

/// Nothing where the library has no such function: the operation is begun anew at each start then.
/// It is so on all ranks or on none, since all have blocks of the same length.
pub(crate) fn init<F: Moves, T: Pod>(
    comm: &Comm,
    transfer: Stable<Transfer<'_, T>>,
) -> Result<Option<StartedOp>> {
    let transfer = transfer.into_inner();
    let is_small = TypeOf::<T>::small_count(transfer.block()).is_some();
    if !is_in_library(F::INIT) || !(is_small || is_in_library(F::INIT_C)) {
        return Ok(None);
    }
    let with = arguments::<Large, T>(transfer);
    begin_large(F::INIT, None, |request| {
        // SAFETY: the slices are of as many blocks as the function wants, as `Transfer` has proven,
        // and last, as `Stable` says.
        unsafe { F::init_c(with, comm.canonical, request) }
    })
    .map(Some)
}
