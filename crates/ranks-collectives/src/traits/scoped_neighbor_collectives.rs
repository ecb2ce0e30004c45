//! The trait with the nonblocking collective operations among neighbours that borrow their slices.

use bytemuck::Pod;
use ranks_comm::{Error, ErrorKind, Neighborhood, Result, Scope, ScopedRequest};

use crate::arguments::blocks::Blocks;
use crate::arguments::layouts::Layouts;
use crate::mpi::functions::{
    Named, NeighborAllgather, NeighborAllgatherv, NeighborAlltoall, NeighborAlltoallv,
    NeighborAlltoallw,
};
use crate::operation::moves;
use crate::traits::sealed::ScopeSealed;

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
/// [`Argument`](ErrorKind::Argument) if the scope is of another communicator than the
/// neighbourhood; otherwise those of the blocking operations.
///
/// MPI 5.0 §8.7. The trait is implemented by [`Scope`] and is sealed.
pub trait ScopedNeighborCollectives<'scope, 'env: 'scope>: ScopeSealed<'scope, 'env> {
    /// Starts to send `send` to each neighbour, and to receive as much from each in `recv`.
    ///
    /// # Errors
    /// Those [said above](ScopedNeighborCollectives#errors).
    ///
    /// MPI 5.0 §8.7.1 (`MPI_Ineighbor_allgather`).
    #[doc(alias = "MPI_Ineighbor_allgather")]
    #[doc(alias = "MPI_Ineighbor_allgather_c")]
    fn ineighbor_allgather<T: Pod>(
        &'scope self,
        around: &impl Neighborhood,
        send: &'scope [T],
        recv: &'scope mut [T],
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        let around = of_scope::<NeighborAllgather>(self.scope(), around)?;
        moves::scoped::<NeighborAllgather, T>(self.scope(), send, recv, around)
    }

    /// Starts to send `send` to each neighbour, and to receive what each sends in `recv`, where
    /// `blocks` say.
    ///
    /// # Errors
    /// Those [said above](ScopedNeighborCollectives#errors).
    ///
    /// MPI 5.0 §8.7.1 (`MPI_Ineighbor_allgatherv`).
    #[doc(alias = "MPI_Ineighbor_allgatherv")]
    #[doc(alias = "MPI_Ineighbor_allgatherv_c")]
    fn ineighbor_allgatherv<T: Pod>(
        &'scope self,
        around: &impl Neighborhood,
        send: &'scope [T],
        recv: &'scope mut [T],
        blocks: &Blocks,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        let around = of_scope::<NeighborAllgatherv>(self.scope(), around)?;
        moves::scoped::<NeighborAllgatherv, T>(self.scope(), send, recv, (around, blocks))
    }

    /// Starts to send each neighbour its block of `send`, and to receive one of each in `recv`, all
    /// of the same length.
    ///
    /// # Errors
    /// Those [said above](ScopedNeighborCollectives#errors).
    ///
    /// MPI 5.0 §8.7.2 (`MPI_Ineighbor_alltoall`, through `MPI_Ineighbor_alltoallv`).
    #[doc(alias = "MPI_Ineighbor_alltoall")]
    #[doc(alias = "MPI_Ineighbor_alltoall_c")]
    fn ineighbor_alltoall<T: Pod>(
        &'scope self,
        around: &impl Neighborhood,
        send: &'scope [T],
        recv: &'scope mut [T],
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        let around = of_scope::<NeighborAlltoall>(self.scope(), around)?;
        moves::scoped::<NeighborAlltoall, T>(self.scope(), send, recv, around)
    }

    /// Starts to send each neighbour its block of `send`, and to receive one of each in `recv`,
    /// where the blocks say.
    ///
    /// # Errors
    /// Those [said above](ScopedNeighborCollectives#errors).
    ///
    /// MPI 5.0 §8.7.2 (`MPI_Ineighbor_alltoallv`).
    #[doc(alias = "MPI_Ineighbor_alltoallv")]
    #[doc(alias = "MPI_Ineighbor_alltoallv_c")]
    fn ineighbor_alltoallv<T: Pod>(
        &'scope self,
        around: &impl Neighborhood,
        send: &'scope [T],
        send_blocks: &Blocks,
        recv: &'scope mut [T],
        recv_blocks: &Blocks,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        let around = of_scope::<NeighborAlltoallv>(self.scope(), around)?;
        let with = (around, send_blocks, recv_blocks);
        moves::scoped::<NeighborAlltoallv, T>(self.scope(), send, recv, with)
    }

    /// Starts to send each neighbour what its layout takes of `send`, and to receive one part of
    /// each in `recv`.
    ///
    /// # Errors
    /// Those [said above](ScopedNeighborCollectives#errors).
    ///
    /// MPI 5.0 §8.7.2 (`MPI_Ineighbor_alltoallw`).
    #[doc(alias = "MPI_Ineighbor_alltoallw")]
    #[doc(alias = "MPI_Ineighbor_alltoallw_c")]
    fn ineighbor_alltoallw<T: Pod>(
        &'scope self,
        around: &impl Neighborhood,
        send: &'scope [T],
        recv: &'scope mut [T],
        send_layouts: &Layouts,
        recv_layouts: &Layouts,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        let around = of_scope::<NeighborAlltoallw>(self.scope(), around)?;
        let with = (around, send_layouts, recv_layouts);
        moves::scoped::<NeighborAlltoallw, T>(self.scope(), send, recv, with)
    }
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
