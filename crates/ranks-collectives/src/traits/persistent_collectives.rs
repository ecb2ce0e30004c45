//! The traits with the collective operations that are prepared once and done many times.

use ranks_comm::{Communicator, Persistent, RecvBuffer, Result, SendBuffer};

use crate::arguments::blocks::Blocks;
use crate::arguments::layouts::Layouts;
use crate::in_flight::stable::Shape;
use crate::mpi::functions;
use crate::operation::{barrier, moves, reductions};
use crate::ops::{Op, Reduction};
use crate::traits::sealed::Sealed;

/// Collective operations that are prepared once, with their buffers, and then started as often as
/// they are needed.
///
/// Each does what the operation of [`Collectives`](crate::Collectives) without the `_init` does,
/// and checks the same when it is prepared; those on blocks of different lengths are
/// [`PersistentVaryingCollectives`]. The buffers are moved into the request: a `Vec`, a boxed
/// slice, a [`Buffer`](ranks_comm::Buffer), or to send from also an `Arc`. While nothing is under
/// way [`Persistent::send_mut`] and [`recv`](Persistent::recv) lend them out
/// ([`buffer_mut`](Persistent::buffer_mut) that of `bcast_init`); [`free`](Persistent::free) gives
/// them back.
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
/// They came with MPI 4.0; Open MPI 4.1 has them under other names, which are found. A library is
/// not asked for one that it lacks (MPICH 3.4 has none) or does wrong: `gather`, `scatter` and
/// `allgather` of MPICH 4.0 to 4.2 send what was there before, and Intel MPI 2021 mixes up what
/// ranks start in different orders. Two ranks try each operation when a process first prepares one.
/// Where the library is not asked, in process, and for blocks of 2³¹ elements and more where a
/// library counts with an `int` only, each start begins the operation of
/// [`NonblockingCollectives`](crate::NonblockingCollectives) anew, on a communicator that is
/// duplicated when it is prepared, so that all that is said here holds as well. Errors name that
/// operation then. Longer reductions and blocks of
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

    operations!(persistent);
}

impl PersistentCollectives for Communicator {}

/// Collective operations whose blocks are not all of the same length, prepared once, with their
/// buffers, and then started as often as they are needed.
///
/// Each does what the operation of [`VaryingCollectives`](crate::VaryingCollectives) without the
/// `_init` does that is told the blocks, and checks the same when it is prepared. Who calls when,
/// and what is done where the library has no such operations, is said at [`PersistentCollectives`].
///
/// MPI 5.0 §6.13. The trait is implemented by [`Communicator`] and is sealed.
pub trait PersistentVaryingCollectives: Sealed {
    varying_operations!(persistent);
}

impl PersistentVaryingCollectives for Communicator {}
