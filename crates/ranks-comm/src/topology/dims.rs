//! Balanced dimensions of a grid of ranks.

use ranks_launch::Count;

use crate::communicator::Communicator;
use crate::result::{Error, ErrorKind, Result};
use crate::topology::mpi::cartesian;
use crate::transport::backend::Backend;

const OPERATION: &str = "MPI_Dims_create";
/// The largest `int` of C.
const MOST: usize = i32::MAX as usize;
/// More ranks than libraries are asked for.
const MANY: usize = 1 << 24;

impl Communicator {
    /// Chooses the sizes of the dimensions that are zero in `dims` so that the grid has `nnodes`
    /// ranks, with the library of this communicator. Sizes that are not zero stay. Local.
    ///
    /// Libraries differ in their choice; [`balanced_dims`] is the same everywhere, and is used in
    /// process, for more than 16 million ranks, and where a library refuses.
    ///
    /// # Errors
    /// As [`balanced_dims`].
    ///
    /// MPI 5.0 §8.5.2 (`MPI_Dims_create`).
    #[doc(alias = "MPI_Dims_create")]
    pub fn dims_create(&self, nnodes: usize, dims: &mut [usize]) -> Result<()> {
        let free = free(nnodes, dims)?;
        let _entered = self.enter(OPERATION)?;
        // Libraries have limits of their own, and MPICH ends by a signal at primes near the largest
        // int.
        let asks = matches!(self.backend(), Backend::Mpi(_)) && nnodes <= MANY;
        if !asks || cartesian::dims_create(nnodes, dims).is_err() {
            fill(free, dims);
        }
        Ok(())
    }
}

/// Chooses the sizes of the dimensions that are zero in `dims` so that the grid has `nnodes` ranks.
///
/// The sizes chosen do not increase; the largest is as small as possible, then the next one. Sizes
/// that are not zero stay. No library is called, so the choice is the same everywhere.
///
/// ```
/// let mut dims = [0, 0, 2];
/// ranks::virtual_topology::balanced_dims(24, &mut dims)?;
/// assert_eq!(dims, [4, 3, 2]);
/// # Ok::<(), ranks::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Argument`] if no grid of `nnodes` ranks has the sizes that are given, or there are
/// more than 2 147 483 647 ranks, which is as many as MPI can number.
///
/// MPI 5.0 §8.5.2 (`MPI_Dims_create`).
#[doc(alias = "MPI_Dims_create")]
pub fn balanced_dims(nnodes: usize, dims: &mut [usize]) -> Result<()> {
    let free = free(nnodes, dims)?;
    fill(free, dims);
    Ok(())
}

/// The number of ranks for the dimensions that are zero.
fn free(nnodes: usize, dims: &[usize]) -> Result<usize> {
    let given = dims.iter().filter(|&&dim| dim != 0);
    let product = given.fold(1usize, |product, &dim| product.saturating_mul(dim));
    let open = dims.contains(&0);
    let possible = (1..=MOST).contains(&nnodes)
        && nnodes.is_multiple_of(product)
        && (open || product == nnodes)
        && dims.len() <= MOST;
    if possible {
        return Ok(nnodes / product);
    }
    if nnodes > MOST {
        let why = format_args!("{nnodes} ranks are more than the {MOST} that MPI can number");
        return Err(Error::new(ErrorKind::Argument, OPERATION, why));
    }
    let ranks = Count(nnodes, "rank");
    let why =
        format_args!("{ranks} cannot fill a grid of {dims:?}, where 0 is a size to be chosen");
    Err(Error::new(ErrorKind::Argument, OPERATION, why))
}

fn fill(nodes: usize, dims: &mut [usize]) {
    let open = dims.iter().filter(|&&dim| dim == 0).count();
    let factors = prime_factors(nodes);
    let mut chosen = Vec::new();
    // `nodes` itself as the largest is always possible.
    split(nodes, &factors, open, nodes, &mut chosen);
    for (dim, size) in dims.iter_mut().filter(|dim| **dim == 0).zip(chosen) {
        *dim = size;
    }
}

/// Appends `parts` factors of `nodes`, none above `limit` and none above the one before, of which
/// the first is as small as possible, then the second, and so on. Returns `false` if there are
/// none.
fn split(
    nodes: usize,
    factors: &[usize],
    parts: usize,
    limit: usize,
    chosen: &mut Vec<usize>,
) -> bool {
    if nodes == 1 {
        chosen.resize(chosen.len() + parts, 1);
        return true;
    }
    if parts == 0 {
        return false;
    }
    let mut primes = factors.iter().rev().copied();
    let least = primes
        .find(|&prime| nodes.is_multiple_of(prime))
        .unwrap_or(1);
    let parts_left = u32::try_from(parts).unwrap_or(u32::MAX);
    for largest in divisors(nodes, factors) {
        if largest < least || largest.saturating_pow(parts_left) < nodes {
            continue;
        }
        if largest > limit {
            return false;
        }
        chosen.push(largest);
        if split(nodes / largest, factors, parts - 1, largest, chosen) {
            return true;
        }
        chosen.pop();
    }
    false
}

/// The prime factors, ascending, each as often as it divides.
fn prime_factors(mut number: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    let mut candidate = 2;
    while candidate * candidate <= number {
        while number.is_multiple_of(candidate) {
            factors.push(candidate);
            number /= candidate;
        }
        candidate += 1;
    }
    if number > 1 {
        factors.push(number);
    }
    factors
}

/// The divisors of `number`, ascending; `primes` contains all its prime factors.
fn divisors(number: usize, primes: &[usize]) -> Vec<usize> {
    let mut divisors = vec![1];
    for prime in primes {
        let more: Vec<usize> = divisors
            .iter()
            .map(|divisor| divisor * prime)
            .filter(|divisor| number.is_multiple_of(*divisor))
            .collect();
        divisors.extend(more);
        divisors.sort_unstable();
        divisors.dedup();
    }
    divisors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims<const N: usize>(nodes: usize, mut dims: [usize; N]) -> [usize; N] {
        balanced_dims(nodes, &mut dims).unwrap();
        dims
    }

    #[test]
    fn grids_are_as_near_to_cubes_as_can_be() {
        assert_eq!(dims(6, [0, 0]), [3, 2]);
        assert_eq!(dims(7, [0, 0]), [7, 1]);
        assert_eq!(dims(6, [0, 3, 0]), [2, 3, 1]);
        assert_eq!(dims(12, [0, 0]), [4, 3]);
        assert_eq!(dims(12, [0, 0, 0]), [3, 2, 2]);
        assert_eq!(dims(36, [0, 0]), [6, 6]);
        assert_eq!(dims(1, [0, 0]), [1, 1]);
        // A greedy choice of primes gives 36 x 12.
        assert_eq!(dims(432, [0, 0]), [24, 18]);
        assert_eq!(dims(i32::MAX as usize, [0, 0]), [i32::MAX as usize, 1]);
        assert_eq!(dims(1 << 30, [0; 10]), [8; 10]);
        assert!(dims(1, []).is_empty());
        assert_eq!(dims(5, [5]), [5]);
        // Each took a place on the stack.
        let mut many = vec![0; 1_000_000];
        balanced_dims(6, &mut many).unwrap();
        assert_eq!(many[..3], [3, 2, 1]);
    }

    #[test]
    fn every_number_is_laid_out_in_full() {
        for nodes in 1..500 {
            for open in 1..6 {
                let mut dims = vec![0; open];
                balanced_dims(nodes, &mut dims).unwrap();
                assert_eq!(dims.iter().product::<usize>(), nodes);
                assert!(dims.is_sorted_by(|a, b| a >= b), "{nodes}: {dims:?}");
            }
        }
    }

    #[test]
    fn highly_composite_numbers_take_no_time() {
        for nodes in [1_102_701_600, 2_095_133_040, 2_147_483_646, 1 << 29] {
            for open in 1..20 {
                let mut dims = vec![0; open];
                balanced_dims(nodes, &mut dims).unwrap();
                assert_eq!(dims.iter().product::<usize>(), nodes);
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (nodes, mut dims) in [
            (0, vec![0]),
            (7, vec![0, 3]),
            (6, vec![3, 1]),
            (2, vec![]),
            (usize::MAX, vec![0]),
            (4, vec![usize::MAX, usize::MAX, 0]),
        ] {
            let error = balanced_dims(nodes, &mut dims).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        }
        let error = balanced_dims(MOST + 1, &mut [0, 0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains("more than the 2147483647"));
    }
}
