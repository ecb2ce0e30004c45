//! Reductions: blocking, nonblocking and persistent.
//!
//! Blocks of 2³¹ elements and more go by the large-count functions of MPI 4. Where a library has
//! none, and for operations of the program's, a blocking reduction is done piece by piece, since
//! derived types that stand for many elements do not go with operations; others are an error.

use std::ffi::c_int;
use std::ptr;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Keep, MpiComm as Comm, StartedOp};
use ranks_comm::record::Over;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{Family, MPI_Count, MPI_Datatype, MPI_Op};

use super::begun::{begin, begin_large};
use super::functions::{Abi, Large, Native, Reduce, Reduced, Reduces, Standard, is_in_library};
use super::in_pieces;
use super::operation::{
    Operation, OwnedOperation, PIECE, count, is_small, large_count, predefined,
};
use crate::arguments::blocks::Blocks;
use crate::arguments::reducing::{Reducing, Share};
use crate::arguments::transfer::Transfer;
use crate::in_flight::stable::Stable;
use crate::ops::Reduction;

/// The arguments of the function that the transfer was proven for, with `counts` if it takes those.
#[inline(always)]
fn arguments<A: Abi, T>(
    transfer: Transfer<'_, T>,
    count: A::Count,
    counts: Option<&[A::Count]>,
    (op, datatype): (A::Op, A::Datatype),
) -> Reduced<A> {
    let root = transfer.root();
    let (send, recv) = transfer.into_slices();
    Reduced {
        send: A::send(send),
        recv: A::recv(recv),
        count,
        counts: counts.map_or(ptr::null(), <[A::Count]>::as_ptr),
        datatype,
        op,
        root,
    }
}

/// The counts of a function that takes one for each rank, if `int`s can say them. Elements of no
/// size are no items.
fn counts<T>(blocks: &Blocks) -> Option<Vec<c_int>> {
    let ints = blocks.ints(usize::from(size_of::<T>() > 0))?;
    Some(ints[..blocks.len()].to_vec())
}

/// The arguments of a function with large counts, and the counts, if it takes those, which they
/// point at.
fn large_arguments<T>(
    Reducing { transfer, share }: Reducing<'_, T>,
    handles: (MPI_Op, MPI_Datatype),
) -> (Reduced<Large>, Option<Vec<MPI_Count>>) {
    let counts = share.counts().map(|blocks| {
        let counts = blocks.counts().iter();
        counts
            .map(|&count| large_count::<T>(count))
            .collect::<Vec<_>>()
    });
    let count = large_count::<T>(transfer.block());
    let with = arguments::<Large, T>(transfer, count, counts.as_deref(), handles);
    (with, counts)
}

/// `me` is this rank.
pub(crate) fn blocking<F: Reduces, T: Pod, O: Reduction<T>>(
    comm: &Comm,
    me: usize,
    op: &O,
    reducing: Reducing<'_, T>,
) -> Result<()> {
    if loses_what_is_in_place(&reducing.transfer) {
        let Reducing { transfer, share } = reducing;
        return transfer
            .with_copy(|transfer| blocking::<F, T, O>(comm, me, op, Reducing { transfer, share }));
    }
    if !is_small::<T>(reducing.elements()) {
        return large::<F, T, O>(comm, me, op, reducing);
    }
    let Share::Counts(blocks) = reducing.share else {
        return small::<F, T, O>(comm, op, reducing.transfer, None);
    };
    match blocks.ints(usize::from(size_of::<T>() > 0)) {
        Some(ints) => small::<F, T, O>(comm, op, reducing.transfer, Some(&ints)),
        None => large::<F, T, O>(comm, me, op, reducing),
    }
}

/// Returns `true` in place at a root that is not rank 0, where some libraries read from
/// `MPI_IN_PLACE` itself: MPICH from 4.0 to 4.1.1 (<https://github.com/pmodels/mpich/issues/6540>).
fn loses_what_is_in_place<T>(transfer: &Transfer<'_, T>) -> bool {
    transfer.is_in_place()
        && transfer.root() != 0
        && sys::loaded().is_some_and(|loaded| loaded.family() == Family::Mpich)
}

/// Blocks that an `int` can count together: of one length, or of lengths of their own, with which
/// `counts` begin.
#[inline(always)]
pub(crate) fn small<F: Reduces, T: Pod, O: Reduction<T>>(
    comm: impl Over<Target = Comm>,
    op: &O,
    transfer: Transfer<'_, T>,
    counts: Option<&[c_int]>,
) -> Result<()> {
    let count = count::<T>(transfer.block());
    let operation = Operation::of::<T, O>(op)?;
    let with = arguments::<Native, T>(transfer, count, counts, operation.native());
    // SAFETY: the slices are of as many blocks as the function wants, as `Transfer` has proven; a
    // block is `count` items, or as many as `counts` say.
    let code = unsafe { F::blocking(with, comm.native) };
    comm.over();
    operation.end(code, F::BLOCKING)
}

/// Reduces in one call of the library, or else piece by piece, and what is dealt out block by
/// block.
fn large<F: Reduces, T: Pod, O: Reduction<T>>(
    comm: &Comm,
    me: usize,
    op: &O,
    reducing: Reducing<'_, T>,
) -> Result<()> {
    if predefined::<T, O>().is_none() || !is_in_library(F::BLOCKING_C) {
        let blocks = reducing.blocks();
        let Reducing { transfer, share } = reducing;
        return match share {
            Share::Whole => transfer
                .pieces(PIECE)
                .try_for_each(|piece| small::<F, T, O>(comm, op, piece, None)),
            Share::Block { .. } | Share::Counts(_) => transfer.reductions(me, &blocks, |one| {
                blocking::<Reduce, T, O>(comm, me, op, Reducing::whole(one))
            }),
        };
    }
    let operation = Operation::of::<T, O>(op)?;
    let (with, _counts) = large_arguments(reducing, (operation.op, operation.datatype));
    // SAFETY: the slices are of as many blocks as the function wants, which are as long as `count`
    // or `counts` say, as `Reducing` has proven.
    let code = unsafe { F::blocking_c(with, comm.canonical) };
    operation.end(code, F::BLOCKING_C)
}

/// Counts, and what the library calls back.
struct Counted<C> {
    _counts: Vec<C>,
    operation: Option<Box<dyn Keep>>,
}

impl<C: Send> Keep for Counted<C> {
    fn ended(&mut self, operation: &'static str) -> Result<()> {
        match &mut self.operation {
            Some(keep) => keep.ended(operation),
            None => Ok(()),
        }
    }
}

/// Keeps counts and operation until the reduction is complete. The counts stay where they are.
fn keep<C: Send + 'static>(
    counts: Option<Vec<C>>,
    operation: Option<Box<dyn Keep>>,
) -> Option<Box<dyn Keep>> {
    match counts {
        Some(counts) => Some(Box::new(Counted {
            _counts: counts,
            operation,
        })),
        None => operation,
    }
}

/// `make` makes the operation for blocks that an `int` can count.
#[inline]
pub(crate) fn nonblocking<F: Reduces, T: Pod, O: Reduction<T>>(
    comm: &Comm,
    make: impl FnOnce() -> Result<OwnedOperation>,
    reducing: Stable<Reducing<'_, T>>,
) -> Result<StartedOp> {
    let reducing = reducing.into_inner();
    let small_counts = reducing.share.counts().map(counts::<T>);
    if !is_small::<T>(reducing.elements()) || matches!(small_counts, Some(None)) {
        let operation = OwnedOperation::predefined::<T, O>(F::NONBLOCKING_C)?;
        let (with, counts) = large_arguments(reducing, (operation.op, operation.datatype));
        let kept = keep(counts, operation.keep);
        return begin_large(F::NONBLOCKING_C, kept, |request| {
            // SAFETY: the slices are of as many blocks as the function wants, which are as long as
            // `count` or `counts` say, as `Reducing` has proven; slices and counts last, as
            // `Stable` says and `keep` does.
            unsafe { F::nonblocking_c(with, comm.canonical, request) }
        });
    }
    let (operation, counts) = (make()?, small_counts.flatten());
    let count = count::<T>(reducing.transfer.block());
    let handles = operation.native();
    let with = arguments::<Native, T>(reducing.transfer, count, counts.as_deref(), handles);
    let kept = keep(counts, operation.keep);
    begin(F::NONBLOCKING, kept, |request| {
        // SAFETY: the slices are of as many blocks as the function wants, which are as long as
        // `count` or `counts` say, as `Reducing` has proven; slices and counts last, as `Stable`
        // says and `keep` does.
        unsafe { F::nonblocking(with, comm.native, request) }
    })
}

/// The same in place.
pub(crate) fn nonblocking_in_place<F: Reduces, T: Pod, O: Reduction<T>>(
    comm: &Comm,
    make: impl FnOnce() -> Result<OwnedOperation>,
    reducing: Stable<Reducing<'_, T>>,
) -> Result<StartedOp> {
    if !loses_what_is_in_place(&reducing.get().transfer) {
        return nonblocking::<F, T, O>(comm, make, reducing);
    }
    // SAFETY: what is begun keeps the copy.
    let (reducing, kept) = unsafe { reducing.not_in_place() };
    let begun = nonblocking::<F, T, O>(comm, make, reducing)?;
    Ok(in_pieces::keeping(begun, kept.as_ref()))
}

/// The same with one of MPI's own operations, in pieces that are in flight together where the
/// library cannot take so many elements.
pub(crate) fn nonblocking_in_pieces<F: Reduces, T: Pod, O: Reduction<T>>(
    comm: &Comm,
    me: usize,
    reducing: Stable<Reducing<'_, T>>,
) -> Result<StartedOp> {
    let make = || OwnedOperation::predefined::<T, O>(F::NONBLOCKING);
    if is_small::<T>(reducing.get().elements()) || is_in_library(F::NONBLOCKING_C) {
        return nonblocking_in_place::<F, T, O>(comm, make, reducing);
    }
    let (share, blocks) = (reducing.get().share, reducing.get().blocks());
    let transfer = reducing.map(|reducing| reducing.transfer);
    if matches!(share, Share::Whole) {
        let begin = |piece: Stable<_>| {
            nonblocking::<F, T, O>(comm, make, piece.map(|piece| Reducing::whole(piece)))
        };
        return in_pieces::all(transfer.pieces(PIECE).map(begin));
    }
    let mut begun = Vec::with_capacity(blocks.len());
    let each = |one: Stable<Transfer<'_, T>>, kept: Option<&_>| {
        let one = one.map(|one| Reducing::whole(one));
        let one = nonblocking_in_pieces::<Reduce, T, O>(comm, me, one);
        begun.push(one.map(|one| in_pieces::keeping(one, kept)));
    };
    // SAFETY: what is begun keeps the copy.
    unsafe { transfer.reductions(me, &blocks, each) };
    in_pieces::all(begun.into_iter())
}

/// Nothing where the library has no such function: the operation is begun anew at each start then.
pub(crate) fn init<F: Reduces, T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    reducing: Stable<Reducing<'_, T>>,
) -> Result<Option<StartedOp>> {
    if !is_in_library(F::INIT) {
        return Ok(None);
    }
    let reducing = reducing.into_inner();
    if let Some(Some(counts)) = reducing.share.counts().map(counts::<T>) {
        let operation = OwnedOperation::of::<T, O>(op)?;
        let handles = (operation.op, operation.datatype);
        let with = arguments::<Standard, T>(reducing.transfer, 0, Some(&counts), handles);
        let kept = keep(Some(counts), operation.keep);
        return begin_large(F::INIT, kept, |request| {
            // SAFETY: the blocks of `send` are as long as `counts` say, and `recv` is this rank's,
            // as `Reducing` has proven; slices and counts last, as `Stable` says and `keep` does.
            unsafe { F::init(with, comm.canonical, request) }
        })
        .map(Some);
    }
    let operation = if is_small::<T>(reducing.elements()) && reducing.share.counts().is_none() {
        OwnedOperation::of::<T, O>(op)?
    } else {
        OwnedOperation::predefined::<T, O>(F::INIT_C)?
    };
    let (with, counts) = large_arguments(reducing, (operation.op, operation.datatype));
    let kept = keep(counts, operation.keep);
    begin_large(F::INIT, kept, |request| {
        // SAFETY: the slices are of as many blocks as the function wants, which are as long as
        // `count` or `counts` say, as `Reducing` has proven; slices and counts last, as `Stable`
        // says and `keep` does.
        unsafe { F::init_c(with, comm.canonical, request) }
    })
    .map(Some)
}
