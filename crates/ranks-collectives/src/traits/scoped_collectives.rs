//! The trait with the collective operations that return at once and borrow their slices.

use bytemuck::Pod;
use ranks_comm::{Result, Scope, ScopedRequest};

use crate::arguments::blocks::Blocks;
use crate::arguments::layouts::Layouts;
use crate::mpi::functions::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Alltoallw, Bcast, Exscan, Gather,
    Gatherv, Reduce, ReduceScatter, ReduceScatterBlock, Scan, Scatter, Scatterv,
};
use crate::operation::moves;
use crate::operation::reductions;
use crate::ops::{Op, Reduction};
use crate::traits::sealed::ScopeSealed;

/// Collective operations on borrowed slices, begun in a [`Scope`] and over when it ends, or when
/// they are waited for.
///
/// All that is said of [`NonblockingCollectives`](crate::NonblockingCollectives) holds here. A
/// [`ScopedRequest`] gives back the slice that is received into; what is sent stays borrowed until
/// the scope ends.
///
/// ```
/// use ranks::collectives::{ScopedCollectives, ops::{Max, Sum}};
///
/// fn mean_and_peak(world: &ranks::Communicator, mine: f64) -> ranks::Result<(f64, f64)> {
///     let (mine, mut sum, mut peak) = ([mine], [0.0], [0.0]);
///     world.scope(|s| {
///         s.iallreduce(&mine, &mut sum, Sum)?;
///         s.iallreduce(&mine, &mut peak, Max)?;
///         ranks::Result::Ok(())
///     })?;
///     Ok((sum[0] / world.size() as f64, peak[0]))
/// }
/// ```
///
/// If a scope is left by a panic while other ranks do not take part, nothing can end the operation:
/// the job is aborted after ten seconds, as
/// [`Communicator::scope`](ranks_comm::Communicator::scope) says.
///
/// MPI 5.0 §6.12. The trait is implemented by [`Scope`] and is sealed.
pub trait ScopedCollectives<'scope, 'env: 'scope>: ScopeSealed<'scope, 'env> {
    /// Begins to copy `data` of `root` to every rank. All ranks pass slices of the same length.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.12.2 (`MPI_Ibcast`).
    #[doc(alias = "MPI_Ibcast")]
    fn ibcast<T: Pod>(
        &'scope self,
        data: &'scope mut [T],
        root: usize,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        moves::scoped_one::<Bcast, T>(self.scope(), data, root)
    }

    /// Begins to collect the `send` of all ranks in `recv` of `root`, in the order of ranks.
    ///
    /// At the root `recv` is `size` times as long as `send`. Elsewhere it is not touched and may be
    /// empty.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths at the root do not fit; otherwise
    /// what the library reports.
    ///
    /// MPI 5.0 §6.12.3 (`MPI_Igather`).
    #[doc(alias = "MPI_Igather")]
    fn igather<T: Pod>(
        &'scope self,
        send: &'scope [T],
        recv: &'scope mut [T],
        root: usize,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        moves::scoped::<Gather, T>(self.scope(), send, recv, root)
    }

    /// Begins to collect the `send` of all ranks in `recv` of `root`, where `blocks` say.
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
    /// MPI 5.0 §6.12.3 (`MPI_Igatherv`).
    #[doc(alias = "MPI_Igatherv")]
    fn igatherv<T: Pod>(
        &'scope self,
        send: &'scope [T],
        recv: &'scope mut [T],
        blocks: &Blocks,
        root: usize,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        moves::scoped::<Gatherv, T>(self.scope(), send, recv, (blocks, root))
    }

    /// Begins to deal out `send` of `root`: rank r gets the r-th block of it in `recv`.
    ///
    /// At the root `send` is `size` times as long as `recv`. Elsewhere it is not read and may be
    /// empty.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths at the root do not fit; otherwise
    /// what the library reports.
    ///
    /// MPI 5.0 §6.12.4 (`MPI_Iscatter`).
    #[doc(alias = "MPI_Iscatter")]
    fn iscatter<T: Pod>(
        &'scope self,
        send: &'scope [T],
        recv: &'scope mut [T],
        root: usize,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        moves::scoped::<Scatter, T>(self.scope(), send, recv, root)
    }

    /// Begins to deal out `send` of `root`: each rank gets the block in `recv` that `blocks` say is
    /// its own.
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
    /// MPI 5.0 §6.12.4 (`MPI_Iscatterv`).
    #[doc(alias = "MPI_Iscatterv")]
    fn iscatterv<T: Pod>(
        &'scope self,
        send: &'scope [T],
        blocks: &Blocks,
        recv: &'scope mut [T],
        root: usize,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        moves::scoped::<Scatterv, T>(self.scope(), send, recv, (blocks, root))
    }

    /// Begins to collect the `send` of all ranks in `recv` of every rank, in the order of ranks.
    ///
    /// `recv` is `size` times as long as `send`.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if it is not; otherwise what the library reports.
    ///
    /// MPI 5.0 §6.12.5 (`MPI_Iallgather`).
    #[doc(alias = "MPI_Iallgather")]
    fn iallgather<T: Pod>(
        &'scope self,
        send: &'scope [T],
        recv: &'scope mut [T],
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        moves::scoped::<Allgather, T>(self.scope(), send, recv, ())
    }

    /// Begins to collect the `send` of all ranks in `recv` of every rank, where `blocks` say.
    ///
    /// `send` is as long as the block of this rank. All ranks pass the same counts.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths do not fit,
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if blocks overlap in memory that is written;
    /// otherwise what the library reports.
    ///
    /// MPI 5.0 §6.12.5 (`MPI_Iallgatherv`).
    #[doc(alias = "MPI_Iallgatherv")]
    fn iallgatherv<T: Pod>(
        &'scope self,
        send: &'scope [T],
        recv: &'scope mut [T],
        blocks: &Blocks,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        moves::scoped::<Allgatherv, T>(self.scope(), send, recv, blocks)
    }

    /// Begins to send the r-th block of `send` to rank r, and to receive that of rank r as the r-th
    /// block of `recv`.
    ///
    /// Both are as long as each other, and are cut into `size` blocks of the same length.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ or cannot be cut so;
    /// otherwise what the library reports.
    ///
    /// MPI 5.0 §6.12.6 (`MPI_Ialltoall`).
    #[doc(alias = "MPI_Ialltoall")]
    fn ialltoall<T: Pod>(
        &'scope self,
        send: &'scope [T],
        recv: &'scope mut [T],
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        moves::scoped::<Alltoall, T>(self.scope(), send, recv, ())
    }

    /// Begins to send each rank its block of `send`, and to receive one of each in `recv`.
    ///
    /// The block for rank r in `send_blocks` is as long as that of this rank in `recv_blocks`
    /// there.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths do not fit,
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if blocks overlap in memory that is written;
    /// otherwise what the library reports.
    ///
    /// MPI 5.0 §6.12.6 (`MPI_Ialltoallv`).
    #[doc(alias = "MPI_Ialltoallv")]
    fn ialltoallv<T: Pod>(
        &'scope self,
        send: &'scope [T],
        send_blocks: &Blocks,
        recv: &'scope mut [T],
        recv_blocks: &Blocks,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        moves::scoped::<Alltoallv, T>(self.scope(), send, recv, (send_blocks, recv_blocks))
    }

    /// Starts to send each rank what its layout takes of `send`, and to receive one part of each in
    /// `recv`.
    ///
    /// # Errors
    /// As [`alltoallw`](crate::VaryingCollectives::alltoallw).
    ///
    /// MPI 5.0 §6.12.6 (`MPI_Ialltoallw`).
    #[doc(alias = "MPI_Ialltoallw")]
    #[doc(alias = "MPI_Ialltoallw_c")]
    fn ialltoallw<T: Pod>(
        &'scope self,
        send: &'scope [T],
        recv: &'scope mut [T],
        send_layouts: &Layouts,
        recv_layouts: &Layouts,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        moves::scoped::<Alltoallw, T>(self.scope(), send, recv, (send_layouts, recv_layouts))
    }

    /// Begins to reduce the `send` of all ranks with `op`, element by element, into `recv` of
    /// `root`.
    ///
    /// At the root `recv` is as long as `send`. Elsewhere it is not touched and may be empty.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ at the root; otherwise what
    /// the library reports.
    ///
    /// MPI 5.0 §6.12.7 (`MPI_Ireduce`).
    #[doc(alias = "MPI_Ireduce")]
    fn ireduce<T: Pod, O: Reduction<T> + Send + 'static>(
        &'scope self,
        send: &'scope [T],
        recv: &'scope mut [T],
        op: O,
        root: usize,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        reductions::scoped::<Reduce, T, O>(self.scope(), send, recv, op, root)
    }

    /// Begins to reduce the `send` of all ranks with `op`, element by element, into `recv` of every
    /// rank.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.12.8 (`MPI_Iallreduce`).
    #[doc(alias = "MPI_Iallreduce")]
    fn iallreduce<T: Pod, O: Reduction<T> + Send + 'static>(
        &'scope self,
        send: &'scope [T],
        recv: &'scope mut [T],
        op: O,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        reductions::scoped::<Allreduce, T, O>(self.scope(), send, recv, op, ())
    }

    /// Begins to reduce the `send` of all ranks with `op`, element by element; rank r gets the r-th
    /// block in `recv`.
    ///
    /// `send` is `size` times as long as `recv`.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if it is not; otherwise what the library reports.
    ///
    /// MPI 5.0 §6.12.9 (`MPI_Ireduce_scatter_block`).
    #[doc(alias = "MPI_Ireduce_scatter_block")]
    fn ireduce_scatter_block<T: Pod, O: Reduction<T> + Send + 'static>(
        &'scope self,
        send: &'scope [T],
        recv: &'scope mut [T],
        op: O,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        reductions::scoped::<ReduceScatterBlock, T, O>(self.scope(), send, recv, op, ())
    }

    /// Begins to reduce the `send` of all ranks with `op`, element by element; each rank gets in
    /// `recv` the block that `blocks` say is its own.
    ///
    /// Blocks lie one after the other. All ranks pass the same.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths do not fit,
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if the blocks do not lie so; otherwise what
    /// the library reports.
    ///
    /// MPI 5.0 §6.12.10 (`MPI_Ireduce_scatter`).
    #[doc(alias = "MPI_Ireduce_scatter")]
    fn ireduce_scatter<T: Pod, O: Reduction<T> + Send + 'static>(
        &'scope self,
        send: &'scope [T],
        recv: &'scope mut [T],
        blocks: &Blocks,
        op: O,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        reductions::scoped::<ReduceScatter, T, O>(self.scope(), send, recv, op, blocks)
    }

    /// Begins to reduce the `send` of the ranks from 0 up to this one with `op`, element by
    /// element, into `recv`.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.12.11 (`MPI_Iscan`).
    #[doc(alias = "MPI_Iscan")]
    fn iscan<T: Pod, O: Op<T> + Send + 'static>(
        &'scope self,
        send: &'scope [T],
        recv: &'scope mut [T],
        op: O,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        reductions::scoped::<Scan, T, O>(self.scope(), send, recv, op, ())
    }

    /// Begins to reduce the `send` of the ranks below this one with `op`, element by element, into
    /// `recv`.
    ///
    /// On rank 0, which has none below it, `recv` stays as it is.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.12.12 (`MPI_Iexscan`).
    #[doc(alias = "MPI_Iexscan")]
    fn iexscan<T: Pod, O: Op<T> + Send + 'static>(
        &'scope self,
        send: &'scope [T],
        recv: &'scope mut [T],
        op: O,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        reductions::scoped::<Exscan, T, O>(self.scope(), send, recv, op, ())
    }
}

impl<'scope, 'env: 'scope> ScopedCollectives<'scope, 'env> for Scope<'scope, 'env> {}
