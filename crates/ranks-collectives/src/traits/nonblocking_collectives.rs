//! The trait with the collective operations that return at once and own their buffers.

use ranks_comm::{Communicator, RecvBuffer, Request, Result, SendBuffer};

use crate::arguments::blocks::Blocks;
use crate::arguments::layouts::Layouts;
use crate::in_flight::stable::{self, Shape};
use crate::mpi::functions::{self, Named};
use crate::operation::{barrier, moves, reductions};
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

    operations!(nonblocking);
    varying_operations!(nonblocking);
}

impl NonblockingCollectives for Communicator {}
