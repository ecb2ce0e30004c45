//! The trait with the collective operations that are prepared once and done many times.

use ranks_comm::{Communicator, Persistent, RecvBuffer, Result, SendBuffer};

use crate::in_flight::stable::Shape;
use crate::mpi::functions::{
    Allgather, Allreduce, Alltoall, Bcast, Exscan, Gather, Reduce, ReduceScatterBlock, Scan,
    Scatter,
};
use crate::operation::barrier;
use crate::operation::moves;
use crate::operation::reductions;
use crate::ops::{Op, Reduction};
use crate::traits::sealed::Sealed;

/// Collective operations that are prepared once, with their buffers, and then started as often as
/// they are needed.
///
/// Each does what the operation of [`Collectives`](crate::Collectives) without the `_init` does,
/// and checks the same when it is prepared; those on blocks of different lengths are
/// [`PersistentVaryingCollectives`](crate::PersistentVaryingCollectives). The buffers are moved
/// into the request: a `Vec`, a boxed slice, a [`Buffer`](ranks_comm::Buffer), or to send from also
/// an `Arc`. While nothing is under way [`Persistent::send_mut`] and [`recv`](Persistent::recv)
/// lend them out ([`buffer_mut`](Persistent::buffer_mut) that of `bcast_init`);
/// [`free`](Persistent::free) gives them back.
///
/// ```
/// use ranks::collectives::{PersistentCollectives, ops::Sum};
///
/// fn residuals(world: &ranks::Communicator, steps: usize) -> ranks::Result<f64> {
///     let mut sum = world.allreduce_init(vec![0.0], vec![0.0], Sum)?;
///     for step in 0..steps {
///         sum.send_mut()[0] = 1.0 / (step + 1) as f64;
///         let started = sum.start()?;
///         // … work that needs neither …
///         (sum, _) = started.wait()?;
///         assert_eq!(sum.recv()[0], world.size() as f64 * sum.send()[0]);
///     }
///     let (_, total) = sum.free()?;
///     Ok(total[0])
/// }
/// ```
///
/// # Who calls when
///
/// To prepare is collective: all ranks call the same of these functions in the same order, blocking
/// collectives included, and a rank may wait in it for the others. They compare their calls, where
/// they compare blocking ones. To start is local, and each rank may start what it has prepared in
/// an order of its own; but once one has started an operation, all must. To wait, test and free is
/// local. An operation that is started meets the same one of the other ranks, and never a blocking
/// one or one that returns at once.
///
/// Several are started by one call with [`Persistent::start_all`], and waited for with
/// [`Active::wait_all`](ranks_comm::Active::wait_all), if their buffers are of the same types.
///
/// An operation that is started and dropped is left to the runtime with its buffers, and ends when
/// the other ranks take part. It cannot be cancelled.
///
/// # Where the library has no such operations
///
/// They came with MPI 4.0; Open MPI 4.1 has them under other names, which are found. Libraries that
/// have none (MPICH 3.4) or wrong ones (MPICH 4.0 to 4.2 and Intel MPI 2021 send what was there
/// before) are asked for none: a process tries them with others when it first prepares one. There,
/// in process, and for blocks of 2³¹ elements and more where a library counts with an `int` only,
/// each start begins the operation of [`NonblockingCollectives`](crate::NonblockingCollectives)
/// anew, on a communicator that is duplicated when it is prepared, so that all that is said here
/// holds as well. Errors name that operation then. Longer reductions and blocks of
/// `alltoallv_init`, and blocks of different lengths that lie as far apart, are an error of kind
/// [`NotInLibrary`](ranks_comm::ErrorKind::NotInLibrary) on libraries without large counts, and
/// longer reductions with a [`UserOp`](crate::ops::UserOp) everywhere.
///
/// MPI 5.0 §6.13. The trait is implemented by [`Communicator`] and is sealed.
pub trait PersistentCollectives: Sealed {
    /// Prepares to wait for all ranks: what is started is over when every rank has started it.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §6.13.1 (`MPI_Barrier_init`).
    #[doc(alias = "MPI_Barrier_init")]
    fn barrier_init(&self) -> Result<Persistent<()>> {
        barrier::persistent(self.communicator())
    }

    /// Prepares to copy `buffer` of `root` to every rank. All ranks pass buffers of the same
    /// length.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.13.2 (`MPI_Bcast_init`).
    #[doc(alias = "MPI_Bcast_init")]
    #[doc(alias = "MPI_Bcast_init_c")]
    fn bcast_init<B>(&self, buffer: B, root: usize) -> Result<Persistent<B>>
    where
        B: RecvBuffer + Send + 'static,
    {
        moves::persistent::<Bcast, _, _, _, _>(
            self.communicator(),
            buffer,
            Shape::one(),
            root,
            |&root| root,
        )
    }

    /// Prepares to collect the `send` of all ranks in `recv` of `root`, in the order of ranks.
    ///
    /// At the root `recv` is `size` times as long as `send`. Elsewhere it is not touched and may be
    /// empty.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths at the root do not fit; otherwise
    /// what the library reports.
    ///
    /// MPI 5.0 §6.13.3 (`MPI_Gather_init`).
    #[doc(alias = "MPI_Gather_init")]
    #[doc(alias = "MPI_Gather_init_c")]
    fn gather_init<S, R>(&self, send: S, recv: R, root: usize) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::persistent::<Gather, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            root,
            |&root| root,
        )
    }

    /// Prepares to deal out `send` of `root`: rank r gets the r-th block of it in `recv`.
    ///
    /// At the root `send` is `size` times as long as `recv`. Elsewhere it is not read and may be
    /// empty.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths at the root do not fit; otherwise
    /// what the library reports.
    ///
    /// MPI 5.0 §6.13.4 (`MPI_Scatter_init`).
    #[doc(alias = "MPI_Scatter_init")]
    #[doc(alias = "MPI_Scatter_init_c")]
    fn scatter_init<S, R>(&self, send: S, recv: R, root: usize) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::persistent::<Scatter, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            root,
            |&root| root,
        )
    }

    /// Prepares to collect the `send` of all ranks in `recv` of every rank, in the order of ranks.
    ///
    /// `recv` is `size` times as long as `send`.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if it is not; otherwise what the library reports.
    ///
    /// MPI 5.0 §6.13.5 (`MPI_Allgather_init`).
    #[doc(alias = "MPI_Allgather_init")]
    #[doc(alias = "MPI_Allgather_init_c")]
    fn allgather_init<S, R>(&self, send: S, recv: R) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::persistent::<Allgather, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            (),
            |()| (),
        )
    }

    /// Prepares to send the r-th block of `send` to rank r, and to receive that of rank r as the
    /// r-th block of `recv`.
    ///
    /// Both are as long as each other, and are cut into `size` blocks of the same length.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ or cannot be cut so;
    /// otherwise what the library reports.
    ///
    /// MPI 5.0 §6.13.6 (`MPI_Alltoall_init`).
    #[doc(alias = "MPI_Alltoall_init")]
    #[doc(alias = "MPI_Alltoall_init_c")]
    fn alltoall_init<S, R>(&self, send: S, recv: R) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        moves::persistent::<Alltoall, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            (),
            |()| (),
        )
    }

    /// Prepares to reduce the `send` of all ranks with `op`, element by element, into `recv` of
    /// `root`.
    ///
    /// At the root `recv` is as long as `send`. Elsewhere it is not touched and may be empty.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ at the root; otherwise what
    /// the library reports.
    ///
    /// MPI 5.0 §6.13.7 (`MPI_Reduce_init`).
    #[doc(alias = "MPI_Reduce_init")]
    #[doc(alias = "MPI_Reduce_init_c")]
    fn reduce_init<S, R, O>(
        &self,
        send: S,
        recv: R,
        op: O,
        root: usize,
    ) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
        O: Reduction<R::Element> + Send + 'static,
    {
        reductions::persistent::<Reduce, _, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            op,
            root,
            |&root| root,
        )
    }

    /// Prepares to reduce the `send` of all ranks with `op`, element by element, into `recv` of
    /// every rank.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.13.8 (`MPI_Allreduce_init`).
    #[doc(alias = "MPI_Allreduce_init")]
    #[doc(alias = "MPI_Allreduce_init_c")]
    fn allreduce_init<S, R, O>(&self, send: S, recv: R, op: O) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
        O: Reduction<R::Element> + Send + 'static,
    {
        reductions::persistent::<Allreduce, _, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            op,
            (),
            |()| (),
        )
    }

    /// Prepares to reduce the `send` of all ranks with `op`, element by element; rank r gets the
    /// r-th block in `recv`.
    ///
    /// `send` is `size` times as long as `recv`.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if it is not; otherwise what the library reports.
    ///
    /// MPI 5.0 §6.13.9 (`MPI_Reduce_scatter_block_init`).
    #[doc(alias = "MPI_Reduce_scatter_block_init")]
    #[doc(alias = "MPI_Reduce_scatter_block_init_c")]
    fn reduce_scatter_block_init<S, R, O>(
        &self,
        send: S,
        recv: R,
        op: O,
    ) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
        O: Reduction<R::Element> + Send + 'static,
    {
        reductions::persistent::<ReduceScatterBlock, _, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            op,
            (),
            |()| (),
        )
    }

    /// Prepares to reduce the `send` of the ranks from 0 up to this one with `op`, element by
    /// element, into `recv`.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.13.11 (`MPI_Scan_init`).
    #[doc(alias = "MPI_Scan_init")]
    #[doc(alias = "MPI_Scan_init_c")]
    fn scan_init<S, R, O>(&self, send: S, recv: R, op: O) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
        O: Op<R::Element> + Send + 'static,
    {
        reductions::persistent::<Scan, _, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            op,
            (),
            |()| (),
        )
    }

    /// Prepares to reduce the `send` of the ranks below this one with `op`, element by element,
    /// into `recv`.
    ///
    /// On rank 0, which has none below it, `recv` stays as it is.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.13.12 (`MPI_Exscan_init`).
    #[doc(alias = "MPI_Exscan_init")]
    #[doc(alias = "MPI_Exscan_init_c")]
    fn exscan_init<S, R, O>(&self, send: S, recv: R, op: O) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
        O: Op<R::Element> + Send + 'static,
    {
        reductions::persistent::<Exscan, _, _, _, _, _>(
            self.communicator(),
            (send, recv),
            Shape::both(),
            op,
            (),
            |()| (),
        )
    }
}

impl PersistentCollectives for Communicator {}
