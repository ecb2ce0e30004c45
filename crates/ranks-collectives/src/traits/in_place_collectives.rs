//! The trait with the collective operations that need one slice only.

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};

use crate::mpi::functions::{
    Allgather, Allreduce, Alltoall, Exscan, Gather, Reduce, ReduceScatterBlock, Scan, Scatter,
};
use crate::operation::moves;
use crate::operation::reductions;
use crate::ops::{Op, Reduction};
use crate::traits::sealed::Sealed;

/// Collective operations whose input lies where their output goes.
///
/// All ranks of an operation call the form of this trait, or at a rooted operation those that it
/// concerns: a rank that is not the root may as well call the form of
/// [`Collectives`](crate::Collectives), which means the same there. Operations on blocks of
/// different lengths have their forms in place in
/// [`VaryingCollectives`](crate::VaryingCollectives).
///
/// All that is said of [`Collectives`](crate::Collectives) holds here. After an error the contents
/// of the slice are unspecified, unless the error is of a rank's own arguments.
///
/// MPI 5.0 §6.2.3 (`MPI_IN_PLACE`). The trait is implemented by [`Communicator`] and is sealed.
#[doc(alias = "MPI_IN_PLACE")]
pub trait InPlaceCollectives: Sealed {
    /// Reduces the `data` of all ranks with `op`, element by element, into `data` of `root`.
    ///
    /// Elsewhere `data` stays as it is. On libraries of the MPICH family a root that is not rank 0
    /// makes a copy of it, since some of them fail otherwise.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.9.1 (`MPI_Reduce`).
    #[doc(alias = "MPI_Reduce")]
    fn reduce_in_place<T: Pod, O: Reduction<T>>(
        &self,
        data: &mut [T],
        op: O,
        root: usize,
    ) -> Result<()> {
        reductions::reduce_in_place::<Reduce, T, O>(self.communicator(), data, op, root)
    }

    /// Reduces the `data` of all ranks with `op`, element by element, into `data` of every rank.
    ///
    /// ```
    /// use ranks::collectives::{InPlaceCollectives, ops::Avg};
    ///
    /// fn average(world: &ranks::Communicator, gradients: &mut [f32]) -> ranks::Result<()> {
    ///     world.allreduce_in_place(gradients, Avg)
    /// }
    /// ```
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §6.9.6 (`MPI_Allreduce`).
    #[doc(alias = "MPI_Allreduce")]
    fn allreduce_in_place<T: Pod, O: Reduction<T>>(&self, data: &mut [T], op: O) -> Result<()> {
        reductions::reduce_in_place::<Allreduce, T, O>(self.communicator(), data, op, ())
    }

    /// Reduces the `data` of the ranks from 0 up to this one with `op`, element by element, into
    /// `data`.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §6.11.1 (`MPI_Scan`).
    #[doc(alias = "MPI_Scan")]
    fn scan_in_place<T: Pod, O: Op<T>>(&self, data: &mut [T], op: O) -> Result<()> {
        reductions::reduce_in_place::<Scan, T, O>(self.communicator(), data, op, ())
    }

    /// Reduces the `data` of the ranks below this one with `op`, element by element, into `data`.
    ///
    /// On rank 0, which has none below it, `data` stays as it is.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §6.11.2 (`MPI_Exscan`).
    #[doc(alias = "MPI_Exscan")]
    fn exscan_in_place<T: Pod, O: Op<T>>(&self, data: &mut [T], op: O) -> Result<()> {
        reductions::reduce_in_place::<Exscan, T, O>(self.communicator(), data, op, ())
    }

    /// Reduces the `data` of all ranks with `op`, element by element, and gives rank r the r-th
    /// block of the result at the beginning of its `data`.
    ///
    /// `data` is cut into `size` blocks of the same length. What is behind the first is unspecified
    /// afterwards.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if it cannot be cut so; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.10.1 (`MPI_Reduce_scatter_block`).
    #[doc(alias = "MPI_Reduce_scatter_block")]
    fn reduce_scatter_block_in_place<T: Pod, O: Reduction<T>>(
        &self,
        data: &mut [T],
        op: O,
    ) -> Result<()> {
        reductions::reduce_in_place::<ReduceScatterBlock, T, O>(self.communicator(), data, op, ())
    }

    /// Collects a block of each rank in `data` of `root`, in the order of ranks.
    ///
    /// At the root `data` is cut into `size` blocks of the same length, and its own is already in
    /// its place. Elsewhere `data` is the block that is sent, and stays as it is.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if `data` of the root cannot be cut so; otherwise
    /// what the library reports.
    ///
    /// MPI 5.0 §6.5 (`MPI_Gather`).
    #[doc(alias = "MPI_Gather")]
    fn gather_in_place<T: Pod>(&self, data: &mut [T], root: usize) -> Result<()> {
        moves::moved_in_place::<Gather, T>(self.communicator(), data, root)
    }

    /// Collects a block of each rank in `data` of every rank, in the order of ranks.
    ///
    /// `data` is cut into `size` blocks of the same length, and that of this rank is already in its
    /// place.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if it cannot be cut so; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.7 (`MPI_Allgather`).
    #[doc(alias = "MPI_Allgather")]
    fn allgather_in_place<T: Pod>(&self, data: &mut [T]) -> Result<()> {
        moves::moved_in_place::<Allgather, T>(self.communicator(), data, ())
    }

    /// Deals out `data` of `root`: rank r gets the r-th block of it in its `data`, and the root
    /// keeps its own in its place.
    ///
    /// At the root `data` is cut into `size` blocks of the same length, and stays as it is.
    /// Elsewhere it is one block.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if `data` of the root cannot be cut so; otherwise
    /// what the library reports.
    ///
    /// MPI 5.0 §6.6 (`MPI_Scatter`).
    #[doc(alias = "MPI_Scatter")]
    fn scatter_in_place<T: Pod>(&self, data: &mut [T], root: usize) -> Result<()> {
        moves::moved_in_place::<Scatter, T>(self.communicator(), data, root)
    }

    /// Sends the r-th block of `data` to rank r, and puts that of rank r in its place.
    ///
    /// `data` is cut into `size` blocks of the same length.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if it cannot be cut so; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.8 (`MPI_Alltoall`).
    #[doc(alias = "MPI_Alltoall")]
    fn alltoall_in_place<T: Pod>(&self, data: &mut [T]) -> Result<()> {
        moves::moved_in_place::<Alltoall, T>(self.communicator(), data, ())
    }
}

impl InPlaceCollectives for Communicator {}
