//! The average over all ranks.

use ranks_mpi_sys::{MPI_Datatype, MPI_Op};

use crate::ops::description::Describe;
use crate::ops::fractional::Fractional;
use crate::ops::{Reduction, Sum};

/// The sum over all ranks, divided by how many there are: for numbers that can be, and for
/// reductions over all ranks.
///
/// ```
/// use ranks::collectives::{Collectives, ops::Avg};
///
/// fn mean(world: &ranks::Communicator, mine: f64) -> ranks::Result<f64> {
///     let mut mean = [0.0];
///     world.allreduce(&[mine], &mut mean, Avg)?;
///     Ok(mean[0])
/// }
/// ```
///
/// It is for [`allreduce`](crate::Collectives::allreduce), [`reduce`](crate::Collectives::reduce),
/// [`reduce_scatter_block`](crate::Collectives::reduce_scatter_block) and
/// [`reduce_scatter`](crate::VaryingCollectives::reduce_scatter), also in place, at once, prepared,
/// and between two groups, where it is the average over the other group.
///
/// MPI has no such operation: [`Sum`] is what travels, and each rank divides what it gets, in
/// operations that return at once when they are found to be over. All forms have the same result if
/// the library adds in the same order. A sum that is too large for its type is infinite, even if
/// the average would not be.
///
/// The average of integers is seldom one:
///
/// ```compile_fail,E0277
/// # use ranks::collectives::{Collectives, ops::Avg};
/// # fn f(world: &ranks::Communicator) -> ranks::Result<()> {
/// world.allreduce(&[1], &mut [0], Avg)
/// # }
/// ```
///
/// Nor is there an average of the ranks up to this one, or of two elements that come to one:
///
/// ```compile_fail,E0277
/// # use ranks::collectives::{Collectives, ops::Avg};
/// # fn f(world: &ranks::Communicator) -> ranks::Result<()> {
/// world.scan(&[1.0], &mut [0.0], Avg)
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Avg;

impl<T: Fractional> Reduction<T> for Avg {}
impl<T: Fractional> Describe<T> for Avg {
    const FINISHES: bool = true;

    #[inline(always)]
    fn predefined() -> Option<(MPI_Op, MPI_Datatype)> {
        <Sum as Describe<T>>::predefined()
    }

    fn commutes(&self) -> bool {
        true
    }

    fn combine(&self, left: T, right: T) -> T {
        left.sum(right)
    }

    fn finish(&self, combined: &mut [T], ranks: usize) {
        for element in combined {
            *element = element.quotient(ranks);
        }
    }
}
