//! The trait with the collective operations that return at once and borrow their slices.

use bytemuck::Pod;
use ranks_comm::{Result, Scope, ScopedRequest};

use crate::arguments::blocks::Blocks;
use crate::arguments::layouts::Layouts;
use crate::in_flight::stable;
use crate::mpi::functions::{self, Named};
use crate::operation::{moves, reductions};
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
    operations!(scoped);
    varying_operations!(scoped);
}

impl<'scope, 'env: 'scope> ScopedCollectives<'scope, 'env> for Scope<'scope, 'env> {}
