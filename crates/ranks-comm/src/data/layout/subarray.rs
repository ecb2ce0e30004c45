//! Subarrays: blocks of an array of any number of dimensions.

use ranks_launch::Count;

use crate::data::layout::Layout;
use crate::data::layout::shape::Shape;
use crate::result::{Error, ErrorKind, Result};

const OPERATION: &str = "MPI_Type_create_subarray";

/// The order of the elements of an array in memory: the index that runs fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last one, as in C and Rust.
    #[doc(alias = "MPI_ORDER_C")]
    C,
    /// The first one.
    #[doc(alias = "MPI_ORDER_FORTRAN")]
    Fortran,
}

impl Layout {
    /// The block of `subsizes` elements that begins at `starts` in an array of `sizes`.
    ///
    /// Its extent is the whole array, so that [`repeat`](Self::repeat) goes to the next array.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if the three do not have as many dimensions, [`ErrorKind::Argument`]
    /// if the block is not inside the array, if the array has no dimensions, or more elements than
    /// memory can hold.
    ///
    /// MPI 5.0 §5.1.3 (`MPI_Type_create_subarray`).
    #[doc(alias = "MPI_Type_create_subarray")]
    #[doc(alias = "MPI_Type_create_subarray_c")]
    pub fn subarray(
        sizes: &[usize],
        subsizes: &[usize],
        starts: &[usize],
        order: Order,
    ) -> Result<Self> {
        if sizes.len() != subsizes.len() || sizes.len() != starts.len() {
            let why = format_args!(
                "{}, {} and {}; give one of each for every dimension",
                Count(sizes.len(), "size"),
                Count(subsizes.len(), "subsize"),
                Count(starts.len(), "start")
            );
            return Err(Error::new(ErrorKind::Length, OPERATION, why));
        }
        if sizes.is_empty() {
            return Err(argument("an array has at least one dimension"));
        }
        let dimensions = sizes.iter().zip(subsizes).zip(starts).enumerate();
        for (dimension, ((&size, &subsize), &start)) in dimensions {
            if start.checked_add(subsize).is_none_or(|end| end > size) {
                return Err(argument(format_args!(
                    "in dimension {dimension} a subsize of {subsize} from {start} on is not inside the array's {size}"
                )));
            }
        }
        let mut dimensions: Vec<usize> = (0..sizes.len()).collect();
        if order == Order::C {
            dimensions.reverse();
        }
        let dimensions = dimensions.into_iter();
        let block = Shape::block(dimensions.map(|d| (sizes[d], starts[d], subsizes[d])));
        let (block, extent) = block.ok_or_else(|| {
            argument(format_args!(
                "an array of {sizes:?} has more elements than memory can hold"
            ))
        })?;
        Ok(Self::spanning(Ok(block)).resized(extent))
    }
}

pub(super) fn argument(detail: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Argument, OPERATION, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The elements of a layout, by their indices.
    fn indices(layout: &Layout) -> Vec<usize> {
        let numbers: Vec<u64> = (0..layout.extent() as u64).collect();
        let taken = layout.of(&numbers).unwrap().to_vec();
        taken
            .into_iter()
            .map(|index| usize::try_from(index).unwrap())
            .collect()
    }

    #[test]
    fn a_block_in_both_orders() {
        let c = Layout::subarray(&[3, 4], &[2, 2], &[1, 1], Order::C).unwrap();
        assert_eq!(indices(&c), [5, 6, 9, 10]);
        assert_eq!((c.extent(), c.elements()), (12, 4));
        let fortran = Layout::subarray(&[3, 4], &[2, 2], &[1, 1], Order::Fortran).unwrap();
        assert_eq!(indices(&fortran), [4, 5, 7, 8]);
    }

    #[test]
    fn three_dimensions() {
        let (sizes, subsizes, starts) = ([3, 4, 5], [2, 3, 2], [1, 0, 3]);
        let layout = Layout::subarray(&sizes, &subsizes, &starts, Order::C).unwrap();
        let mut expected = Vec::new();
        for i in 1..3 {
            for j in 0..3 {
                for k in 3..5 {
                    expected.push((i * 4 + j) * 5 + k);
                }
            }
        }
        assert_eq!(indices(&layout), expected);
        assert!(layout.is_disjoint());
    }

    #[test]
    fn all_of_an_array_is_contiguous() {
        let all = Layout::subarray(&[3, 4], &[3, 4], &[0, 0], Order::C).unwrap();
        assert_eq!(all, Layout::contiguous(12));
        let none = Layout::subarray(&[3, 4], &[3, 0], &[0, 4], Order::C).unwrap();
        assert_eq!((none.elements(), none.extent()), (0, 12));
    }

    #[test]
    fn a_block_outside_of_the_array_is_refused() {
        let kind = |sizes: &[usize], subsizes: &[usize], starts: &[usize]| {
            Layout::subarray(sizes, subsizes, starts, Order::C)
                .unwrap_err()
                .kind()
        };
        assert_eq!(kind(&[3, 4], &[2, 2], &[1, 3]), ErrorKind::Argument);
        assert_eq!(
            kind(&[3, 4], &[2, 2], &[usize::MAX, 0]),
            ErrorKind::Argument
        );
        assert_eq!(kind(&[3, 4], &[2], &[1, 1]), ErrorKind::Length);
        assert_eq!(kind(&[], &[], &[]), ErrorKind::Argument);
        assert_eq!(
            kind(&[usize::MAX, 2], &[1, 1], &[0, 0]),
            ErrorKind::Argument
        );
    }
}
