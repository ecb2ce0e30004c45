//! Calls with blocks of lengths of their own, on one side or both: blocking, nonblocking and
//! persistent.
//!
//! Numbers that an `int` cannot say go by the large-count functions of MPI 4; where a library has
//! none, that is the error.

use std::borrow::Cow;
use std::ffi::c_int;
use std::ptr;

use bytemuck::Pod;
use ranks_comm::backend::{Keep, MpiComm as Comm, Plain, StartedOp, TypeOf, check_collective};
use ranks_comm::record::Over;
use ranks_comm::{Result, SendBuffer};

use super::begun::{begin, begin_large};
use super::functions::{Abi, Large, Moved, Moves, Native, Standard, is_in_library};
use crate::agreement::large_is_offered;
use crate::arguments::blocks::Blocks;
use crate::arguments::varying::Divided;
use crate::in_flight::stable::Stable;

/// The numbers of one side that are `int`s already.
#[derive(Clone, Copy)]
pub(super) enum Ints<'a> {
    /// The items of one block.
    Block(c_int),
    /// Counts and then displacements, of blocks that are for each or from each.
    Blocks(&'a [c_int]),
}

impl Ints<'_> {
    /// A count, counts and displacements, of which the function takes what it is for.
    #[inline(always)]
    fn arguments(self) -> (c_int, *const c_int, *const c_int) {
        match self {
            Self::Block(count) => (count, ptr::null(), ptr::null()),
            Self::Blocks(ints) => {
                let (counts, displacements) = ints.split_at(ints.len() / 2);
                (0, counts.as_ptr(), displacements.as_ptr())
            }
        }
    }
}

/// Blocking, with numbers that need not be made first: those of blocks that lie in their slices,
/// of which those that are received do not overlap.
#[inline(always)]
pub(super) fn small<F: Moves, T: Pod>(
    comm: impl Over<Target = Comm>,
    (send, sent): (Option<&[T]>, Ints<'_>),
    (recv, received): (Option<&mut [T]>, Ints<'_>),
    root: c_int,
) -> Result<()> {
    let (send_count, send_counts, send_displacements) = sent.arguments();
    let (recv_count, recv_counts, recv_displacements) = received.arguments();
    let with = Moved::<Native> {
        send_count,
        send_counts,
        send_displacements,
        recv_count,
        recv_counts,
        recv_displacements,
        root,
        ..Moved::between(send, recv)
    };
    // SAFETY: the blocks lie in their slices, and those that are received do not overlap, as the
    // types have proven that the callers take them from; the numbers are theirs, in items of the
    // datatype.
    let code = unsafe { F::blocking(with, comm.native) };
    comm.over();
    check_collective(code, F::BLOCKING)
}

/// Proven slices, and how they are divided.
pub(super) struct Varying<'a, T> {
    pub(super) send: SliceInBlocks<'a, &'a [T]>,
    pub(super) recv: SliceInBlocks<'a, &'a mut [T]>,
    pub(super) root: c_int,
}

/// A slice, which is one block of `length` or divided; `None` if the other side's plays its part.
pub(super) struct SliceInBlocks<'a, S> {
    pub(super) slice: Option<S>,
    pub(super) division: Division<'a>,
}

impl<S> SliceInBlocks<'_, S> {
    /// One block of that length.
    pub(super) fn block(slice: Option<S>, length: usize) -> Self {
        let division = Division::Block(length);
        Self { slice, division }
    }
}

impl<'a, S> From<Divided<'a, S>> for SliceInBlocks<'a, S> {
    fn from(Divided { slice, blocks }: Divided<'a, S>) -> Self {
        let division = Division::Blocks(Cow::Borrowed(blocks), None);
        Self { slice, division }
    }
}

pub(super) enum Division<'a> {
    /// One block of that length.
    Block(usize),
    /// A block for each rank or neighbour, and which of them each of the library's blocks is, if
    /// they are in another order.
    Blocks(Cow<'a, Blocks>, Option<Vec<usize>>),
}

/// Counts and displacements of one side as a function takes them. The standard lets a library read
/// them until the operation is complete (MPI 5.0 §6.12).
struct Numbers<A: Abi> {
    /// Of one block.
    count: A::Count,
    /// Of a block for each.
    counts: Vec<A::Count>,
    displacements: Vec<A::Displacement>,
}

impl<A: Abi> Numbers<A> {
    fn of_block(count: A::Count) -> Self {
        Self {
            count,
            counts: Vec::new(),
            displacements: Vec::new(),
        }
    }

    /// The number of each block in the slot in which the library has it.
    fn of_blocks(
        counts: &[A::Count],
        displacements: &[A::Displacement],
        slots: Option<&[usize]>,
    ) -> Self {
        Self {
            count: A::Count::default(),
            counts: in_slots(counts, slots),
            displacements: in_slots(displacements, slots),
        }
    }
}

fn in_slots<N: Copy>(of_blocks: &[N], slots: Option<&[usize]>) -> Vec<N> {
    match slots {
        None => of_blocks.to_vec(),
        Some(slots) => slots.iter().map(|&block| of_blocks[block]).collect(),
    }
}

/// Both sides.
struct BothSides<A: Abi> {
    sent: Numbers<A>,
    received: Numbers<A>,
}

impl<A: Abi<Count = c_int, Displacement = c_int>> BothSides<A> {
    /// In `int`s, if they can say it.
    fn ints<T: Pod>(sent: &Division<'_>, received: &Division<'_>) -> Option<Self> {
        let of = |division: &Division<'_>| match division {
            Division::Block(length) => TypeOf::<T>::small_count(*length).map(Numbers::of_block),
            Division::Blocks(blocks, slots) => {
                let ints = blocks.ints(TypeOf::<T>::items())?;
                let (counts, displacements) = ints.split_at(blocks.len());
                Some(Numbers::of_blocks(counts, displacements, slots.as_deref()))
            }
        };
        let (sent, received) = (of(sent)?, of(received)?);
        Some(Self { sent, received })
    }
}

impl BothSides<Large> {
    fn large<T: Pod>(sent: &Division<'_>, received: &Division<'_>) -> Self {
        let of = |division: &Division<'_>| match division {
            Division::Block(length) => Numbers::of_block(Large::count::<T>(*length)),
            Division::Blocks(blocks, slots) => {
                let counts = blocks.counts().iter();
                let counts: Vec<_> = counts.map(|&count| Large::count::<T>(count)).collect();
                let starts = (0..blocks.len()).map(|rank| blocks.range(rank).start);
                let starts: Vec<_> = starts.map(Large::displacement::<T>).collect();
                Numbers::of_blocks(&counts, &starts, slots.as_deref())
            }
        };
        let (sent, received) = (of(sent), of(received));
        Self { sent, received }
    }
}

impl<A: Abi> BothSides<A> {
    /// The arguments of a call with these slices. They hold as long as this.
    fn arguments<T: Pod>(
        &self,
        send: Option<&[T]>,
        recv: Option<&mut [T]>,
        root: c_int,
    ) -> Moved<A> {
        Moved {
            send_count: self.sent.count,
            send_counts: self.sent.counts.as_ptr(),
            send_displacements: self.sent.displacements.as_ptr(),
            recv_count: self.received.count,
            recv_counts: self.received.counts.as_ptr(),
            recv_displacements: self.received.displacements.as_ptr(),
            root,
            ..Moved::between(send, recv)
        }
    }
}

/// Numbers, and what is sent where that is a copy, until an operation is complete.
struct InFlightNumbers<A: Abi, T: Pod> {
    _sides: BothSides<A>,
    _copy: Option<Plain<T>>,
}

impl<A: Abi, T: Pod> Keep for InFlightNumbers<A, T> {}

pub(super) fn blocking<F: Moves, T: Pod>(comm: &Comm, varying: Varying<'_, T>) -> Result<()> {
    let Varying { send, recv, root } = varying;
    if let Some(sides) = BothSides::<Native>::ints::<T>(&send.division, &recv.division) {
        let with = sides.arguments(send.slice, recv.slice, root);
        // SAFETY: the blocks lie in their slices, and those that are received do not overlap, as
        // whoever made `Varying` has proven; the numbers are theirs.
        let code = unsafe { F::blocking(with, comm.native) };
        return check_collective(code, F::BLOCKING);
    }
    large_is_offered(F::BLOCKING)?;
    let sides = BothSides::large::<T>(&send.division, &recv.division);
    let with = sides.arguments(send.slice, recv.slice, root);
    // SAFETY: the blocks lie in their slices, and those that are received do not overlap, as
    // whoever made `Varying` has proven; the numbers are theirs.
    let code = unsafe { F::blocking_c(with, comm.canonical) };
    check_collective(code, F::BLOCKING_C)
}

/// Sends the copy, if there is one.
pub(super) fn nonblocking<F: Moves, T: Pod>(
    comm: &Comm,
    varying: Stable<Varying<'_, T>>,
    copy: Option<Plain<T>>,
) -> Result<StartedOp> {
    let Varying { send, recv, root } = varying.into_inner();
    let from = copy.as_ref().map(SendBuffer::as_slice).or(send.slice);
    if let Some(sides) = BothSides::<Native>::ints::<T>(&send.division, &recv.division) {
        let with = sides.arguments(from, recv.slice, root);
        return begin(F::NONBLOCKING, kept(sides, copy), |request| {
            // SAFETY: the blocks lie in their slices, and those that are received do not overlap,
            // as whoever made `Varying` has proven; slices last, as `Stable` says, numbers and copy
            // are kept.
            unsafe { F::nonblocking(with, comm.native, request) }
        });
    }
    large_is_offered(F::NONBLOCKING)?;
    let sides = BothSides::large::<T>(&send.division, &recv.division);
    let with = sides.arguments(from, recv.slice, root);
    begin_large(F::NONBLOCKING_C, kept(sides, copy), |request| {
        // SAFETY: the blocks lie in their slices, and those that are received do not overlap, as
        // whoever made `Varying` has proven; slices last, as `Stable` says, numbers and copy are
        // kept.
        unsafe { F::nonblocking_c(with, comm.canonical, request) }
    })
}

/// Nothing where the library has no such function: the operation is begun anew at each start then.
pub(super) fn init<F: Moves, T: Pod>(
    comm: &Comm,
    varying: Stable<Varying<'_, T>>,
) -> Result<Option<StartedOp>> {
    if !is_in_library(F::INIT) {
        return Ok(None);
    }
    let Varying { send, recv, root } = varying.into_inner();
    if let Some(sides) = BothSides::<Standard>::ints::<T>(&send.division, &recv.division) {
        let with = sides.arguments(send.slice, recv.slice, root);
        return begin_large(F::INIT, kept::<_, T>(sides, None), |request| {
            // SAFETY: the blocks lie in their slices, and those that are received do not overlap,
            // as whoever made `Varying` has proven; slices last, as `Stable` says, and numbers are
            // kept.
            unsafe { F::init(with, comm.canonical, request) }
        })
        .map(Some);
    }
    large_is_offered(F::INIT)?;
    let sides = BothSides::large::<T>(&send.division, &recv.division);
    let with = sides.arguments(send.slice, recv.slice, root);
    begin_large(F::INIT_C, kept::<_, T>(sides, None), |request| {
        // SAFETY: the blocks lie in their slices, and those that are received do not overlap, as
        // whoever made `Varying` has proven; slices last, as `Stable` says, and numbers are kept.
        unsafe { F::init_c(with, comm.canonical, request) }
    })
    .map(Some)
}

fn kept<A: Abi, T: Pod>(sides: BothSides<A>, copy: Option<Plain<T>>) -> Option<Box<dyn Keep>> {
    Some(Box::new(InFlightNumbers {
        _sides: sides,
        _copy: copy,
    }))
}
