//! Collective operations between the two groups of an intercommunicator.

use bytemuck::Pod;
use ranks_comm::{
    Communicator, Intercommunicator, Persistent, RecvBuffer, Request, Result, SendBuffer,
};

use crate::arguments::crossing::RootGroup;
use crate::in_flight::stable::{self, Shape};
use crate::mpi::functions::Named;
use crate::operation::{barrier, moves, reductions};
use crate::ops::Reduction;
use crate::traits::sealed::Between;

/// The operations that go on after their call has returned, from one buffer to another.
///
/// A row is read by a macro of [`forms`](super::forms), which says what is in it.
macro_rules! operations_between {
    ($form:ident) => {
        $form! {
            /// copy `buffer` of the root to every rank of the other group, where it is as long.
            ///
            /// In the root's own group it is not touched, and may be empty elsewhere than at the
            /// root.
            ///
            /// # Errors
            /// As [`bcast`](Self::bcast).
            moves::Bcast(buffer, root: RootGroup) with (root);
            #[doc(alias("MPI_Ibcast", "MPI_Ibcast_c"))]
            ibcast: "6.12.2";
            #[doc(alias("MPI_Bcast_init", "MPI_Bcast_init_c"))]
            bcast_init: "6.13.2";
        }
        $form! {
            /// reduce the `send` of all ranks of the other group with `op`, element by element,
            /// into `recv` of every rank.
            ///
            /// # Errors
            /// As [`allreduce`](Self::allreduce).
            reductions::Allreduce<O: Reduction>(send; recv, op: O) with op, ();
            #[doc(alias("MPI_Iallreduce", "MPI_Iallreduce_c"))]
            iallreduce: "6.12.8";
            #[doc(alias("MPI_Allreduce_init", "MPI_Allreduce_init_c"))]
            allreduce_init: "6.13.8";
        }
        $form! {
            /// collect the `send` of all ranks of the other group in `recv` of every rank, in the
            /// order of ranks.
            ///
            /// # Errors
            /// As [`allgather`](Self::allgather).
            moves::Allgather(send; recv) with ();
            #[doc(alias("MPI_Iallgather", "MPI_Iallgather_c"))]
            iallgather: "6.12.5";
            #[doc(alias("MPI_Allgather_init", "MPI_Allgather_init_c"))]
            allgather_init: "6.13.5";
        }
    };
}

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
        barrier::barrier(self.communicator())
    }

    /// Begins a barrier, which is complete when every rank of the other group has begun it.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §6.12.1 (`MPI_Ibarrier`).
    #[doc(alias = "MPI_Ibarrier")]
    fn ibarrier(&self) -> Result<Request<()>> {
        barrier::nonblocking(self.communicator())
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
        barrier::persistent(self.communicator())
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
        moves::moved_in_place::<functions::Bcast, T>(self.communicator(), data, root)
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
        let comm = self.communicator();
        reductions::reduce::<functions::Allreduce, T, O>(comm, send, recv, op, ())
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
        moves::moved::<functions::Allgather, T>(self.communicator(), Some(send), recv, ())
    }

    operations_between!(nonblocking);
    operations_between!(persistent);
}

impl IntercommunicatorCollectives for Intercommunicator {}

/// The functions, between two groups.
mod functions {
    use crate::mpi::functions;
    use crate::operation::between_groups::BetweenGroups;

    pub(super) type Bcast = BetweenGroups<functions::Bcast>;
    pub(super) type Allreduce = BetweenGroups<functions::Allreduce>;
    pub(super) type Allgather = BetweenGroups<functions::Allgather>;
}

/// Out of reach from outside, other than a supertrait.
trait Handle {
    /// The handle that operations of [`functions`], and barriers, are done on.
    fn communicator(&self) -> &Communicator;
}

impl<B: Between + ?Sized> Handle for B {
    #[allow(unsafe_code)]
    fn communicator(&self) -> &Communicator {
        // SAFETY: this module alone has it, and passes it to those operations, which know how many
        // ranks messages go to.
        unsafe { self.between().handle() }
    }
}
