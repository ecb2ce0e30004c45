//! Collective operations between the two groups of an intercommunicator.

use bytemuck::Pod;
use ranks_comm::{
    Communicator, Intercommunicator, Persistent, RecvBuffer, Request, Result, SendBuffer,
};

use crate::arguments::crossing::RootGroup;
use crate::in_flight::stable::{self, Shape};
use crate::mpi::functions::{Allgather, Allreduce, Bcast, Named};
use crate::operation::barrier;
use crate::operation::between_groups::BetweenGroups;
use crate::operation::moves;
use crate::operation::reductions;
use crate::ops::Reduction;
use crate::traits::sealed::Between;

/// Operations in which every rank of both groups takes part, and in which data goes from one group
/// to the other: blocking, nonblocking and persistent.
///
/// All ranks of both groups call the same operations in the same order. What a rank can see for
/// itself is checked before anything is sent, and is an `Err` on that rank alone. Ranks do not
/// compare their calls, also where they compare those of a communicator; what happens when lengths
/// differ that should not is said at
/// [`Collectives`](crate::Collectives#when-the-lengths-of-ranks-differ).
///
/// ```
/// use ranks::collectives::{IntercommunicatorCollectives, RootGroup};
/// use ranks::{Result, communicator::Intercommunicator};
///
/// /// The first of those who compute tells all who write how many steps there are.
/// fn announce(between: &Intercommunicator, writes: bool, steps: &mut [u64; 1]) -> Result<()> {
///     let root = match (writes, between.rank()) {
///         (true, _) => RootGroup::OfOtherGroup(0),
///         (false, 0) => RootGroup::This,
///         (false, _) => RootGroup::OfThisGroup,
///     };
///     between.bcast(steps, root)
/// }
/// ```
///
/// A start of a persistent operation begins the nonblocking one anew, on an intercommunicator that
/// is duplicated when it is prepared. Otherwise all that is said of
/// [`NonblockingCollectives`](crate::NonblockingCollectives) and
/// [`PersistentCollectives`](crate::PersistentCollectives) holds here.
///
/// MPI 5.0 §6.2.3, §6.12, §6.13. The trait is implemented by [`Intercommunicator`] and is sealed.
pub trait IntercommunicatorCollectives: Between {
    /// Waits until every rank of the other group has called it.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §6.3 (`MPI_Barrier`).
    #[doc(alias = "MPI_Barrier")]
    fn barrier(&self) -> Result<()> {
        barrier::barrier(handle(self.between()))
    }

    /// Begins a barrier, which is complete when every rank of the other group has begun it.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §6.12.1 (`MPI_Ibarrier`).
    #[doc(alias = "MPI_Ibarrier")]
    fn ibarrier(&self) -> Result<Request<()>> {
        barrier::nonblocking(handle(self.between()))
    }

    /// Prepares a barrier: what is started is complete when every rank of the other group has
    /// started it.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §6.13.1 (`MPI_Barrier_init`).
    #[doc(alias = "MPI_Barrier_init")]
    fn barrier_init(&self) -> Result<Persistent<()>> {
        barrier::persistent(handle(self.between()))
    }

    /// Copies `data` of the root to every rank of the other group, where it is as long.
    ///
    /// In the root's own group `data` is not touched, and may be `&mut []` elsewhere than at the
    /// root.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if the other group has no such rank; otherwise what
    /// the library reports.
    ///
    /// MPI 5.0 §6.4 (`MPI_Bcast`).
    #[doc(alias = "MPI_Bcast")]
    #[doc(alias = "MPI_Bcast_c")]
    fn bcast<T: Pod>(&self, data: &mut [T], root: RootGroup) -> Result<()> {
        moves::moved_in_place::<BetweenGroups<Bcast>, T>(handle(self.between()), data, root)
    }

    /// Begins to copy `buffer` of the root to every rank of the other group, where it is as long.
    ///
    /// In the root's own group it is not touched, and may be empty elsewhere than at the root.
    ///
    /// # Errors
    /// As [`bcast`](Self::bcast).
    ///
    /// MPI 5.0 §6.12.2 (`MPI_Ibcast`).
    #[doc(alias = "MPI_Ibcast")]
    fn ibcast<B>(&self, buffer: B, root: RootGroup) -> Result<Request<B>>
    where
        B: RecvBuffer + Send + 'static,
    {
        let comm = handle(self.between());
        stable::owned(
            comm,
            Bcast::NONBLOCKING_ROLE,
            buffer,
            Shape::one(),
            |slices| moves::begun::<BetweenGroups<Bcast>, _>(comm, slices, root),
        )
    }

    /// Prepares to copy `buffer` of the root to every rank of the other group, where it is as long.
    ///
    /// # Errors
    /// As [`bcast`](Self::bcast).
    ///
    /// MPI 5.0 §6.13.2 (`MPI_Bcast_init`).
    #[doc(alias = "MPI_Bcast_init")]
    fn bcast_init<B>(&self, buffer: B, root: RootGroup) -> Result<Persistent<B>>
    where
        B: RecvBuffer + Send + 'static,
    {
        let (comm, shape) = (handle(self.between()), Shape::one());
        moves::persistent::<BetweenGroups<Bcast>, _, _, _, _>(comm, buffer, shape, root)
    }

    /// Reduces the `send` of all ranks of the other group with `op`, element by element, into
    /// `recv` of every rank.
    ///
    /// The slices of all ranks of both groups are as long as each other.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if `send` and `recv` differ in length; otherwise
    /// what the library reports.
    ///
    /// MPI 5.0 §6.9.6 (`MPI_Allreduce`).
    #[doc(alias = "MPI_Allreduce")]
    #[doc(alias = "MPI_Allreduce_c")]
    fn allreduce<T: Pod, O: Reduction<T>>(&self, send: &[T], recv: &mut [T], op: O) -> Result<()> {
        let comm = handle(self.between());
        reductions::reduce::<BetweenGroups<Allreduce>, T, O>(comm, send, recv, op, ())
    }

    /// Begins to reduce the `send` of all ranks of the other group with `op`, element by element,
    /// into `recv` of every rank.
    ///
    /// # Errors
    /// As [`allreduce`](Self::allreduce).
    ///
    /// MPI 5.0 §6.12.8 (`MPI_Iallreduce`).
    #[doc(alias = "MPI_Iallreduce")]
    fn iallreduce<S, R, O>(&self, send: S, recv: R, op: O) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
        O: Reduction<R::Element> + Send + 'static,
    {
        let comm = handle(self.between());
        let (role, buffers) = (Allreduce::NONBLOCKING_ROLE, (send, recv));
        stable::owned(comm, role, buffers, Shape::both(), |slices| {
            reductions::begun::<BetweenGroups<Allreduce>, _, O>(comm, slices, op, ())
        })
    }

    /// Prepares to reduce the `send` of all ranks of the other group with `op`, element by element,
    /// into `recv` of every rank.
    ///
    /// # Errors
    /// As [`allreduce`](Self::allreduce).
    ///
    /// MPI 5.0 §6.13.8 (`MPI_Allreduce_init`).
    #[doc(alias = "MPI_Allreduce_init")]
    fn allreduce_init<S, R, O>(&self, send: S, recv: R, op: O) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
        O: Reduction<R::Element> + Send + 'static,
    {
        let (comm, buffers) = (handle(self.between()), (send, recv));
        reductions::persistent::<BetweenGroups<Allreduce>, _, _, _, _, _>(
            comm,
            buffers,
            Shape::both(),
            op,
            (),
        )
    }

    /// Collects the `send` of all ranks of the other group in `recv` of every rank, in the order of
    /// ranks.
    ///
    /// `recv` is as many times as long as the `send` of the other group as that has ranks; the two
    /// groups may send blocks of different lengths, but all ranks of one group the same.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if `recv` cannot be divided so; otherwise what the
    /// library reports.
    ///
    /// MPI 5.0 §6.7 (`MPI_Allgather`).
    #[doc(alias = "MPI_Allgather")]
    #[doc(alias = "MPI_Allgather_c")]
    fn allgather<T: Pod>(&self, send: &[T], recv: &mut [T]) -> Result<()> {
        moves::moved::<BetweenGroups<Allgather>, T>(handle(self.between()), Some(send), recv, ())
    }

    /// Begins to collect the `send` of all ranks of the other group in `recv` of every rank, in the
    /// order of ranks.
    ///
    /// # Errors
    /// As [`allgather`](Self::allgather).
    ///
    /// MPI 5.0 §6.12.5 (`MPI_Iallgather`).
    #[doc(alias = "MPI_Iallgather")]
    fn iallgather<S, R>(&self, send: S, recv: R) -> Result<Request<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        let comm = handle(self.between());
        let (role, buffers) = (Allgather::NONBLOCKING_ROLE, (send, recv));
        stable::owned(comm, role, buffers, Shape::both(), |slices| {
            moves::begun::<BetweenGroups<Allgather>, _>(comm, slices, ())
        })
    }

    /// Prepares to collect the `send` of all ranks of the other group in `recv` of every rank, in
    /// the order of ranks.
    ///
    /// # Errors
    /// As [`allgather`](Self::allgather).
    ///
    /// MPI 5.0 §6.13.5 (`MPI_Allgather_init`).
    #[doc(alias = "MPI_Allgather_init")]
    fn allgather_init<S, R>(&self, send: S, recv: R) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = R::Element> + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        let (comm, buffers) = (handle(self.between()), (send, recv));
        moves::persistent::<BetweenGroups<Allgather>, _, _, _, _>(comm, buffers, Shape::both(), ())
    }
}

impl IntercommunicatorCollectives for Intercommunicator {}

/// The handle that operations of [`BetweenGroups`], and barriers, are done on.
#[allow(unsafe_code)]
fn handle(between: &Intercommunicator) -> &Communicator {
    // SAFETY: this module alone has it, and passes it to those operations, which know how many
    // ranks messages go to.
    unsafe { between.handle() }
}
