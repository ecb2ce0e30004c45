//! The traits with the operations among neighbours that return at once, and with those that are
//! prepared.

use bytemuck::Pod;
use ranks_comm::{
    Error, ErrorKind, Neighborhood, Persistent, RecvBuffer, Request, Result, Scope, ScopedRequest,
    SendBuffer,
};

use crate::arguments::blocks::Blocks;
use crate::arguments::kept::Around;
use crate::arguments::layouts::Layouts;
use crate::in_flight::stable::{self, Shape};
use crate::mpi::functions::{self, Named};
use crate::operation::moves;
use crate::traits::sealed::{ScopeSealed, Sealed};

/// The operations, whatever their form; [`forms`](super::forms) says what is in a row.
macro_rules! neighbor_operations {
    ($form:ident) => {
        $form! {
            /// send `send` to each neighbour, and to receive as much from each in `recv`.
            ///
            /// # Errors
            /// As [`neighbor_allgather`](crate::NeighborCollectives::neighbor_allgather).
            moves::NeighborAllgather among around (send; recv) with (around);
            #[doc(alias("MPI_Ineighbor_allgather", "MPI_Ineighbor_allgather_c"))]
            ineighbor_allgather: "8.7.1";
            #[doc(alias("MPI_Neighbor_allgather_init", "MPI_Neighbor_allgather_init_c"))]
            neighbor_allgather_init: "8.8.1";
        }
        $form! {
            /// send `send` to each neighbour, and to receive what each sends in `recv`, where
            /// `blocks` say.
            ///
            /// # Errors
            /// As [`neighbor_allgatherv`](crate::NeighborCollectives::neighbor_allgatherv).
            moves::NeighborAllgatherv among around (send; recv, blocks: &Blocks)
                with (around, blocks);
            #[doc(alias("MPI_Ineighbor_allgatherv", "MPI_Ineighbor_allgatherv_c"))]
            ineighbor_allgatherv: "8.7.1";
            #[doc(alias("MPI_Neighbor_allgatherv_init", "MPI_Neighbor_allgatherv_init_c"))]
            neighbor_allgatherv_init: "8.8.1";
        }
        $form! {
            /// send each neighbour its block of `send`, and to receive one of each in `recv`, all
            /// of the same length.
            ///
            /// Over MPI it goes by the function for blocks of different lengths.
            ///
            /// # Errors
            /// As [`neighbor_alltoall`](crate::NeighborCollectives::neighbor_alltoall).
            moves::NeighborAlltoall among around (send; recv) with (around);
            #[doc(alias("MPI_Ineighbor_alltoall", "MPI_Ineighbor_alltoall_c"))]
            ineighbor_alltoall: "8.7.2";
            #[doc(alias("MPI_Neighbor_alltoall_init", "MPI_Neighbor_alltoall_init_c"))]
            neighbor_alltoall_init: "8.8.2";
        }
        $form! {
            /// send each neighbour its block of `send`, and to receive one of each in `recv`, where
            /// the blocks say.
            ///
            /// # Errors
            /// As [`neighbor_alltoallv`](crate::NeighborCollectives::neighbor_alltoallv).
            moves::NeighborAlltoallv among around
                (send, send_blocks: &Blocks; recv, recv_blocks: &Blocks)
                with (around, send_blocks, recv_blocks);
            #[doc(alias("MPI_Ineighbor_alltoallv", "MPI_Ineighbor_alltoallv_c"))]
            ineighbor_alltoallv: "8.7.2";
            #[doc(alias("MPI_Neighbor_alltoallv_init", "MPI_Neighbor_alltoallv_init_c"))]
            neighbor_alltoallv_init: "8.8.2";
        }
        $form! {
            /// send each neighbour what its layout takes of `send`, and to receive one part of each
            /// in `recv`.
            ///
            /// # Errors
            /// As [`neighbor_alltoallw`](crate::NeighborCollectives::neighbor_alltoallw).
            moves::NeighborAlltoallw among around
                (send, send_layouts: &Layouts; recv, recv_layouts: &Layouts)
                with (around, send_layouts, recv_layouts);
            #[doc(alias("MPI_Ineighbor_alltoallw", "MPI_Ineighbor_alltoallw_c"))]
            ineighbor_alltoallw: "8.7.2";
            #[doc(alias("MPI_Neighbor_alltoallw_init", "MPI_Neighbor_alltoallw_init_c"))]
            neighbor_alltoallw_init: "8.8.2";
        }
    };
}

/// Operations among neighbours that are begun by a call and over when their [`Request`] has been
/// waited for.
///
/// Each does what the operation of [`NeighborCollectives`](crate::NeighborCollectives) without the
/// `i` does, and checks the same before anything is sent; that each edge fits is not compared. What
/// is said of requests and buffers at [`NonblockingCollectives`](crate::NonblockingCollectives)
/// holds here.
///
/// MPI 5.0 §8.7. The trait is implemented for every [`Neighborhood`].
pub trait NonblockingNeighborCollectives: Neighborhood + Sized {
    neighbor_operations!(nonblocking);
}

impl<N: Neighborhood> NonblockingNeighborCollectives for N {}

/// Nonblocking operations among neighbours on borrowed slices, started in a [`Scope`] of the
/// neighbourhood and complete when it ends, or when they are waited for.
///
/// Each takes the neighbourhood that the scope is of. Buffers and requests are as in
/// [`ScopedCollectives`](crate::ScopedCollectives), lengths as in
/// [`NeighborCollectives`](crate::NeighborCollectives).
///
/// ```
/// use ranks::collectives::ScopedNeighborCollectives;
///
/// # fn main() -> ranks::Result<()> {
/// # ranks::run(|world| {
/// let ring = world.cart_create(&[world.size()], &[true], false)?;
/// let ring = ring.expect("the ring has room for all ranks");
/// let mine = [ring.rank(), ring.rank() + 100];
/// let mut from = [0; 2];
/// ring.scope(|s| s.ineighbor_alltoall(&ring, &mine, &mut from).map(drop))?;
/// let (left, right) = ring.shift(0, 1)?;
/// assert_eq!([Some(from[0]), Some(from[1])], [left.map(|rank| rank + 100), right]);
/// # Ok(())
/// # })
/// # }
/// ```
///
/// # Errors
///
/// Of each, [`Argument`](ErrorKind::Argument) if the scope is of another communicator than the
/// neighbourhood; otherwise those of the blocking operation.
///
/// MPI 5.0 §8.7. The trait is implemented by [`Scope`] and is sealed.
pub trait ScopedNeighborCollectives<'scope, 'env: 'scope>: ScopeSealed<'scope, 'env> {
    neighbor_operations!(scoped);
}

impl<'scope, 'env: 'scope> ScopedNeighborCollectives<'scope, 'env> for Scope<'scope, 'env> {}

/// The neighbourhood, if it is that of the scope: the lengths of slices follow from it.
fn of_scope<'a, M: Named>(
    scope: &Scope<'_, '_>,
    around: &'a impl Neighborhood,
) -> Result<&'a dyn Neighborhood> {
    if scope.communicator().is_same(around) {
        return Ok(around);
    }
    Err(Error::new(
        ErrorKind::Argument,
        M::NONBLOCKING,
        "the scope is of another communicator than the neighbourhood; call `scope` on the neighbourhood itself",
    ))
}

/// Operations among neighbours that are prepared once, with their buffers, and then started as
/// often as they are needed.
///
/// Each does what the operation of [`NeighborCollectives`](crate::NeighborCollectives) without the
/// `_init` does, and checks and compares the same when it is prepared. Who calls when, and what is
/// done where the library has no such operations, is said at
/// [`PersistentCollectives`](crate::PersistentCollectives).
///
/// MPI 5.0 §8.8. The trait is implemented for every [`Neighborhood`] that can be cloned.
pub trait PersistentNeighborCollectives: Neighborhood + Clone + Send + 'static {
    neighbor_operations!(persistent);
}

impl<N: Neighborhood + Clone + Send + 'static> PersistentNeighborCollectives for N {}
