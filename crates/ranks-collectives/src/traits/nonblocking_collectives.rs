//! The trait with the collective operations that return at once and own their buffers.

use ranks_comm::{Communicator, RecvBuffer, Request, Result, SendBuffer};

use crate::arguments::blocks::Blocks;
use crate::arguments::layouts::Layouts;
use crate::mpi::functions::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Alltoallw, Bcast, Exscan, Gather,
    Gatherv, Reduce, ReduceScatter, ReduceScatterBlock, Scan, Scatter, Scatterv,
};
use crate::operation::barrier;
use crate::operation::moves;
use crate::operation::reductions;
use crate::ops::{Op, Reduction};
use crate::traits::sealed::Sealed;

/// Collective operations that are begun by a call and over when their [`Request`] has been waited
/// for.
///
/// Each does what the operation of [`Collectives`](crate::Collectives) or
/// [`VaryingCollectives`](crate::VaryingCollectives) without the `i` does, and checks the same
/// before anything is sent. The buffers are moved into the request, and [`Request::wait`] gives
/// them back: a `Vec`, a boxed slice, a [`Buffer`](ranks_comm::Buffer), or to send from also an
/// `Arc`. For borrowed slices there are [`ScopedCollectives`](crate::ScopedCollectives). Its status
/// says nothing.
///
/// ```
/// use ranks::collectives::{NonblockingCollectives, ops::Sum};
///
/// fn overlapped(world: &ranks::Communicator, mine: Vec<f64>) -> ranks::Result<Vec<f64>> {
///     let sum = vec![0.0; mine.len()];
///     let request = world.iallreduce(mine, sum, Sum)?;
///     // … work that needs neither …
///     let ((_mine, sum), _) = request.wait()?;
///     Ok(sum)
/// }
/// ```
///
/// All ranks begin the same operations in the same order, blocking ones included, but may wait for
/// them in any order. An operation that returns at once never matches a blocking one. Whether
/// anything happens before a rank waits or tests is up to the library; in process a rank that has
/// begun holds up nobody.
///
/// A request that is dropped is left to the runtime with its buffers, and ends when the other ranks
/// take part. It cannot be cancelled.
///
/// Lengths count elements, and may be more than 2³¹. From there on reductions and the blocks of
/// `ialltoallv` need a library that counts so itself (MPI 4.0), as blocks of different lengths do
/// that lie as far apart, and are an error of kind
/// [`NotInLibrary`](ranks_comm::ErrorKind::NotInLibrary) elsewhere; so are longer reductions with a
/// [`UserOp`](crate::ops::UserOp) everywhere. What happens when the lengths of ranks differ is said
/// at [`Collectives`](crate::Collectives#when-the-lengths-of-ranks-differ).
///
/// MPI 5.0 §6.12. The trait is implemented by [`Communicator`] and is sealed.
pub trait NonblockingCollectives: Sealed {
    /// Begins to wait for all ranks: the request is over when every rank has called this.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §6.12.1 (`MPI_Ibarrier`).
    #[doc(alias = "MPI_Ibarrier")]
    fn ibarrier(&self) -> Result<Request<()>> {
        barrier::nonblocking(self.communicator())
    }

    /// Begins to copy `buffer` of `root` to every rank. All ranks pass buffers of the same length.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.12.2 (`MPI_Ibcast`).
    #[doc(alias = "MPI_Ibcast")]
    #[doc(alias = "MPI_Ibcast_c")]
    fn ibcast<B>(&self, buffer: B, root: usize) -> Result<Request<B>>
    where
        B: RecvBuffer + Send + 'static,
    {
        moves::owned_one::<Bcast, _>(self.communicator(), buffer, root)
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
    #[doc(alias = "MPI_Igather_c")]
    fn igather<S, R>(&self, send: S, recv: R, root: usize) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::owned::<Gather, _, _>(self.communicator(), send, recv, root)
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
    #[doc(alias = "MPI_Igatherv_c")]
    fn igatherv<S, R>(
        &self,
        send: S,
        recv: R,
        blocks: &Blocks,
        root: usize,
    ) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::owned::<Gatherv, _, _>(self.communicator(), send, recv, (blocks, root))
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
    #[doc(alias = "MPI_Iscatter_c")]
    fn iscatter<S, R>(&self, send: S, recv: R, root: usize) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::owned::<Scatter, _, _>(self.communicator(), send, recv, root)
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
    #[doc(alias = "MPI_Iscatterv_c")]
    fn iscatterv<S, R>(
        &self,
        send: S,
        blocks: &Blocks,
        recv: R,
        root: usize,
    ) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::owned::<Scatterv, _, _>(self.communicator(), send, recv, (blocks, root))
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
    #[doc(alias = "MPI_Iallgather_c")]
    fn iallgather<S, R>(&self, send: S, recv: R) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::owned::<Allgather, _, _>(self.communicator(), send, recv, ())
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
    #[doc(alias = "MPI_Iallgatherv_c")]
    fn iallgatherv<S, R>(&self, send: S, recv: R, blocks: &Blocks) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::owned::<Allgatherv, _, _>(self.communicator(), send, recv, blocks)
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
    #[doc(alias = "MPI_Ialltoall_c")]
    fn ialltoall<S, R>(&self, send: S, recv: R) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::owned::<Alltoall, _, _>(self.communicator(), send, recv, ())
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
    #[doc(alias = "MPI_Ialltoallv_c")]
    fn ialltoallv<S, R>(
        &self,
        send: S,
        send_blocks: &Blocks,
        recv: R,
        recv_blocks: &Blocks,
    ) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::owned::<Alltoallv, _, _>(self.communicator(), send, recv, (send_blocks, recv_blocks))
    }

    /// Begins to send each rank what its layout takes of `send`, and to receive one part of each in
    /// `recv`.
    ///
    /// Layouts that are used again and again are best kept: what the library makes of them is kept
    /// with them.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if there is not a layout for each rank, or one
    /// does not fit its slice; [`Argument`](ranks_comm::ErrorKind::Argument) if an element is
    /// received into twice; otherwise what the library reports.
    ///
    /// MPI 5.0 §6.12.6 (`MPI_Ialltoallw`).
    #[doc(alias = "MPI_Ialltoallw")]
    #[doc(alias = "MPI_Ialltoallw_c")]
    fn ialltoallw<S, R>(
        &self,
        send: S,
        recv: R,
        send_layouts: &Layouts,
        recv_layouts: &Layouts,
    ) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::owned::<Alltoallw, _, _>(
            self.communicator(),
            send,
            recv,
            (send_layouts, recv_layouts),
        )
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
    #[doc(alias = "MPI_Ireduce_c")]
    fn ireduce<S, R, O>(&self, send: S, recv: R, op: O, root: usize) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
        O: Reduction<R::Element> + Send + 'static,
    {
        reductions::owned::<Reduce, _, _, _>(self.communicator(), send, recv, op, root)
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
    #[doc(alias = "MPI_Iallreduce_c")]
    fn iallreduce<S, R, O>(&self, send: S, recv: R, op: O) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
        O: Reduction<R::Element> + Send + 'static,
    {
        reductions::owned::<Allreduce, _, _, _>(self.communicator(), send, recv, op, ())
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
    #[doc(alias = "MPI_Ireduce_scatter_block_c")]
    fn ireduce_scatter_block<S, R, O>(&self, send: S, recv: R, op: O) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
        O: Reduction<R::Element> + Send + 'static,
    {
        reductions::owned::<ReduceScatterBlock, _, _, _>(self.communicator(), send, recv, op, ())
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
    #[doc(alias = "MPI_Ireduce_scatter_c")]
    fn ireduce_scatter<S, R, O>(
        &self,
        send: S,
        recv: R,
        blocks: &Blocks,
        op: O,
    ) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
        O: Reduction<R::Element> + Send + 'static,
    {
        reductions::owned::<ReduceScatter, _, _, _>(self.communicator(), send, recv, op, blocks)
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
    #[doc(alias = "MPI_Iscan_c")]
    fn iscan<S, R, O>(&self, send: S, recv: R, op: O) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
        O: Op<R::Element> + Send + 'static,
    {
        reductions::owned::<Scan, _, _, _>(self.communicator(), send, recv, op, ())
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
    #[doc(alias = "MPI_Iexscan_c")]
    fn iexscan<S, R, O>(&self, send: S, recv: R, op: O) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
        O: Op<R::Element> + Send + 'static,
    {
        reductions::owned::<Exscan, _, _, _>(self.communicator(), send, recv, op, ())
    }
}

impl NonblockingCollectives for Communicator {}
