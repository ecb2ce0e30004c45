//! The trait with the collective operations among the neighbours of a topology.

use bytemuck::Pod;
use ranks_comm::{Neighborhood, Result};

use crate::arguments::blocks::Blocks;
use crate::arguments::layouts::Layouts;
use crate::mpi::functions::{
    NeighborAllgather, NeighborAllgatherv, NeighborAlltoall, NeighborAlltoallv, NeighborAlltoallw,
};
use crate::operation::moves;

/// Operations in which every rank of a communicator with a topology takes part and exchanges data
/// with its neighbours.
///
/// A block is sent to each neighbour, and one comes from each, in the order of
/// [`out_neighbors`](Neighborhood::out_neighbors) and [`in_neighbors`](Neighborhood::in_neighbors):
/// in a [`Cartesian`](ranks_comm::Cartesian) grid for each dimension the rank before this one and
/// the rank after it. Where a neighbour is missing at the border of a grid, its block is there all
/// the same, but is not read, and is left as it is where it is received.
///
/// If a rank is a neighbour several times, the first block that is sent to it arrives as the first
/// that comes from there, and so on. In a grid it is not so: what is sent to the rank before
/// arrives from the rank after, also in a ring of two ranks or of one, where both are the same
/// rank. This holds with all libraries, though not all keep to it themselves.
///
/// ```
/// use ranks::collectives::NeighborCollectives;
///
/// # fn main() -> ranks::Result<()> {
/// # ranks::run(|world| {
/// let ring = world.cart_create(&[world.size()], &[true], false)?;
/// let ring = ring.expect("the ring has room for all ranks");
/// // One number to the left, another one to the right.
/// let mut from = [0; 2];
/// ring.neighbor_alltoall(&[ring.rank(), ring.rank() + 100], &mut from)?;
/// let (left, right) = ring.shift(0, 1)?;
/// assert_eq!([left.map(|rank| rank + 100), right], from.map(Some));
/// # Ok::<(), ranks::Error>(())
/// # })
/// # }
/// ```
///
/// # Lengths
///
/// Lengths count elements. What a rank can see for itself is checked before anything is sent, and
/// is an `Err` on that rank alone: [`Length`](ranks_comm::ErrorKind::Length) if slices do not hold
/// a block for each neighbour, or what a rank sends to itself is not as long as where it arrives;
/// [`Argument`](ranks_comm::ErrorKind::Argument) if blocks that are received overlap, or a
/// [`Graph`](ranks_comm::Graph) is not symmetric, so that ranks do not agree on being neighbours.
///
/// Each block is as long as the neighbour expects it. In builds with debug assertions, or where
/// [`Checks::Collective`](ranks_comm::Checks::Collective) is asked for, ranks compare before each
/// blocking operation that they call the same one, with the same element type, and the lengths at
/// both ends of each edge; lengths may differ from edge to edge. If they are not compared and
/// differ, what happens is said at
/// [`Collectives`](crate::Collectives#when-the-lengths-of-ranks-differ).
///
/// Blocks of 2³¹ items and more, or as far apart, need a library that counts so itself (MPI 4.0),
/// and are an error of kind [`NotInLibrary`](ranks_comm::ErrorKind::NotInLibrary) elsewhere, except
/// in [`neighbor_allgather`](Self::neighbor_allgather).
///
/// MPI 5.0 §8.6. The trait is implemented for every [`Neighborhood`].
pub trait NeighborCollectives: Neighborhood + Sized {
    /// Sends `send` to each neighbour, and receives as much from each in `recv`.
    ///
    /// `recv` is as many times as long as `send` as there are neighbours that send to this rank.
    ///
    /// # Errors
    /// Those [said above](NeighborCollectives#lengths); otherwise what the library reports.
    ///
    /// MPI 5.0 §8.6.1 (`MPI_Neighbor_allgather`).
    #[doc(alias = "MPI_Neighbor_allgather")]
    #[doc(alias = "MPI_Neighbor_allgather_c")]
    fn neighbor_allgather<T: Pod>(&self, send: &[T], recv: &mut [T]) -> Result<()> {
        moves::moved::<NeighborAllgather, T>(self, Some(send), recv, self)
    }

    /// Sends `send` to each neighbour, and receives what each sends in `recv`, where `blocks` say.
    ///
    /// There is a block for each neighbour that sends to this rank, as long as what it sends.
    ///
    /// # Errors
    /// Those [said above](NeighborCollectives#lengths); otherwise what the library reports.
    ///
    /// MPI 5.0 §8.6.1 (`MPI_Neighbor_allgatherv`).
    #[doc(alias = "MPI_Neighbor_allgatherv")]
    #[doc(alias = "MPI_Neighbor_allgatherv_c")]
    #[inline]
    fn neighbor_allgatherv<T: Pod>(
        &self,
        send: &[T],
        recv: &mut [T],
        blocks: &Blocks,
    ) -> Result<()> {
        moves::moved::<NeighborAllgatherv, T>(self, Some(send), recv, (self, blocks))
    }

    /// Sends each neighbour its block of `send`, and receives one of each in `recv`, all of the
    /// same length.
    ///
    /// # Errors
    /// Those [said above](NeighborCollectives#lengths); otherwise what the library reports.
    ///
    /// MPI 5.0 §8.6.2 (`MPI_Neighbor_alltoall`, or `MPI_Neighbor_alltoallv` where the library does
    /// not keep to the order of blocks).
    #[doc(alias = "MPI_Neighbor_alltoall")]
    #[doc(alias = "MPI_Neighbor_alltoall_c")]
    fn neighbor_alltoall<T: Pod>(&self, send: &[T], recv: &mut [T]) -> Result<()> {
        moves::moved::<NeighborAlltoall, T>(self, Some(send), recv, self)
    }

    /// Sends each neighbour its block of `send`, and receives one of each in `recv`, where the
    /// blocks say.
    ///
    /// Blocks of `send` may overlap.
    ///
    /// # Errors
    /// Those [said above](NeighborCollectives#lengths); otherwise what the library reports.
    ///
    /// MPI 5.0 §8.6.2 (`MPI_Neighbor_alltoallv`).
    #[doc(alias = "MPI_Neighbor_alltoallv")]
    #[doc(alias = "MPI_Neighbor_alltoallv_c")]
    #[inline]
    fn neighbor_alltoallv<T: Pod>(
        &self,
        send: &[T],
        send_blocks: &Blocks,
        recv: &mut [T],
        recv_blocks: &Blocks,
    ) -> Result<()> {
        moves::moved::<NeighborAlltoallv, T>(
            self,
            Some(send),
            recv,
            (self, send_blocks, recv_blocks),
        )
    }

    /// Sends each neighbour what its layout takes of `send`, and puts what comes from each where
    /// its layout says in `recv`.
    ///
    /// All that the halo of an array needs goes in one call, and is copied nowhere else. Layouts of
    /// `send` may overlap.
    ///
    /// # Errors
    /// Those [said above](NeighborCollectives#lengths), where a layout is what a block is;
    /// otherwise what the library reports.
    ///
    /// MPI 5.0 §8.6.2 (`MPI_Neighbor_alltoallw`).
    #[doc(alias = "MPI_Neighbor_alltoallw")]
    #[doc(alias = "MPI_Neighbor_alltoallw_c")]
    fn neighbor_alltoallw<T: Pod>(
        &self,
        send: &[T],
        send_layouts: &Layouts,
        recv: &mut [T],
        recv_layouts: &Layouts,
    ) -> Result<()> {
        moves::moved::<NeighborAlltoallw, T>(
            self,
            Some(send),
            recv,
            (self, send_layouts, recv_layouts),
        )
    }
}

impl<N: Neighborhood> NeighborCollectives for N {}
