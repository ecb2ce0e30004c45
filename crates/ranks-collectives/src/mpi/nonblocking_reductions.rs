//! Reductions that return at once.

use std::ffi::{c_int, c_void};

use bytemuck::Pod;
use ranks_comm::backend::{Begun, Keep, MpiComm as Comm};
use ranks_comm::{Error, ErrorKind, Result};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Comm, MPI_Count, MPI_Datatype, MPI_Op, MPI_Request, native};

use super::begun::{Arrays, Cell, begin, begin_large};
use super::large_reductions::items;
use super::operation::{count, is_small};
use super::pointer::{recv_pointer, send_pointer, standard_recv_pointer, standard_send_pointer};
use super::user_op::Registered;
use crate::blocks::Blocks;
use crate::lasting::Lasting;
use crate::ops::Reduction;
use crate::transfer::Transfer;

/// What a reduction hands to the library. An item of the datatype is an element, and of its size.
pub(crate) struct Operation {
    pub(super) op: MPI_Op,
    pub(super) datatype: MPI_Datatype,
    /// What the library calls back until the reduction is over, if the operation is none of its own.
    pub(super) keep: Option<Box<dyn Keep>>,
}

/// Makes the operation of a reduction for blocks that an `int` can count, which keeps `op` if it must.
pub(crate) fn keeping<T: Pod, O: Reduction<T> + Send + 'static>(
    op: O,
) -> impl FnOnce() -> Result<Operation> {
    move || Operation::of::<T, O>(op)
}

/// The same for one of MPI's own, which has nothing to be kept.
pub(crate) fn predefined<T: Pod, O: Reduction<T>>() -> Result<Operation> {
    let (op, datatype) = Operation::of_large::<T, O>("a reduction")?;
    let keep = None;
    Ok(Operation { op, datatype, keep })
}

impl Operation {
    /// An operation for blocks that an `int` can count.
    pub(super) fn of<T: Pod, O: Reduction<T> + Send + 'static>(op: O) -> Result<Self> {
        if let Some((op, datatype)) = O::predefined() {
            let keep = None;
            return Ok(Self { op, datatype, keep });
        }
        let registered = Registered::keeping::<T, O>(op)?;
        Ok(Self {
            op: registered.op(),
            datatype: registered.datatype(),
            keep: Some(Box::new(registered)),
        })
    }

    /// An operation for longer blocks, which the library must be able to take at once.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] if the operation is the program's own: libraries call it with an `int`.
    pub(super) fn of_large<T: Pod, O: Reduction<T>>(
        name: &'static str,
    ) -> Result<(MPI_Op, MPI_Datatype)> {
        O::predefined().ok_or_else(|| {
            Error::new(
                ErrorKind::NotInLibrary,
                name,
                "a reduction of 2³¹ elements or more that returns at once is not possible with an operation of the \
                 program's own; use the blocking one, or several calls",
            )
        })
    }

    /// An operation for blocks of `length`, or the error of `large` for longer ones.
    pub(super) fn for_length<T: Pod, O: Reduction<T> + Send + 'static>(
        large: &'static str,
        op: O,
        length: usize,
    ) -> Result<Self> {
        if is_small::<T>(length) {
            return Self::of::<T, O>(op);
        }
        let (op, datatype) = Self::of_large::<T, O>(large)?;
        let keep = None;
        Ok(Self { op, datatype, keep })
    }

    /// Both in the library's own form.
    fn native(&self) -> (native::Op, native::Datatype) {
        // SAFETY: the library is loaded: this is called by operations on a `Comm` only.
        let op = unsafe { native::op(self.op) };
        // SAFETY: as above.
        let datatype = unsafe { native::datatype(self.datatype) };
        (op, datatype)
    }
}

pub(crate) fn ireduce<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    make: impl FnOnce() -> Result<Operation>,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Begun> {
    const LARGE: &str = "MPI_Ireduce_c";
    let transfer = transfer.into_inner();
    let block = transfer.block();
    let root = transfer.root();
    let (send, recv) = transfer.into_slices();
    if !is_small::<T>(block) {
        let (op, datatype) = Operation::of_large::<T, O>(LARGE)?;
        return begin_large(LARGE, None, |request| {
            // SAFETY: `send` is one block, and at the root `recv` is one too, as `Transfer` has proven, and both last, as `Lasting` says.
            unsafe {
                sys::MPI_Ireduce_c(
                    standard_send_pointer(send),
                    standard_recv_pointer(recv),
                    items::<T>(block),
                    datatype,
                    op,
                    root,
                    comm.canonical,
                    request,
                )
            }
        });
    }
    let operation = make()?;
    let (op, datatype) = operation.native();
    begin("MPI_Ireduce", operation.keep, |request| {
        // SAFETY: `send` is one block, and at the root `recv` is one too, as `Transfer` has proven, and both last, as `Lasting` says.
        unsafe {
            native::MPI_Ireduce(
                send_pointer(send),
                recv_pointer(recv),
                count::<T>(block),
                datatype,
                op,
                root,
                comm.native,
                request,
            )
        }
    })
}

/// A function that combines and gives a block to every rank, and its name: with counts, datatypes, operations,
/// communicators and requests of one form.
type ToAll<C, D, O, M, R> = (
    &'static str,
    unsafe fn(*const c_void, *mut c_void, C, D, O, M, *mut R) -> c_int,
);

/// # Safety
/// `call` and `large` are functions of MPI that may have the slices of `transfer`, told how long a block of it is.
#[inline]
unsafe fn to_all<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    make: impl FnOnce() -> Result<Operation>,
    transfer: Lasting<Transfer<'_, T>>,
    (name, call): ToAll<c_int, native::Datatype, native::Op, native::Comm, Cell>,
    (large_name, large): ToAll<MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request>,
) -> Result<Begun> {
    let transfer = transfer.into_inner();
    let block = transfer.block();
    let (send, recv) = transfer.into_slices();
    // What is sent is one block, or one for each rank.
    if !is_small::<T>(send.map_or(block, <[T]>::len)) {
        let (op, datatype) = Operation::of_large::<T, O>(large_name)?;
        return begin_large(large_name, None, |request| {
            // SAFETY: the function may have the slices, by the contract of this one; they last, as `Lasting` says.
            unsafe {
                large(
                    standard_send_pointer(send),
                    standard_recv_pointer(recv),
                    items::<T>(block),
                    datatype,
                    op,
                    comm.canonical,
                    request,
                )
            }
        });
    }
    let operation = make()?;
    let (op, datatype) = operation.native();
    begin(name, operation.keep, |request| {
        // SAFETY: the function may have the slices, by the contract of this one; they last, as `Lasting` says.
        unsafe {
            call(
                send_pointer(send),
                recv_pointer(recv),
                count::<T>(block),
                datatype,
                op,
                comm.native,
                request,
            )
        }
    })
}

pub(crate) fn iallreduce<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    make: impl FnOnce() -> Result<Operation>,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Begun> {
    // SAFETY: `send` and `recv` are one block each, as `Transfer` has proven.
    unsafe {
        to_all::<T, O>(
            comm,
            make,
            transfer,
            ("MPI_Iallreduce", native::MPI_Iallreduce),
            ("MPI_Iallreduce_c", sys::MPI_Iallreduce_c),
        )
    }
}

pub(crate) fn iscan<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    make: impl FnOnce() -> Result<Operation>,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Begun> {
    // SAFETY: `send` and `recv` are one block each, as `Transfer` has proven.
    unsafe {
        to_all::<T, O>(
            comm,
            make,
            transfer,
            ("MPI_Iscan", native::MPI_Iscan),
            ("MPI_Iscan_c", sys::MPI_Iscan_c),
        )
    }
}

pub(crate) fn iexscan<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    make: impl FnOnce() -> Result<Operation>,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Begun> {
    // SAFETY: `send` and `recv` are one block each, as `Transfer` has proven.
    unsafe {
        to_all::<T, O>(
            comm,
            make,
            transfer,
            ("MPI_Iexscan", native::MPI_Iexscan),
            ("MPI_Iexscan_c", sys::MPI_Iexscan_c),
        )
    }
}

pub(crate) fn ireduce_scatter_block<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    make: impl FnOnce() -> Result<Operation>,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Begun> {
    // SAFETY: `recv` is one block and `send` one for each rank, as `Transfer` has proven.
    unsafe {
        to_all::<T, O>(
            comm,
            make,
            transfer,
            (
                "MPI_Ireduce_scatter_block",
                native::MPI_Ireduce_scatter_block,
            ),
            (
                "MPI_Ireduce_scatter_block_c",
                sys::MPI_Ireduce_scatter_block_c,
            ),
        )
    }
}

pub(crate) fn ireduce_scatter<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    make: impl FnOnce() -> Result<Operation>,
    transfer: Lasting<Transfer<'_, T>>,
    blocks: &Blocks,
) -> Result<Begun> {
    const LARGE: &str = "MPI_Ireduce_scatter_c";
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
        return begin_large(LARGE, Some(keep), |request| {
            // SAFETY: the blocks of `send` are as long as `counts` say, and `recv` is this rank's, as `Transfer` has proven; slices and array last, as `Lasting` says and `keep` does.
            unsafe {
                sys::MPI_Ireduce_scatter_c(
                    standard_send_pointer(send),
                    standard_recv_pointer(recv),
                    counts,
                    datatype,
                    op,
                    comm.canonical,
                    request,
                )
            }
        });
    };
    let operation = make()?;
    let (op, datatype) = operation.native();
    let keep = Box::new(Counted {
        counts: ints[..blocks.len()].to_vec(),
        operation: operation.keep,
    });
    let counts = keep.counts.as_ptr();
    begin("MPI_Ireduce_scatter", Some(keep), |request| {
        // SAFETY: as above.
        unsafe {
            native::MPI_Ireduce_scatter(
                send_pointer(send),
                recv_pointer(recv),
                counts,
                datatype,
                op,
                comm.native,
                request,
            )
        }
    })
}

/// Counts, and what the library calls back.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) counts: Vec<c_int>,
    pub(super) operation: Option<Box<dyn Keep>>,
}

impl Keep for Counted {
    fn ended(&mut self, operation: &'static str) -> Result<()> {
        match &mut self.operation {
            Some(keep) => keep.ended(operation),
            None => Ok(()),
        }
    }
}
