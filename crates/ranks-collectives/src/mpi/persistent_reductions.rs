//! Reductions that the library keeps.
//!
//! Where a library has no large-count functions, longer blocks than an `int` counts are an error, as for those that return
//! at once.

use std::ffi::{c_int, c_void};

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Begun, MpiComm as Comm};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Comm, MPI_Count, MPI_Datatype, MPI_Info, MPI_Op, MPI_Request};

use super::begun::{Arrays, begin_large};
use super::large_reductions::items;
use super::large_varying::is_in_library;
use super::nonblocking_reductions::{Counted, Operation};
use super::pointer::{standard_recv_pointer, standard_send_pointer};
use crate::blocks::Blocks;
use crate::lasting::Lasting;
use crate::ops::Reduction;
use crate::transfer::Transfer;

pub(crate) fn reduce_init<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Option<Begun>> {
    const NAME: &str = "MPI_Reduce_init";
    if !is_in_library(NAME) {
        return Ok(None);
    }
    let transfer = transfer.into_inner();
    let block = transfer.block();
    let root = transfer.root();
    let (send, recv) = transfer.into_slices();
    let Operation { op, datatype, keep } =
        Operation::for_length::<T, O>("MPI_Reduce_init_c", op, block)?;
    begin_large(NAME, keep, |request| {
        // SAFETY: `send` is one block, and at the root `recv` is one too, as `Transfer` has proven, and both last, as `Lasting` says.
        unsafe {
            sys::MPI_Reduce_init_c(
                standard_send_pointer(send),
                standard_recv_pointer(recv),
                items::<T>(block),
                datatype,
                op,
                root,
                comm.canonical,
                sys::MPI_INFO_NULL,
                request,
            )
        }
    })
    .map(Some)
}

/// A function that prepares to combine blocks and to give one to every rank.
type ToAll = unsafe fn(
    *const c_void,
    *mut c_void,
    MPI_Count,
    MPI_Datatype,
    MPI_Op,
    MPI_Comm,
    MPI_Info,
    *mut MPI_Request,
) -> c_int;

/// # Safety
/// `call` is a function of MPI that may have the slices of `transfer`, told how long a block of it is.
unsafe fn to_all<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    transfer: Lasting<Transfer<'_, T>>,
    [name, large]: [&'static str; 2],
    call: ToAll,
) -> Result<Option<Begun>> {
    if !is_in_library(name) {
        return Ok(None);
    }
    let transfer = transfer.into_inner();
    let block = transfer.block();
    let (send, recv) = transfer.into_slices();
    // What is sent is one block, or one for each rank.
    let longest = send.map_or(block, <[T]>::len);
    let Operation { op, datatype, keep } = Operation::for_length::<T, O>(large, op, longest)?;
    begin_large(name, keep, |request| {
        // SAFETY: the function may have the slices, by the contract of this one; they last, as `Lasting` says.
        unsafe {
            call(
                standard_send_pointer(send),
                standard_recv_pointer(recv),
                items::<T>(block),
                datatype,
                op,
                comm.canonical,
                sys::MPI_INFO_NULL,
                request,
            )
        }
    })
    .map(Some)
}

pub(crate) fn allreduce_init<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Option<Begun>> {
    let names = ["MPI_Allreduce_init", "MPI_Allreduce_init_c"];
    // SAFETY: `send` and `recv` are one block each, as `Transfer` has proven.
    unsafe { to_all(comm, op, transfer, names, sys::MPI_Allreduce_init_c) }
}

pub(crate) fn scan_init<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Option<Begun>> {
    let names = ["MPI_Scan_init", "MPI_Scan_init_c"];
    // SAFETY: `send` and `recv` are one block each, as `Transfer` has proven.
    unsafe { to_all(comm, op, transfer, names, sys::MPI_Scan_init_c) }
}

pub(crate) fn exscan_init<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Option<Begun>> {
    let names = ["MPI_Exscan_init", "MPI_Exscan_init_c"];
    // SAFETY: `send` and `recv` are one block each, as `Transfer` has proven.
    unsafe { to_all(comm, op, transfer, names, sys::MPI_Exscan_init_c) }
}

pub(crate) fn reduce_scatter_block_init<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Option<Begun>> {
    let names = [
        "MPI_Reduce_scatter_block_init",
        "MPI_Reduce_scatter_block_init_c",
    ];
    // SAFETY: `recv` is one block and `send` one for each rank, as `Transfer` has proven.
    unsafe {
        to_all(
            comm,
            op,
            transfer,
            names,
            sys::MPI_Reduce_scatter_block_init_c,
        )
    }
}

pub(crate) fn reduce_scatter_init<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    transfer: Lasting<Transfer<'_, T>>,
    blocks: &Blocks,
) -> Result<Option<Begun>> {
    const NAME: &str = "MPI_Reduce_scatter_init";
    const LARGE: &str = "MPI_Reduce_scatter_init_c";
    if !is_in_library(NAME) {
        return Ok(None);
    }
    let (send, recv) = transfer.into_inner().into_slices();
    // Elements of no size are no items.
    let Some(ints) = blocks.ints(usize::from(size_of::<T>() > 0)) else {
        let (op, datatype) = Operation::of_large::<T, O>(LARGE)?;
        let counts = blocks
            .counts()
            .iter()
            .map(|&count| items::<T>(count))
            .collect();
        let keep = Box::new(Arrays::only(counts));
        let counts = keep.counts.as_ptr();
        let made = begin_large(LARGE, Some(keep), |request| {
            // SAFETY: the blocks of `send` are as long as `counts` say, and `recv` is this rank's, as `Transfer` has proven; slices and array last, as `Lasting` says and `keep` does.
            unsafe {
                sys::MPI_Reduce_scatter_init_c(
                    standard_send_pointer(send),
                    standard_recv_pointer(recv),
                    counts,
                    datatype,
                    op,
                    comm.canonical,
                    sys::MPI_INFO_NULL,
                    request,
                )
            }
        });
        return made.map(Some);
    };
    let operation = Operation::of::<T, O>(op)?;
    let (op, datatype) = (operation.op, operation.datatype);
    let keep = Box::new(Counted {
        counts: ints[..blocks.len()].to_vec(),
        operation: operation.keep,
    });
    let counts = keep.counts.as_ptr();
    begin_large(NAME, Some(keep), |request| {
        // SAFETY: as above.
        unsafe {
            sys::MPI_Reduce_scatter_init(
                standard_send_pointer(send),
                standard_recv_pointer(recv),
                counts,
                datatype,
                op,
                comm.canonical,
                sys::MPI_INFO_NULL,
                request,
            )
        }
    })
    .map(Some)
}
