//! Sums that keep what rounding takes off.

use ranks_comm::{Communicator, Result};

use super::reduced;
use crate::agreement::{CallSignature, all_ready};
use crate::ops::fractional::Fractional;

/// Sums with twice the digits, over the same tree as [`Reproducible`](crate::Reproducible)'s; from
/// [`Reproducible::compensated`](crate::Reproducible::compensated).
///
/// Each node of the tree is a number and what was rounded off it. The error of a sum of n numbers
/// is that of one rounding, and log₂ n · 2^-104 times the sum of their magnitudes for `f64` (2^-46
/// for `f32`): cancellation costs digits only where the sum is smaller than that.
///
/// Results depend on the same as there. For results that do not depend on the order of elements
/// either, there is [`Exact`](crate::Exact).
#[derive(Debug, Clone, Copy)]
pub struct Compensated<'a> {
    pub(super) comm: &'a Communicator,
}

impl Compensated<'_> {
    /// The sum of a distributed array, of which each rank passes its piece; zero if it is empty.
    ///
    /// # Errors
    /// Errors of the library.
    pub fn sum<T: Fractional>(&self, mine: &[T]) -> Result<T> {
        const OPERATION: &str = "Compensated::sum";
        all_ready(self.comm, CallSignature::moving::<T>(OPERATION), Ok(()))?;
        let fill = |first: usize, leaves: &mut [[T; 2]]| {
            for (leaf, &number) in leaves.iter_mut().zip(&mine[first..]) {
                *leaf = [number, T::zeroed()];
            }
        };
        let add = |left: &mut [T; 2], right: &[T; 2]| *left = add(*left, *right);
        let sum = reduced(self.comm, OPERATION, mine.len(), fill, add)?;
        Ok(sum.map_or(T::zeroed(), |[sum, _]| sum.canonical()))
    }
}

/// The sum of two numbers, each with what was rounded off it.
#[inline]
fn add<T: Fractional>(left: [T; 2], right: [T; 2]) -> [T; 2] {
    let (sum, error) = two_sum(left[0], right[0]);
    let rest = error.sum(left[1].sum(right[1]));
    let whole = sum.sum(rest);
    // `rest` is smaller than `sum`, so that this is exact too (Dekker).
    [
        whole,
        rest.difference(whole.difference(sum)).finite_or_zero(),
    ]
}

/// The sum, and what is missing from it: exact, whichever of the two is larger (Knuth).
#[inline]
fn two_sum<T: Fractional>(left: T, right: T) -> (T, T) {
    let sum = left.sum(right);
    let of_right = sum.difference(left);
    let of_left = sum.difference(of_right);
    let error = left.difference(of_left).sum(right.difference(of_right));
    // Nothing is missing from a sum that is infinite.
    (sum, error.finite_or_zero())
}
