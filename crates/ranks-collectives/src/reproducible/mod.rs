//! Reductions whose results do not depend on how many ranks there are.

mod accumulator;
mod compensated;
mod exact;
mod tree;

use bytemuck::Pod;
use ranks_comm::{Communicator, Error, ErrorKind, Result};

use crate::agreement::{CallSignature, all_ready};
use crate::operation::varying::allgatherv;
use crate::operation::varying::counts;
use crate::ops::number::Number;
use crate::ops::user_op::Panicked;
use crate::ops::{Op, Sum};

pub use compensated::Compensated;
pub use exact::Exact;
use tree::{Nodes, levels};

/// The bytes of the largest element that is reduced: builds without optimization have about thirty
/// copies on the stack, which is of 2 MiB where a rank is a thread.
const LARGEST: usize = 32 << 10;

/// Reductions of a distributed array to one value, bit for bit the same for any number of ranks;
/// from [`Collectives::reproducible`](crate::Collectives::reproducible).
///
/// Each rank passes its piece of the array; the pieces, in the order of ranks, are the whole. They
/// may be of any length, and none. Every rank gets the result.
///
/// ```
/// use ranks::collectives::{Collectives, ops::Max};
///
/// /// The Euclidean norm of a vector and its largest element.
/// fn norm(world: &ranks::Communicator, mine: &[f64]) -> ranks::Result<(f64, Option<f64>)> {
///     let reproducible = world.reproducible();
///     let squares = reproducible.dot(mine, mine)?;
///     Ok((squares.sqrt(), reproducible.reduce(mine, Max)?))
/// }
/// ```
///
/// # What results depend on
///
/// Floating-point addition is not associative, so the bits of a sum depend on which elements are
/// added first. A plain [`allreduce`](crate::Collectives::allreduce) of each rank's own sum depends
/// on where the array is cut, and on the library:
///
/// | | same bits for other numbers of ranks | other cuts | other order of elements | other libraries |
/// |---|---|---|---|---|
/// | each rank's sum, then `allreduce` | no | no | no | no |
/// | [`sum`](Self::sum), [`dot`](Self::dot), [`reduce`](Self::reduce), and [`compensated`](Self::compensated) sums | yes | yes | no | yes |
/// | [`exact`](Self::exact) sums | yes | yes | yes | yes |
///
/// Element by element, an `allreduce` of vectors of the same length has a term for each rank, so
/// its result can only be the same for the same number of ranks; [`Exact::allreduce`] gives the
/// nearest to the true sums whichever ranks the terms are on.
///
/// The elements are combined along a tree that depends on their places in the whole array alone:
/// the first of n elements apart from the others, as many as the largest power of two below n, and
/// so on within both parts. NaNs that come of the [operations of this crate](crate::ops) all have
/// the same bits.
///
/// # Costs
///
/// Two exchanges: the lengths, then at most 2 · log₂ n values of each rank, which go to all ranks
/// and are combined on each; for [exact](Self::exact) sums one, of 568 bytes. What a rank computes
/// for its piece of 10⁶ `f64`, measured on one x86-64 core of a busy machine, against loops that
/// are not reproducible:
///
/// | | one after the other | in 16 sums side by side |
/// |---|---|---|
/// | `sum`, `dot`, `reduce` with `Max` | 0.9 times | 5 times |
/// | `compensated().sum` | 3 to 6 times | 15 to 30 times |
/// | `exact().sum` | 3 to 12 times | 15 to 60 times |
#[derive(Debug, Clone, Copy)]
pub struct Reproducible<'a> {
    comm: &'a Communicator,
}

impl<'a> Reproducible<'a> {
    pub(crate) fn over(comm: &'a Communicator) -> Self {
        Self { comm }
    }

    /// The sum of the array; zero if it is empty.
    ///
    /// # Errors
    /// Errors of the library.
    pub fn sum<T: Number>(&self, mine: &[T]) -> Result<T> {
        Ok(self.reduce(mine, Sum)?.unwrap_or(T::zeroed()))
    }

    /// The sum of the products of the elements of two arrays that are divided in the same way; zero
    /// if they are empty.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the pieces differ in length; otherwise what the
    /// library reports.
    pub fn dot<T: Number>(&self, left: &[T], right: &[T]) -> Result<T> {
        const OPERATION: &str = "Reproducible::dot";
        let ready = match (left.len(), right.len()) {
            (left, right) if left == right => Ok(()),
            (left, right) => Err(crate::arguments::lengths::unequal(OPERATION, left, right)),
        };
        all_ready(self.comm, CallSignature::moving::<T>(OPERATION), ready)?;
        let fill = |first: usize, leaves: &mut [T]| {
            let pairs = left[first..].iter().zip(&right[first..]);
            for (leaf, (&left, &right)) in leaves.iter_mut().zip(pairs) {
                *leaf = left.product(right);
            }
        };
        let add = |left: &mut T, right: &T| *left = left.sum(*right);
        let sum = reduced(self.comm, OPERATION, left.len(), fill, add)?;
        Ok(sum.map_or(T::zeroed(), T::canonical))
    }

    /// The elements of the array combined with `op`, in order; `None` if it is empty.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) if an element is larger than 32 KiB, since `op` takes and
    /// returns them on the stack, or if a closure of the program's own panics, on the rank where it
    /// did so, as [`UserOp`](crate::ops::UserOp) says; otherwise what the library reports.
    pub fn reduce<T: Pod, O: Op<T>>(&self, mine: &[T], op: O) -> Result<Option<T>> {
        const OPERATION: &str = "Reproducible::reduce";
        let ready = match size_of::<T>() {
            ..=LARGEST => Ok(()),
            size => Err(Error::new(
                ErrorKind::Argument,
                OPERATION,
                format_args!(
                    "elements of {size} bytes are too large to be combined on the stack; pass \
                     smaller ones, of at most {LARGEST}"
                ),
            )),
        };
        all_ready(self.comm, CallSignature::reducing::<T, O>(OPERATION), ready)?;
        let fill = |first: usize, leaves: &mut [T]| {
            leaves.copy_from_slice(&mine[first..first + leaves.len()]);
        };
        let combine = |left: &mut T, right: &T| *left = op.combine(*left, *right);
        let whole = reduced(self.comm, OPERATION, mine.len(), fill, combine)?;
        Ok(whole.map(|whole| op.canonical(whole)))
    }

    /// Sums that keep what rounding takes off.
    #[must_use]
    pub fn compensated(&self) -> Compensated<'a> {
        Compensated { comm: self.comm }
    }

    /// Sums that are rounded once, and do not depend on the order of elements.
    #[must_use]
    pub fn exact(&self) -> Exact<'a> {
        Exact { comm: self.comm }
    }
}

/// Combines the leaves that `fill` makes of the elements of all ranks, `length` of this one.
/// Collective.
fn reduced<N: Pod>(
    comm: &Communicator,
    operation: &'static str,
    length: usize,
    fill: impl Fn(usize, &mut [N]),
    combine: impl Fn(&mut N, &N),
) -> Result<Option<N>> {
    let pieces = counts::of_all(comm, length)?;
    let travelling: Vec<usize> = (0..pieces.len())
        .map(|rank| levels(pieces.range(rank)).count())
        .collect();
    let blocks = crate::Blocks::from_counts(&travelling)?;
    let mut mine = vec![N::zeroed(); travelling[comm.rank()]];
    let of_this_rank = Panicked::caught(operation, || {
        mine = Nodes::of(pieces.range(comm.rank()), fill, &combine).values();
    });
    // The others count on this rank, whatever has happened here.
    let mut nodes = counts::room_to_receive(comm, operation, blocks.end())?;
    allgatherv::allgatherv_into(comm, &mine, &mut nodes, &blocks)?;
    of_this_rank?;
    let mut whole = None;
    Panicked::caught(operation, || {
        let levels = (0..pieces.len()).flat_map(|rank| levels(pieces.range(rank)));
        let mut tree = Nodes::from(0);
        for (level, node) in levels.zip(&nodes) {
            tree.push(level, node, &combine);
        }
        whole = tree.root(&combine);
    })?;
    Ok(whole)
}
