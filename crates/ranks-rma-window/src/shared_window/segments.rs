//! The memory of a shared window as the things that lie in it: marks, and a segment of each rank.
//!
//! # Safety
//!
//! * [`Segments::new`] takes a region that is as long as the plan says, and from then on nothing
//!   but this value knows it on this rank. The plan is the same on all ranks: it is made of what
//!   all of them have told all.
//! * Marks lie at the begin of the region, which begins with a page; segments lie behind them,
//!   apart from each other, each aligned for its elements.
//! * Marks are atomics and are never touched otherwise. Bytes of segments are elements, whatever
//!   they are (`Pod`).
//! * Who may touch which segment when is the affair of the phases, which call what is `unsafe`
//!   here.
//! * References live no longer than the `Segments`, with which the memory goes.

use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};
use ranks_launch::Count;
use ranks_mpi_sys::MPI_Win;

use super::HasAtomic;
use super::plan::Plan;
use super::steps::{Mark, Marks};
use crate::epoch::epochs::Epochs;
use crate::region::{Backing, Region};

/// Addresses of the segments on this rank.
pub(super) struct Segments<T> {
    /// By rank; this comes to a reader first.
    table: Box<[Segment<T>]>,
    rank: usize,
    marks: NonNull<Mark>,
    /// All segments, if nothing is between them.
    whole: Option<Segment<T>>,
    /// Locks that this rank holds.
    epochs: Epochs,
    /// Taken out by `free` only.
    region: ManuallyDrop<Region>,
}

#[derive(Debug, Clone, Copy)]
struct Segment<T> {
    start: NonNull<T>,
    len: usize,
}

// SAFETY: what refers to elements is given out by the contract of the phases; `T` crosses threads
// and is shared by them, as the only place that makes windows demands.
unsafe impl<T: Pod> Send for Segments<T> {}

// SAFETY: as above.
unsafe impl<T: Pod> Sync for Segments<T> {}

impl<T: Pod> Segments<T> {
    /// The segments that `plan` has put into `region`.
    ///
    /// # Safety
    /// All ranks of the region have made the same plan for elements of type `T`, which crosses
    /// threads, and nobody else uses the region.
    pub(super) unsafe fn new(region: Region, plan: &Plan, rank: usize) -> Self {
        assert!(plan.bytes <= region.len() && rank < plan.segments.len());
        let base = region.base();
        let at = |offset: usize, len: usize| {
            // SAFETY: the plan puts it there, within its bytes, which the region has as just
            // compared.
            let start = unsafe { base.add(offset) };
            debug_assert!(start.addr().get() % align_of::<T>() == 0);
            Segment {
                start: start.cast(),
                len,
            }
        };
        let table = plan.segments.iter().map(|&(start, len)| at(start, len));
        Self {
            table: table.collect(),
            rank,
            marks: base.cast(),
            whole: plan.packed.map(|total| at(plan.data, total)),
            epochs: Epochs::default(),
            region: ManuallyDrop::new(region),
        }
    }

    #[inline]
    pub(super) fn size(&self) -> usize {
        self.table.len()
    }

    pub(super) fn len_of(&self, rank: usize) -> usize {
        self.table.get(rank).map_or(0, |segment| segment.len)
    }

    pub(super) fn is_heap(&self) -> bool {
        self.region.backing() == Backing::Heap
    }

    pub(super) fn node(&self) -> &Communicator {
        self.region.node()
    }

    /// The window of the library, unless the memory is the heap.
    pub(super) fn handle(&self) -> Option<MPI_Win> {
        self.region.handle()
    }

    pub(super) fn sync(&self) -> Result<()> {
        self.region.sync()
    }

    #[inline(always)]
    #[track_caller]
    fn of(&self, rank: usize) -> &Segment<T> {
        match self.table.get(rank) {
            Some(segment) => segment,
            None => no_rank(rank, self.table.len()),
        }
    }

    /// The segment of `rank`.
    ///
    /// # Safety
    /// Nobody writes to it while the result lives.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn slice(&self, rank: usize) -> &[T] {
        let segment = self.of(rank);
        // SAFETY: so many elements lie there, which nobody writes to, by this function's contract.
        unsafe { slice::from_raw_parts(segment.start.as_ptr(), segment.len) }
    }

    /// All segments, if nothing is between them.
    ///
    /// # Safety
    /// Nobody writes to any of them while the result lives.
    #[inline(always)]
    pub(super) unsafe fn whole(&self) -> Option<&[T]> {
        let Segment { start, len } = self.whole?;
        // SAFETY: so many elements lie there, which nobody writes to, by this function's contract.
        Some(unsafe { slice::from_raw_parts(start.as_ptr(), len) })
    }

    /// The segment of `rank`, to be written.
    ///
    /// # Safety
    /// Nobody else touches it while the result lives.
    #[expect(
        clippy::mut_from_ref,
        reason = "it is the caller who knows that nobody else has it"
    )]
    #[inline(always)]
    pub(super) unsafe fn slice_mut(&self, rank: usize) -> &mut [T] {
        let &Segment { start, len } = self.of(rank);
        // SAFETY: so many elements lie there, which nobody else touches, by this function's
        // contract.
        unsafe { slice::from_raw_parts_mut(start.as_ptr(), len) }
    }

    /// A part of the segment of `rank`, to be written; empty if the segment is shorter.
    ///
    /// # Safety
    /// Nobody else touches the part while the result lives.
    #[expect(
        clippy::mut_from_ref,
        reason = "it is the caller who knows that nobody else has it"
    )]
    pub(super) unsafe fn part_mut(&self, rank: usize, part: Range<usize>) -> &mut [T] {
        let &Segment { start, len } = self.of(rank);
        if part.start > part.end || part.end > len {
            return &mut [];
        }
        // SAFETY: it begins within the segment, or at its end.
        let start = unsafe { start.add(part.start) };
        // SAFETY: so many elements lie there, which nobody else touches, by this function's
        // contract.
        unsafe { slice::from_raw_parts_mut(start.as_ptr(), part.len()) }
    }

    /// Takes the pages of a part of the memory, all of whose bytes are zero, from the system; those
    /// of a heap if they are `placed` somewhere.
    ///
    /// # Errors
    /// As [`Region::take`].
    ///
    /// # Safety
    /// Nobody else touches the part, and no element lies there yet.
    pub(super) unsafe fn take(&self, bytes: Range<usize>, placed: bool) -> Result<()> {
        // SAFETY: by contract.
        unsafe { self.region.take(bytes, placed) }
    }

    /// Frees the memory immediately. Collective.
    pub(super) fn free(self) -> Result<()> {
        let mut gone = ManuallyDrop::new(self);
        // SAFETY: it is taken once, as `gone` is not dropped.
        let region = unsafe { ManuallyDrop::take(&mut gone.region) };
        drop(std::mem::take(&mut gone.table));
        drop(std::mem::take(&mut gone.epochs));
        region.free()
    }

    pub(super) fn welcome_large_pages(&self) {
        self.region.welcome_large_pages();
    }
}

impl<T> Segments<T> {
    #[inline]
    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    pub(super) fn marks(&self) -> &Marks {
        // SAFETY: so many marks lie there: atomics, which were zeros when they began.
        unsafe { slice::from_raw_parts(self.marks.as_ptr(), self.table.len()) }
    }

    pub(super) fn epochs(&self) -> &Epochs {
        &self.epochs
    }
}

impl<T: HasAtomic> Segments<T> {
    /// The segment of `rank` as atomics.
    ///
    /// # Safety
    /// Nobody touches it in another way while the result lives.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn atomics(&self, rank: usize) -> &[T::Atomic] {
        let segment = self.of(rank);
        // SAFETY: so many elements lie there, of the atomics' size and, as each lies at a multiple
        // of its size, alignment; all access is atomic, by this function's contract.
        unsafe { slice::from_raw_parts(segment.start.as_ptr().cast(), segment.len) }
    }
}

impl<T> Drop for Segments<T> {
    fn drop(&mut self) {
        self.leave_forgotten();
        if let Some(mark) = self.marks().get(self.rank) {
            mark.leave();
        }
        // SAFETY: it is taken once: `free` does not drop what it has taken it out of.
        drop(unsafe { ManuallyDrop::take(&mut self.region) });
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn no_rank(rank: usize, size: usize) -> ! {
    panic!(
        "rank {rank} has no segment: the window is of {}, from 0 to {}",
        Count(size, "rank"),
        size - 1
    )
}
