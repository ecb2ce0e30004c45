//! The trait with the operations among neighbours that are prepared once and done many times.

use ranks_comm::{Neighborhood, Persistent, RecvBuffer, Result, SendBuffer};

use crate::blocks::Blocks;
use crate::lasting::{Shape, prepared};
use crate::layouts::Layouts;
use crate::neighbors;

/// Operations among neighbours that are prepared once, with their buffers, and then started as often as they are needed.
///
/// Each does what the operation of [`NeighborCollectives`](crate::NeighborCollectives) without the `_init` does, and checks
/// and compares the same when it is prepared. Who calls when, and what is done where the library has no such
/// operations, is said at [`PersistentCollectives`](crate::PersistentCollectives).
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
        let around = self.clone();
        prepared(
            self,
            &neighbors::ALLGATHER_INIT,
            (send, recv),
            Shape::both(),
            |slices| neighbors::neighbor_allgather_init(self, slices),
            move |comm, slices| neighbors::ineighbor_allgather(comm, &around, slices),
        )
    }

    /// Prepares to send `send` to each neighbour, and to receive what each sends in `recv`, where `blocks` say.
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
        let around = self.clone();
        let blocks_again = blocks.clone();
        prepared(
            self,
            &neighbors::ALLGATHERV_INIT,
            (send, recv),
            Shape::both(),
            |slices| neighbors::neighbor_allgatherv_init(self, slices, blocks),
            move |comm, slices| {
                neighbors::ineighbor_allgatherv(comm, &around, slices, &blocks_again)
            },
        )
    }

    /// Prepares to send each neighbour its block of `send`, and to receive one of each in `recv`, all of the same length.
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
        let around = self.clone();
        prepared(
            self,
            &neighbors::ALLTOALL_INIT,
            (send, recv),
            Shape::both(),
            |slices| neighbors::neighbor_alltoall_init(self, slices),
            move |comm, slices| neighbors::ineighbor_alltoall(comm, &around, slices),
        )
    }

    /// Prepares to send each neighbour its block of `send`, and to receive one of each in `recv`, where the blocks say.
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
        recv: R,
        send_blocks: &Blocks,
        recv_blocks: &Blocks,
    ) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        let around = self.clone();
        let send_blocks_again = send_blocks.clone();
        let recv_blocks_again = recv_blocks.clone();
        prepared(
            self,
            &neighbors::ALLTOALLV_INIT,
            (send, recv),
            Shape::both(),
            |slices| neighbors::neighbor_alltoallv_init(self, slices, send_blocks, recv_blocks),
            move |comm, slices| {
                neighbors::ineighbor_alltoallv(
                    comm,
                    &around,
                    slices,
                    &send_blocks_again,
                    &recv_blocks_again,
                )
            },
        )
    }

    /// Prepares to send each neighbour what its layout takes of `send`, and to receive one part of each in `recv`.
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
        let around = self.clone();
        let again = (send_layouts.clone(), recv_layouts.clone());
        prepared(
            self,
            &neighbors::ALLTOALLW_INIT,
            (send, recv),
            Shape::both(),
            |slices| neighbors::neighbor_alltoallw_init(self, slices, send_layouts, recv_layouts),
            move |comm, slices| {
                neighbors::ineighbor_alltoallw(comm, &around, slices, &again.0, &again.1)
            },
        )
    }
}

impl<N: Neighborhood + Clone + Send + 'static> PersistentNeighborCollectives for N {}
