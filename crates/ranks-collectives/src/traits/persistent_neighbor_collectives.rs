//! The trait with the operations among neighbours that are prepared once and done many times.

use ranks_comm::{Neighborhood, Persistent, RecvBuffer, Result, SendBuffer};

use crate::arguments::blocks::Blocks;
use crate::arguments::layouts::Layouts;
use crate::in_flight::stable::Shape;
use crate::mpi::functions::{
    NeighborAllgather, NeighborAllgatherv, NeighborAlltoall, NeighborAlltoallv, NeighborAlltoallw,
};
use crate::operation::moves;

/// Operations among neighbours that are prepared once, with their buffers, and then started as
/// often as they are needed.
///
/// Each does what the operation of [`NeighborCollectives`](crate::NeighborCollectives) without the
/// `_init` does, and checks and compares the same when it is prepared. Who calls when, and what is
/// done where the library has no such operations, is said at
/// [`PersistentCollectives`](crate::PersistentCollectives).
///
/// MPI 5.0 §8.8. The trait is implemented for every [`Neighborhood`] that can be cloned.
pub trait PersistentNeighborCollectives: Neighborhood + Clone + Send + 'static {
    /// Prepares to send `send` to each neighbour, and to receive as much from each in `recv`.
    ///
    /// # Errors
    /// As [`neighbor_allgather`](crate::NeighborCollectives::neighbor_allgather).
    ///
    /// MPI 5.0 §8.8.1 (`MPI_Neighbor_allgather_init`).
    #[doc(alias = "MPI_Neighbor_allgather_init")]
    #[doc(alias = "MPI_Neighbor_allgather_init_c")]
    fn neighbor_allgather_init<S, R>(&self, send: S, recv: R) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::persistent::<NeighborAllgather, _, _, _, _>(
            self,
            (send, recv),
            Shape::both(),
            self.clone(),
            |around| around,
        )
    }

    /// Prepares to send `send` to each neighbour, and to receive what each sends in `recv`, where
    /// `blocks` say.
    ///
    /// # Errors
    /// As [`neighbor_allgatherv`](crate::NeighborCollectives::neighbor_allgatherv).
    ///
    /// MPI 5.0 §8.8.1 (`MPI_Neighbor_allgatherv_init`).
    #[doc(alias = "MPI_Neighbor_allgatherv_init")]
    #[doc(alias = "MPI_Neighbor_allgatherv_init_c")]
    fn neighbor_allgatherv_init<S, R>(
        &self,
        send: S,
        recv: R,
        blocks: &Blocks,
    ) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::persistent::<NeighborAllgatherv, _, _, _, _>(
            self,
            (send, recv),
            Shape::both(),
            (self.clone(), blocks.clone()),
            |(around, blocks)| (around, blocks),
        )
    }

    /// Prepares to send each neighbour its block of `send`, and to receive one of each in `recv`,
    /// all of the same length.
    ///
    /// # Errors
    /// As [`neighbor_alltoall`](crate::NeighborCollectives::neighbor_alltoall).
    ///
    /// MPI 5.0 §8.8.2 (`MPI_Neighbor_alltoall_init`, by way of `MPI_Neighbor_alltoallv_init`).
    #[doc(alias = "MPI_Neighbor_alltoall_init")]
    #[doc(alias = "MPI_Neighbor_alltoall_init_c")]
    fn neighbor_alltoall_init<S, R>(&self, send: S, recv: R) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::persistent::<NeighborAlltoall, _, _, _, _>(
            self,
            (send, recv),
            Shape::both(),
            self.clone(),
            |around| around,
        )
    }

    /// Prepares to send each neighbour its block of `send`, and to receive one of each in `recv`,
    /// where the blocks say.
    ///
    /// # Errors
    /// As [`neighbor_alltoallv`](crate::NeighborCollectives::neighbor_alltoallv).
    ///
    /// MPI 5.0 §8.8.2 (`MPI_Neighbor_alltoallv_init`).
    #[doc(alias = "MPI_Neighbor_alltoallv_init")]
    #[doc(alias = "MPI_Neighbor_alltoallv_init_c")]
    fn neighbor_alltoallv_init<S, R>(
        &self,
        send: S,
        send_blocks: &Blocks,
        recv: R,
        recv_blocks: &Blocks,
    ) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::persistent::<NeighborAlltoallv, _, _, _, _>(
            self,
            (send, recv),
            Shape::both(),
            (self.clone(), send_blocks.clone(), recv_blocks.clone()),
            |(around, here, there)| (around, here, there),
        )
    }

    /// Prepares to send each neighbour what its layout takes of `send`, and to receive one part of
    /// each in `recv`.
    ///
    /// # Errors
    /// As [`neighbor_alltoallw`](crate::NeighborCollectives::neighbor_alltoallw).
    ///
    /// MPI 5.0 §8.8.2 (`MPI_Neighbor_alltoallw_init`).
    #[doc(alias = "MPI_Neighbor_alltoallw_init")]
    #[doc(alias = "MPI_Neighbor_alltoallw_init_c")]
    fn neighbor_alltoallw_init<S, R>(
        &self,
        send: S,
        recv: R,
        send_layouts: &Layouts,
        recv_layouts: &Layouts,
    ) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::persistent::<NeighborAlltoallw, _, _, _, _>(
            self,
            (send, recv),
            Shape::both(),
            (self.clone(), send_layouts.clone(), recv_layouts.clone()),
            |(around, here, there)| (around, here, there),
        )
    }
}

impl<N: Neighborhood + Clone + Send + 'static> PersistentNeighborCollectives for N {}
