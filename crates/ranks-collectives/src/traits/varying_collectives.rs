//! The trait with the collective operations on blocks of different lengths.

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};

use crate::arguments::blocks::Blocks;
use crate::arguments::layouts::Layouts;
use crate::mpi::functions::{Allgatherv, Alltoallv, Alltoallw, Gatherv, ReduceScatter, Scatterv};
use crate::operation::moves;
use crate::operation::reductions;
use crate::operation::varying::allgatherv;
use crate::operation::varying::alltoallv;
use crate::operation::varying::gathered::Gathered;
use crate::operation::varying::gatherv;
use crate::operation::varying::scatterv;
use crate::ops::Reduction;
use crate::traits::sealed::Sealed;

/// Collective operations whose blocks are not all of the same length.
///
/// Each comes in forms that differ in what the ranks know:
///
/// * `allgatherv` and the like **find out** the lengths by an exchange of their own, of 8 bytes
///   from each rank (or, for `alltoallv`, from each to each), and allocate what they return.
/// * `allgatherv_again` and `alltoallv_again` find them out too, and receive into the memory of an
///   earlier result. Once that is large enough they allocate the lengths alone, and write nothing
///   but what arrives.
/// * `alltoallv_from` sends what is not in one slice, and copies it into one.
/// * `allgatherv_into` and the like are **told** them as [`Blocks`], which say how long each rank's
///   block is and where. They exchange nothing but the data, and allocate nothing. All ranks,
///   whether they are the root or not, pass the same counts; displacements may be each rank's own,
///   and are not looked at where there is no slice that they are of.
/// * `allgatherv_in_place` and the like are told them too, and need no second slice.
///
/// All that a rank can see for itself is checked before anything is sent, and is an `Err` on that
/// rank alone: [`Root`](ranks_comm::ErrorKind::Root) for a root that does not exist;
/// [`Length`](ranks_comm::ErrorKind::Length) if there is not a block for each rank, a block ends
/// behind its slice, or a slice is not as long as the block that it stands for;
/// [`Argument`](ranks_comm::ErrorKind::Argument) if blocks that are received overlap. Blocks of
/// length zero are fine everywhere, and elements between blocks are not touched.
///
/// That ranks agree on the counts is compared where
/// [`Checks::Collective`](ranks_comm::Checks::Collective) is in force, and nowhere else; what
/// happens if they do not is said at [`Collectives`](crate::Collectives). The forms that find out
/// the lengths cannot go wrong in that way.
///
/// MPI 5.0 chapter 6. The trait is implemented by [`Communicator`] and is sealed.
pub trait VaryingCollectives: Sealed {
    /// Collects the `send` of all ranks on every rank, in the order of ranks, however long each is.
    ///
    /// Two exchanges: the lengths, then the elements.
    ///
    /// ```
    /// use ranks::collectives::VaryingCollectives;
    ///
    /// fn names(world: &ranks::Communicator, mine: &str) -> ranks::Result<Vec<String>> {
    ///     let all = world.allgatherv(mine.as_bytes())?;
    ///     let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    ///     Ok(all.iter_blocks().map(text).collect())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if there is no memory for so much; otherwise what
    /// the library reports.
    ///
    /// MPI 5.0 §6.7 (`MPI_Allgatherv`).
    #[doc(alias = "MPI_Allgatherv")]
    fn allgatherv<T: Pod>(&self, send: &[T]) -> Result<Gathered<T>> {
        allgatherv::allgatherv(self.communicator(), send)
    }

    /// As [`allgatherv`](Self::allgatherv), into the memory of `gathered`, which grows if it must.
    ///
    /// ```
    /// use ranks::collectives::{Gathered, VaryingCollectives};
    ///
    /// fn steps(world: &ranks::Communicator, mut mine: Vec<f64>) -> ranks::Result<()> {
    ///     let mut all = Gathered::default();
    ///     for _ in 0..1000 {
    ///         world.allgatherv_again(&mine, &mut all)?;
    ///         mine.retain(|x| all.iter().any(|y| y > x));
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`allgatherv`](Self::allgatherv); what `gathered` holds is unspecified then.
    ///
    /// MPI 5.0 §6.7 (`MPI_Allgatherv`).
    #[doc(alias = "MPI_Allgatherv")]
    fn allgatherv_again<T: Pod>(&self, send: &[T], gathered: &mut Gathered<T>) -> Result<()> {
        allgatherv::allgatherv_again(self.communicator(), send, gathered)
    }

    /// Collects the `send` of all ranks in `recv` of every rank, where `blocks` say.
    ///
    /// `send` is as long as the block of this rank.
    ///
    /// ```
    /// use ranks::collectives::{Blocks, VaryingCollectives};
    ///
    /// /// Each rank computes its share of `field`, and gets the others'.
    /// fn share(world: &ranks::Communicator, field: &mut [f64]) -> ranks::Result<()> {
    ///     let blocks = Blocks::even(field.len(), world.size());
    ///     let mine: Vec<f64> = blocks.range(world.rank()).map(|i| (i as f64).sqrt()).collect();
    ///     world.allgatherv_into(&mine, field, &blocks)
    /// }
    /// ```
    ///
    /// # Errors
    /// Those [said above](VaryingCollectives); otherwise what the library reports.
    ///
    /// MPI 5.0 §6.7 (`MPI_Allgatherv`).
    #[doc(alias = "MPI_Allgatherv")]
    #[doc(alias = "MPI_Allgatherv_c")]
    #[inline]
    fn allgatherv_into<T: Pod>(&self, send: &[T], recv: &mut [T], blocks: &Blocks) -> Result<()> {
        allgatherv::allgatherv_into(self.communicator(), send, recv, blocks)
    }

    /// Collects a block of each rank in `data` of every rank, where that of this rank is already in
    /// its place.
    ///
    /// # Errors
    /// Those [said above](VaryingCollectives); otherwise what the library reports.
    ///
    /// MPI 5.0 §6.7 (`MPI_Allgatherv`).
    #[doc(alias = "MPI_Allgatherv")]
    fn allgatherv_in_place<T: Pod>(&self, data: &mut [T], blocks: &Blocks) -> Result<()> {
        moves::moved_in_place::<Allgatherv, T>(self.communicator(), data, blocks)
    }

    /// Collects the `send` of all ranks at `root`, in the order of ranks, however long each is;
    /// `None` elsewhere.
    ///
    /// Two exchanges: the lengths, which every rank gets, then the elements.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if there is no memory for so much at the root;
    /// otherwise what the library reports.
    ///
    /// MPI 5.0 §6.5 (`MPI_Gatherv`).
    #[doc(alias = "MPI_Gatherv")]
    fn gatherv<T: Pod>(&self, send: &[T], root: usize) -> Result<Option<Gathered<T>>> {
        gatherv::gatherv(self.communicator(), send, root)
    }

    /// Collects the `send` of all ranks in `recv` of `root`, where its `blocks` say.
    ///
    /// `send` is as long as the block of this rank. Where this is not the root, `recv` is not
    /// touched and may be `&mut []`.
    ///
    /// # Errors
    /// Those [said above](VaryingCollectives); otherwise what the library reports.
    ///
    /// MPI 5.0 §6.5 (`MPI_Gatherv`).
    #[doc(alias = "MPI_Gatherv")]
    #[doc(alias = "MPI_Gatherv_c")]
    fn gatherv_into<T: Pod>(
        &self,
        send: &[T],
        recv: &mut [T],
        blocks: &Blocks,
        root: usize,
    ) -> Result<()> {
        gatherv::gatherv_into(self.communicator(), send, recv, blocks, root)
    }

    /// Collects a block of each rank in `data` of `root`, where its own is already in its place.
    ///
    /// Elsewhere `data` is the block that is sent, and stays as it is.
    ///
    /// # Errors
    /// Those [said above](VaryingCollectives); otherwise what the library reports.
    ///
    /// MPI 5.0 §6.5 (`MPI_Gatherv`).
    #[doc(alias = "MPI_Gatherv")]
    fn gatherv_in_place<T: Pod>(&self, data: &mut [T], blocks: &Blocks, root: usize) -> Result<()> {
        moves::moved_in_place::<Gatherv, T>(self.communicator(), data, (blocks, root))
    }

    /// Deals out `send` of `root`: each rank gets the block for it, however long that is.
    ///
    /// Two exchanges: the lengths, which every rank gets, then the elements. Where this is not the
    /// root, `send` and `blocks` are not looked at and may be `&[]` and `&Blocks::default()`.
    ///
    /// # Errors
    /// Those [said above](VaryingCollectives), and [`Length`](ranks_comm::ErrorKind::Length) if
    /// there is no memory for the block; otherwise what the library reports.
    ///
    /// MPI 5.0 §6.6 (`MPI_Scatterv`).
    #[doc(alias = "MPI_Scatterv")]
    fn scatterv<T: Pod>(&self, send: &[T], blocks: &Blocks, root: usize) -> Result<Vec<T>> {
        scatterv::scatterv(self.communicator(), send, blocks, root)
    }

    /// Deals out `send` of `root`, which its `blocks` divide: each rank gets the block for it in
    /// `recv`.
    ///
    /// `recv` is as long as the block of this rank. Where this is not the root, `send` is not read
    /// and may be `&[]`. The blocks at the root must not overlap, as the standard asks.
    ///
    /// # Errors
    /// Those [said above](VaryingCollectives); otherwise what the library reports.
    ///
    /// MPI 5.0 §6.6 (`MPI_Scatterv`).
    #[doc(alias = "MPI_Scatterv")]
    #[doc(alias = "MPI_Scatterv_c")]
    fn scatterv_into<T: Pod>(
        &self,
        send: &[T],
        blocks: &Blocks,
        recv: &mut [T],
        root: usize,
    ) -> Result<()> {
        scatterv::scatterv_into(self.communicator(), send, blocks, recv, root)
    }

    /// Deals out `data` of `root`, which its `blocks` divide and which keeps its own block in its
    /// place.
    ///
    /// Elsewhere `data` is as long as the block of this rank, and gets it.
    ///
    /// # Errors
    /// Those [said above](VaryingCollectives); otherwise what the library reports.
    ///
    /// MPI 5.0 §6.6 (`MPI_Scatterv`).
    #[doc(alias = "MPI_Scatterv")]
    fn scatterv_in_place<T: Pod>(
        &self,
        data: &mut [T],
        blocks: &Blocks,
        root: usize,
    ) -> Result<()> {
        moves::moved_in_place::<Scatterv, T>(self.communicator(), data, (blocks, root))
    }

    /// Sends each rank the block of `send` for it, and returns what each has sent to this one.
    ///
    /// Two exchanges: the lengths, then the elements. Blocks of `send` may overlap.
    ///
    /// # Errors
    /// Those [said above](VaryingCollectives), and [`Length`](ranks_comm::ErrorKind::Length) if
    /// there is no memory for so much; otherwise as [`alltoallv_into`](Self::alltoallv_into).
    ///
    /// MPI 5.0 §6.8 (`MPI_Alltoallv`).
    #[doc(alias = "MPI_Alltoallv")]
    fn alltoallv<T: Pod>(&self, send: &[T], blocks: &Blocks) -> Result<Gathered<T>> {
        alltoallv::alltoallv(self.communicator(), send, blocks)
    }

    /// As [`alltoallv`](Self::alltoallv), into the memory of `gathered`, which grows if it must.
    ///
    /// # Errors
    /// As [`alltoallv`](Self::alltoallv); what `gathered` holds is unspecified then.
    ///
    /// MPI 5.0 §6.8 (`MPI_Alltoallv`).
    #[doc(alias = "MPI_Alltoallv")]
    fn alltoallv_again<T: Pod>(
        &self,
        send: &[T],
        blocks: &Blocks,
        gathered: &mut Gathered<T>,
    ) -> Result<()> {
        alltoallv::alltoallv_again(self.communicator(), send, blocks, gathered)
    }

    /// Sends each rank the parts for it, and returns what each has sent to this one.
    ///
    /// A part is a rank and a slice, a `Vec` or the like. They come in any order; those for one
    /// rank arrive one after the other, as one block. They are copied into one slice first; then it
    /// is as [`alltoallv`](Self::alltoallv), with two exchanges in which all ranks send to all.
    /// Where each sends to few, [`SparseExchange`](crate::SparseExchange) does not.
    ///
    /// ```
    /// use ranks::collectives::{Gathered, VaryingCollectives};
    ///
    /// /// `bins[r]` goes to rank r.
    /// fn deal(world: &ranks::Communicator, bins: &[Vec<u32>]) -> ranks::Result<Gathered<u32>> {
    ///     world.alltoallv_from(bins.iter().enumerate())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Rank`](ranks_comm::ErrorKind::Rank) if a part is for a rank that does not exist; otherwise
    /// as [`alltoallv`](Self::alltoallv).
    ///
    /// MPI 5.0 §6.8 (`MPI_Alltoallv`).
    #[doc(alias = "MPI_Alltoallv")]
    fn alltoallv_from<T: Pod, S: AsRef<[T]>>(
        &self,
        parts: impl IntoIterator<Item = (usize, S)>,
    ) -> Result<Gathered<T>> {
        alltoallv::alltoallv_from(self.communicator(), parts)
    }

    /// Sends each rank the block of `send` for it, and receives that of each rank in `recv`, where
    /// `recv_blocks` say.
    ///
    /// The block that rank i sends to rank j is as long as that in which rank j receives it. Blocks
    /// of `send` may overlap.
    ///
    /// # Errors
    /// Those [said above](VaryingCollectives).
    /// [`NotInLibrary`](ranks_comm::ErrorKind::NotInLibrary) if a rank's blocks are 2³¹ items or
    /// more together, or lie as far apart, and the library is older than MPI 4: no rank knows what
    /// the others' blocks are like, so that it cannot be done in another way. Otherwise what the
    /// library reports.
    ///
    /// MPI 5.0 §6.8 (`MPI_Alltoallv`).
    #[doc(alias = "MPI_Alltoallv")]
    #[doc(alias = "MPI_Alltoallv_c")]
    fn alltoallv_into<T: Pod>(
        &self,
        send: &[T],
        send_blocks: &Blocks,
        recv: &mut [T],
        recv_blocks: &Blocks,
    ) -> Result<()> {
        alltoallv::alltoallv_into(self.communicator(), send, recv, (send_blocks, recv_blocks))
    }

    /// Sends each rank the block of `data` for it, and puts that of each rank in its place.
    ///
    /// The block that rank i sends to rank j is as long as that which rank j sends to rank i.
    ///
    /// # Errors
    /// As [`alltoallv_into`](Self::alltoallv_into).
    ///
    /// MPI 5.0 §6.8 (`MPI_Alltoallv`).
    #[doc(alias = "MPI_Alltoallv")]
    fn alltoallv_in_place<T: Pod>(&self, data: &mut [T], blocks: &Blocks) -> Result<()> {
        moves::moved_in_place::<Alltoallv, T>(self.communicator(), data, (blocks, blocks))
    }

    /// Sends each rank what the layout for it takes of `send`, and puts what comes from each where
    /// its layout says in `recv`.
    ///
    /// The layout of rank i for rank j takes as many elements as that of rank j for rank i. Layouts
    /// of `send` may overlap, those of `recv` may not. A layout is made a datatype once, when it is
    /// first used.
    ///
    /// ```
    /// use ranks::collectives::{Layouts, VaryingCollectives};
    /// use ranks::layout::Layout;
    ///
    /// /// Each rank has one row of a square matrix, and gets one column.
    /// fn transpose(world: &ranks::Communicator, row: &[f64], column: &mut [f64]) -> ranks::Result<()> {
    ///     let one_for_each = Layouts::new((0..world.size()).map(|rank| Layout::contiguous(1).at(rank)));
    ///     world.alltoallw(row, &one_for_each, column, &one_for_each)
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if there is not a layout for each rank, one
    /// reaches behind its slice, or the two of this rank differ in their number of elements;
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if layouts of `recv` overlap; otherwise what
    /// the library reports.
    ///
    /// MPI 5.0 §6.8 (`MPI_Alltoallw`).
    #[doc(alias = "MPI_Alltoallw")]
    #[doc(alias = "MPI_Alltoallw_c")]
    fn alltoallw<T: Pod>(
        &self,
        send: &[T],
        send_layouts: &Layouts,
        recv: &mut [T],
        recv_layouts: &Layouts,
    ) -> Result<()> {
        moves::moved::<Alltoallw, T>(
            self.communicator(),
            Some(send),
            recv,
            (send_layouts, recv_layouts),
        )
    }

    /// Reduces the `send` of all ranks with `op`, element by element, and gives each rank its block
    /// of the result in `recv`.
    ///
    /// `blocks` divide `send`, one after the other ([`Blocks::from_counts`]); `recv` is as long as
    /// the block of this rank.
    ///
    /// # Errors
    /// Those [said above](VaryingCollectives), and [`Argument`](ranks_comm::ErrorKind::Argument) if
    /// the blocks do not lie one after the other; otherwise what the library reports.
    ///
    /// MPI 5.0 §6.10.2 (`MPI_Reduce_scatter`).
    #[doc(alias = "MPI_Reduce_scatter")]
    #[doc(alias = "MPI_Reduce_scatter_c")]
    fn reduce_scatter<T: Pod, O: Reduction<T>>(
        &self,
        send: &[T],
        recv: &mut [T],
        blocks: &Blocks,
        op: O,
    ) -> Result<()> {
        reductions::reduce::<ReduceScatter, T, O>(self.communicator(), send, recv, op, blocks)
    }

    /// The same, with the result at the beginning of `data`. What is behind it is unspecified
    /// afterwards.
    ///
    /// # Errors
    /// As [`reduce_scatter`](Self::reduce_scatter).
    ///
    /// MPI 5.0 §6.10.2 (`MPI_Reduce_scatter`).
    #[doc(alias = "MPI_Reduce_scatter")]
    fn reduce_scatter_in_place<T: Pod, O: Reduction<T>>(
        &self,
        data: &mut [T],
        blocks: &Blocks,
        op: O,
    ) -> Result<()> {
        reductions::reduce_in_place::<ReduceScatter, T, O>(self.communicator(), data, op, blocks)
    }
}

impl VaryingCollectives for Communicator {}
