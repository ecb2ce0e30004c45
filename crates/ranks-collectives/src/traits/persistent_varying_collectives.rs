//! The trait with the collective operations on blocks of different lengths that are prepared once
//! and done many times.

use ranks_comm::{Communicator, Persistent, RecvBuffer, Result, SendBuffer};

use crate::arguments::blocks::Blocks;
use crate::arguments::layouts::Layouts;
use crate::in_flight::stable::Shape;
use crate::mpi::functions::{Allgatherv, Alltoallv, Alltoallw, Gatherv, ReduceScatter, Scatterv};
use crate::operation::moves;
use crate::operation::reductions;
use crate::ops::Reduction;
use crate::traits::sealed::Sealed;

/// Collective operations whose blocks are not all of the same length, prepared once, with their
/// buffers, and then started as often as they are needed.
///
/// Each does what the operation of [`VaryingCollectives`](crate::VaryingCollectives) without the
/// `_init` does that is told the blocks, and checks the same when it is prepared. Who calls when,
/// and what is done where the library has no such operations, is said at
/// [`PersistentCollectives`](crate::PersistentCollectives).
///
/// MPI 5.0 §6.13. The trait is implemented by [`Communicator`] and is sealed.
pub trait PersistentVaryingCollectives: Sealed {
    /// Prepares to collect the `send` of all ranks in `recv` of `root`, where `blocks` say.
    ///
    /// `send` is as long as the block of this rank. All ranks pass the same counts; elsewhere than
    /// at the root `recv` is not touched and may be empty.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths do not fit,
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if blocks overlap in memory that is written;
    /// otherwise what the library reports.
    ///
    /// MPI 5.0 §6.13.3 (`MPI_Gatherv_init`).
    #[doc(alias = "MPI_Gatherv_init")]
    #[doc(alias = "MPI_Gatherv_init_c")]
    fn gatherv_init<S, R>(
        &self,
        send: S,
        recv: R,
        blocks: &Blocks,
        root: usize,
    ) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::persistent::<Gatherv, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            (blocks.clone(), root),
            |(blocks, root)| (blocks, *root),
        )
    }

    /// Prepares to deal out `send` of `root`: each rank gets the block in `recv` that `blocks` say
    /// is its own.
    ///
    /// `recv` is as long as the block of this rank. All ranks pass the same counts; elsewhere than
    /// at the root `send` is not read and may be empty.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths do not fit,
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if blocks overlap in memory that is written;
    /// otherwise what the library reports.
    ///
    /// MPI 5.0 §6.13.4 (`MPI_Scatterv_init`).
    #[doc(alias = "MPI_Scatterv_init")]
    #[doc(alias = "MPI_Scatterv_init_c")]
    fn scatterv_init<S, R>(
        &self,
        send: S,
        blocks: &Blocks,
        recv: R,
        root: usize,
    ) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::persistent::<Scatterv, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            (blocks.clone(), root),
            |(blocks, root)| (blocks, *root),
        )
    }

    /// Prepares to collect the `send` of all ranks in `recv` of every rank, where `blocks` say.
    ///
    /// `send` is as long as the block of this rank. All ranks pass the same counts.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths do not fit,
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if blocks overlap in memory that is written;
    /// otherwise what the library reports.
    ///
    /// MPI 5.0 §6.13.5 (`MPI_Allgatherv_init`).
    #[doc(alias = "MPI_Allgatherv_init")]
    #[doc(alias = "MPI_Allgatherv_init_c")]
    fn allgatherv_init<S, R>(&self, send: S, recv: R, blocks: &Blocks) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::persistent::<Allgatherv, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            blocks.clone(),
            |blocks| blocks,
        )
    }

    /// Prepares to send each rank its block of `send`, and to receive one of each in `recv`.
    ///
    /// The block for rank r in `send_blocks` is as long as that of this rank in `recv_blocks`
    /// there.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths do not fit,
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if blocks overlap in memory that is written;
    /// otherwise what the library reports.
    ///
    /// MPI 5.0 §6.13.6 (`MPI_Alltoallv_init`).
    #[doc(alias = "MPI_Alltoallv_init")]
    #[doc(alias = "MPI_Alltoallv_init_c")]
    fn alltoallv_init<S, R>(
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
        moves::persistent::<Alltoallv, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            (send_blocks.clone(), recv_blocks.clone()),
            |(here, there)| (here, there),
        )
    }

    /// Prepares to send each rank what its layout takes of `send`, and to receive one part of each
    /// in `recv`.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if there is not a layout for each rank, or one
    /// does not fit its slice; [`Argument`](ranks_comm::ErrorKind::Argument) if an element is
    /// received into twice; otherwise what the library reports.
    ///
    /// MPI 5.0 §6.13.6 (`MPI_Alltoallw_init`).
    #[doc(alias = "MPI_Alltoallw_init")]
    #[doc(alias = "MPI_Alltoallw_init_c")]
    fn alltoallw_init<S, R>(
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
        moves::persistent::<Alltoallw, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            (send_layouts.clone(), recv_layouts.clone()),
            |(here, there)| (here, there),
        )
    }

    /// Prepares to reduce the `send` of all ranks with `op`, element by element; each rank gets in
    /// `recv` the block that `blocks` say is its own.
    ///
    /// Blocks lie one after the other. All ranks pass the same.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths do not fit,
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if the blocks do not lie so; otherwise what
    /// the library reports.
    ///
    /// MPI 5.0 §6.13.10 (`MPI_Reduce_scatter_init`).
    #[doc(alias = "MPI_Reduce_scatter_init")]
    #[doc(alias = "MPI_Reduce_scatter_init_c")]
    fn reduce_scatter_init<S, R, O>(
        &self,
        send: S,
        recv: R,
        blocks: &Blocks,
        op: O,
    ) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
        O: Reduction<R::Element> + Send + 'static,
    {
        reductions::persistent::<ReduceScatter, _, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            op,
            blocks.clone(),
            |blocks| blocks,
        )
    }
}

impl PersistentVaryingCollectives for Communicator {}
