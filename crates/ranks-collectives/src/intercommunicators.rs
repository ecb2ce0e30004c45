//! Collective operations between the two groups of an intercommunicator.

use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::{Error, ErrorKind, Intercommunicator, Result};
use ranks_launch::RDMA_PER_REQUEST;

use crate::mpi::functions::Allreduce;
use crate::ops::Reduction;
use crate::reductions::Reducing;
use crate::sealed::Between;
use crate::transfer::Transfer;
use crate::{in_process, mpi};

const BARRIER: &str = "MPI_Barrier";
const BCAST: &str = "MPI_Bcast";
const ALLREDUCE: &str = "MPI_Allreduce";
const ALLGATHER: &str = "MPI_Allgather";

/// Which rank an operation between two groups goes out from, as each of the ranks has to see it.
///
/// The root says [`This`](Self::This), the other ranks of its group [`OfThisGroup`](Self::OfThisGroup), and all ranks of the
/// other group [`OfOtherGroup`](Self::OfOtherGroup) with its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RootGroup {
    /// This rank is the root (`MPI_ROOT`).
    #[doc(alias = "MPI_ROOT")]
    This,
    /// Another rank of this group is the root, and this one has no part in it (`MPI_PROC_NULL`).
    OfThisGroup,
    /// This rank of the other group is the root.
    OfOtherGroup(usize),
}

/// Operations in which every rank of both groups takes part, and in which data goes from one group to the other.
///
/// All ranks of both groups call the same operations in the same order. What a rank can see for itself is checked before
/// anything is sent, and is an `Err` on that rank alone. Ranks do not compare their calls, also where they compare those of
/// a communicator; what happens when lengths differ that should not is said at
/// [`Collectives`](crate::Collectives#when-the-lengths-of-ranks-differ).
///
/// ```
/// use ranks_collectives::{IntercommunicatorCollectives, RootGroup};
/// use ranks_comm::{Intercommunicator, Result};
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
/// MPI 5.0 §6.2.3. The trait is implemented by [`Intercommunicator`] and is sealed.
pub trait IntercommunicatorCollectives: Between {
    /// Waits until every rank of the other group has called it.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §6.3 (`MPI_Barrier`).
    #[doc(alias = "MPI_Barrier")]
    fn barrier(&self) -> Result<()> {
        let between = self.between();
        between.dispatch_with(
            BARRIER,
            (),
            |comm, ()| mpi::barrier(comm),
            |comm, ()| in_process::barrier_between(comm),
        )
    }

    /// Copies `data` of the root to every rank of the other group, where it is as long.
    ///
    /// In the root's own group `data` is not touched, and may be `&mut []` elsewhere than at the root.
    ///
    /// # Errors
    /// [`Root`](ErrorKind::Root) if the other group has no such rank; otherwise what the library reports.
    ///
    /// MPI 5.0 §6.4 (`MPI_Bcast`).
    #[doc(alias = "MPI_Bcast")]
    #[doc(alias = "MPI_Bcast_c")]
    fn bcast<T: Pod>(&self, data: &mut [T], root: RootGroup) -> Result<()> {
        let between = self.between();
        must_fit(BCAST, between)?;
        if let RootGroup::OfOtherGroup(rank) = root {
            check_root(between, rank)?;
        }
        between.dispatch_with(
            BCAST,
            data,
            |comm, data| mpi::bcast_between(comm, data, root),
            |comm, data| in_process::bcast_between(comm, data, root),
        )
    }

    /// Reduces the `send` of all ranks of the other group with `op`, element by element, into `recv` of every rank.
    ///
    /// The slices of all ranks of both groups are as long as each other.
    ///
    /// # Errors
    /// [`Length`](ErrorKind::Length) if `send` and `recv` differ in length; otherwise what the library reports.
    ///
    /// MPI 5.0 §6.9.6 (`MPI_Allreduce`).
    #[doc(alias = "MPI_Allreduce")]
    #[doc(alias = "MPI_Allreduce_c")]
    fn allreduce<T: Pod, O: Reduction<T>>(&self, send: &[T], recv: &mut [T], op: O) -> Result<()> {
        let between = self.between();
        must_fit(ALLREDUCE, between)?;
        let transfer = Transfer::equal(ALLREDUCE, send, &mut *recv)?;
        between.dispatch_with(
            ALLREDUCE,
            transfer,
            |comm, transfer| {
                let reducing = Reducing::whole(transfer);
                mpi::reductions::blocking::<Allreduce, T, O>(comm, 0, &op, reducing)
            },
            |comm, transfer| in_process::allreduce_between(comm, &op, transfer),
        )?;
        op.finish(recv, between.remote_size());
        Ok(())
    }

    /// Collects the `send` of all ranks of the other group in `recv` of every rank, in the order of ranks.
    ///
    /// `recv` is as many times as long as the `send` of the other group as that has ranks; the two groups may send blocks of
    /// different lengths, but all ranks of one group the same.
    ///
    /// # Errors
    /// [`Length`](ErrorKind::Length) if `recv` cannot be divided so; otherwise what the library reports.
    ///
    /// MPI 5.0 §6.7 (`MPI_Allgather`).
    #[doc(alias = "MPI_Allgather")]
    #[doc(alias = "MPI_Allgather_c")]
    fn allgather<T: Pod>(&self, send: &[T], recv: &mut [T]) -> Result<()> {
        let between = self.between();
        must_fit(ALLGATHER, between)?;
        let gathered = Gathered::new(between, send, recv)?;
        between.dispatch_with(
            ALLGATHER,
            gathered,
            mpi::allgather_between,
            in_process::allgather_between,
        )
    }
}

/// # Errors
/// [`NotInLibrary`](ErrorKind::NotInLibrary) where the library may write past a slice if the lengths of ranks differ: ranks of two groups do not
/// compare theirs.
fn must_fit(operation: &'static str, between: &Intercommunicator) -> Result<()> {
    if !between.may_overrun() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::NotInLibrary,
        operation,
        format_args!(
            "between two groups this library may write past a slice if the lengths of ranks differ; start all programs of the job with \
             {RDMA_PER_REQUEST}=0 in their environment, as `ranks run` does"
        ),
    ))
}

impl IntercommunicatorCollectives for Intercommunicator {}

/// The block that this rank sends, and one of every rank of the other group.
pub(crate) struct Gathered<'a, T> {
    pub(crate) send: &'a [T],
    pub(crate) recv: &'a mut [T],
    /// The length of a block that is received.
    pub(crate) block: usize,
}

impl<'a, T> Gathered<'a, T> {
    fn new(between: &Intercommunicator, send: &'a [T], recv: &'a mut [T]) -> Result<Self> {
        let ranks = between.remote_size();
        match (recv.len().checked_div(ranks), recv.len().checked_rem(ranks)) {
            (Some(block), Some(0)) => Ok(Self { send, recv, block }),
            _ => Err(Error::new(
                ErrorKind::Length,
                ALLGATHER,
                format_args!(
                    "recv has {} elements, which cannot be divided evenly among the {ranks} ranks of the other group",
                    recv.len()
                ),
            )),
        }
    }
}

impl RootGroup {
    /// As MPI writes it, in the standard's terms.
    pub(crate) fn number(self, this: c_int, of_this_group: c_int) -> c_int {
        match self {
            Self::This => this,
            Self::OfThisGroup => of_this_group,
            // In range, by `check_root`.
            Self::OfOtherGroup(rank) => c_int::try_from(rank).unwrap_or(of_this_group),
        }
    }
}

fn check_root(between: &Intercommunicator, rank: usize) -> Result<()> {
    let ranks = between.remote_size();
    if rank < ranks && c_int::try_from(rank).is_ok() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Root,
        BCAST,
        format_args!("root {rank} is not in the other group of {ranks} ranks"),
    ))
}
