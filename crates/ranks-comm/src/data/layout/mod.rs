//! Layouts: the elements of a slice that are transferred, such as columns, blocks, faces of a grid,
//! fields of structs.
//!
//! A [`Layout`] selects elements, [`Layout::of`] and [`Layout::of_mut`] check it once against a
//! slice and return a view, and operations take views:
//!
//! ```
//! use ranks::layout::Layout;
//!
//! # fn main() -> ranks::Result<()> {
//! # ranks::run(|world| {
//! let (rows, columns) = (4, 6);
//! let mut grid = vec![world.rank() as f64; rows * columns];
//! let column = Layout::vector(rows, 1, columns);
//! if world.rank() + 1 < world.size() {
//!     // The last column but one of this rank …
//!     world.send_view(&column.at(columns - 2).of(&grid)?, world.rank() + 1, 0)?;
//! }
//! if world.rank() > 0 {
//!     // … becomes the first one of the next.
//!     world.recv_view(&mut column.of_mut(&mut grid)?, world.rank() - 1, 0)?;
//! }
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! A message has the selected elements in the order of the layout, and nothing else: it may be
//! received with any other layout of as many elements, or into a plain slice, and the other way
//! round.
//!
//! Over MPI a layout is a derived datatype, made on first use and cached; in process
//! it is a copy.

mod copy;
mod external;
mod fields;
mod halo;
pub(crate) mod shape;
mod subarray;
mod view;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use shape::{Placed, Shape, TooLarge};

pub(crate) use external::advance;
pub(crate) use fields::Element;
pub use fields::{Field, Fields};
pub use halo::{Halo, Side};
pub use subarray::Order;
pub(crate) use view::Taken;
pub use view::{View, ViewMut};

/// A selection of elements of a slice, in order.
///
/// It is a description, in elements, independent of any slice; all numbers count from the beginning
/// of the slice that it is used with. Making one never fails for its size: a layout that reaches
/// beyond the slice, or beyond what memory can hold, is refused by [`of`](Self::of) and
/// [`of_mut`](Self::of_mut); the latter has `usize::MAX` elements and that extent. A clone is
/// cheap.
///
/// MPI 5.0 §5.1 (derived datatypes; there is nothing to commit and nothing to free).
#[doc(alias = "MPI_Datatype")]
#[doc(alias = "MPI_Type_commit")]
#[doc(alias = "MPI_Type_dup")]
#[doc(alias = "MPI_Type_free")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    start: usize,
    extent: usize,
    known: Arc<Known>,
}

/// A shape with properties that were computed from it; shared by all layouts that differ in their
/// offset only.
#[derive(Debug)]
pub(crate) struct Known {
    /// `None` if no element is selected.
    shape: Option<Shape>,
    elements: usize,
    end: usize,
    too_large: bool,
    hash: u64,
    disjoint: OnceLock<bool>,
}

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.too_large == other.too_large && self.shape == other.shape
    }
}

impl Eq for Known {}

impl Hash for Known {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl Known {
    fn new(shape: Option<Shape>, too_large: bool) -> Arc<Self> {
        let mut hasher = DefaultHasher::new();
        shape.hash(&mut hasher);
        let without = if too_large { usize::MAX } else { 0 };
        Arc::new(Self {
            elements: shape.as_ref().map_or(without, Shape::elements),
            end: shape.as_ref().map_or(without, Shape::end),
            hash: hasher.finish(),
            shape,
            too_large,
            disjoint: OnceLock::new(),
        })
    }

    pub(crate) fn shape(&self) -> Option<&Shape> {
        self.shape.as_ref()
    }

    fn is_disjoint(&self) -> bool {
        let find_out = || self.shape.as_ref().is_none_or(Shape::is_disjoint);
        *self.disjoint.get_or_init(find_out)
    }
}

impl Layout {
    /// The first `count` elements.
    ///
    /// MPI 5.0 §5.1.2 (`MPI_Type_contiguous`).
    #[doc(alias = "MPI_Type_contiguous")]
    #[doc(alias = "MPI_Type_contiguous_c")]
    #[must_use]
    pub fn contiguous(count: usize) -> Self {
        Self::spanning(Ok(Shape::run(0, count)))
    }

    /// `count` blocks of `block_length` elements; each starts `stride` elements after the one
    /// before.
    ///
    /// The first column of a matrix of `rows` × `columns` is `vector(rows, 1, columns)`.
    ///
    /// MPI 5.0 §5.1.2 (`MPI_Type_vector`).
    #[doc(alias = "MPI_Type_vector")]
    #[doc(alias = "MPI_Type_vector_c")]
    #[must_use]
    pub fn vector(count: usize, block_length: usize, stride: usize) -> Self {
        Self::spanning(Shape::repeat(count, stride, Shape::run(0, block_length)))
    }

    /// Blocks of elements, each with its start and its length.
    ///
    /// MPI 5.0 §5.1.2 (`MPI_Type_indexed`; mind that the length is the second number here).
    #[doc(alias = "MPI_Type_indexed")]
    #[doc(alias = "MPI_Type_indexed_c")]
    #[must_use]
    pub fn indexed(blocks: &[(usize, usize)]) -> Self {
        let run = |&(start, length): &(usize, usize)| Shape::run(start, length);
        Self::spanning(Shape::parts(blocks.iter().map(run)))
    }

    /// Blocks of `block_length` elements, at these starts.
    ///
    /// MPI 5.0 §5.1.2 (`MPI_Type_create_indexed_block`).
    #[doc(alias = "MPI_Type_create_indexed_block")]
    #[doc(alias = "MPI_Type_create_indexed_block_c")]
    #[must_use]
    pub fn indexed_block(block_length: usize, starts: &[usize]) -> Self {
        let run = |&start: &usize| Shape::run(start, block_length);
        Self::spanning(Shape::parts(starts.iter().map(run)))
    }

    /// The concatenation of layouts, each moved to its offset.
    ///
    /// MPI 5.0 §5.1.2 (`MPI_Type_create_struct` and `MPI_Type_create_hindexed`, in elements; for
    /// the fields of structs see [`Fields`]).
    #[doc(alias = "MPI_Type_create_hindexed")]
    #[doc(alias = "MPI_Type_create_hindexed_c")]
    #[doc(alias = "MPI_Type_create_hindexed_block")]
    #[doc(alias = "MPI_Type_create_hindexed_block_c")]
    #[doc(alias = "MPI_Type_create_struct")]
    #[doc(alias = "MPI_Type_create_struct_c")]
    #[must_use]
    pub fn concat(parts: &[(usize, Self)]) -> Self {
        let moved = parts.iter().map(|(offset, part)| part.at(*offset));
        let moved: Vec<Self> = moved.collect();
        let extent = moved.iter().map(|part| part.extent).max().unwrap_or(0);
        if moved.iter().any(|part| part.known.too_large) {
            return Self::too_large();
        }
        Self::new(Shape::parts(moved.iter().map(Self::placed)), Some(extent))
    }

    /// This layout, moved by `offset` elements.
    #[must_use]
    pub fn at(&self, offset: usize) -> Self {
        let fits = self.start.checked_add(offset);
        let fits = fits.filter(|start| start.checked_add(self.known.end).is_some());
        match (fits, self.extent.checked_add(offset)) {
            (Some(start), Some(extent)) => Self {
                start,
                extent,
                known: Arc::clone(&self.known),
            },
            _ => Self::too_large(),
        }
    }

    /// This layout `count` times, each an [`extent`](Self::extent) after the one before.
    ///
    /// MPI 5.0 §5.1.2 (`MPI_Type_contiguous` of a derived datatype).
    #[must_use]
    pub fn repeat(&self, count: usize) -> Self {
        let all = self.repeat_every(count, self.extent);
        match self.extent.checked_mul(count) {
            Some(extent) => all.resized(extent),
            None => Self::too_large(),
        }
    }

    /// This layout `count` times, each `stride` elements after the one before.
    ///
    /// MPI 5.0 §5.1.2 (`MPI_Type_create_hvector`; the stride is in elements).
    #[doc(alias = "MPI_Type_create_hvector")]
    #[doc(alias = "MPI_Type_create_hvector_c")]
    #[must_use]
    pub fn repeat_every(&self, count: usize, stride: usize) -> Self {
        if self.known.too_large {
            return Self::too_large();
        }
        let last = count.checked_sub(1).map_or(Some(0), |gaps| {
            stride.checked_mul(gaps)?.checked_add(self.extent)
        });
        Self::new(Shape::repeat(count, stride, self.placed()), last)
    }

    /// This layout with another [`extent`](Self::extent).
    ///
    /// MPI 5.0 §5.1.7 (`MPI_Type_create_resized`; the lower bound is always the beginning of the
    /// slice).
    #[doc(alias = "MPI_Type_create_resized")]
    #[doc(alias = "MPI_Type_create_resized_c")]
    #[must_use]
    pub fn resized(&self, extent: usize) -> Self {
        let layout = self.clone();
        Self { extent, ..layout }
    }

    /// The number of selected elements.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.known.elements
    }

    /// The distance of two of these when one is [repeated](Self::repeat), in elements: up to the
    /// last selected element, or the whole array of a [subarray](Self::subarray), or as set by
    /// [`resized`](Self::resized).
    ///
    /// MPI 5.0 §5.1.7 (`MPI_Type_get_extent`).
    #[doc(alias = "MPI_Type_get_extent")]
    #[doc(alias = "MPI_Type_get_extent_c")]
    #[doc(alias = "MPI_Type_get_extent_x")]
    #[must_use]
    pub fn extent(&self) -> usize {
        self.extent
    }

    /// The range from the first selected element to the end of the last one; empty if there is
    /// none.
    ///
    /// MPI 5.0 §5.1.8 (`MPI_Type_get_true_extent`).
    #[doc(alias = "MPI_Type_get_true_extent")]
    #[doc(alias = "MPI_Type_get_true_extent_c")]
    #[doc(alias = "MPI_Type_get_true_extent_x")]
    #[must_use]
    pub fn true_extent(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.known.end
    }

    /// Returns `true` if no element is selected twice: only such a layout can be received into.
    #[must_use]
    pub fn is_disjoint(&self) -> bool {
        !self.known.too_large && self.known.is_disjoint()
    }

    /// Returns `true` if this layout and the other one select no common element.
    pub(crate) fn is_apart(&self, other: &Self) -> bool {
        match (&self.known.shape, &other.known.shape) {
            (Some(mine), Some(theirs)) => mine.is_apart(self.start, theirs, other.start),
            _ => true,
        }
    }

    pub(crate) fn start(&self) -> usize {
        self.start
    }

    pub(crate) fn is_too_large(&self) -> bool {
        self.known.too_large
    }

    pub(crate) fn known(&self) -> &Arc<Known> {
        &self.known
    }

    fn placed(&self) -> Placed {
        let shape = self.known.shape.clone()?;
        Some((self.start, shape))
    }

    /// A layout whose extent ends with its last element.
    fn spanning(made: Result<Placed, TooLarge>) -> Self {
        let extent = match &made {
            Ok(Some((start, shape))) => start.checked_add(shape.end()),
            _ => Some(0),
        };
        Self::new(made, extent)
    }

    /// `extent` is `None` if it exceeds a `usize`; what was made ends within one.
    fn new(made: Result<Placed, TooLarge>, extent: Option<usize>) -> Self {
        let (Ok(placed), Some(extent)) = (made, extent) else {
            return Self::too_large();
        };
        let (start, shape) = placed.unzip();
        Self {
            start: start.unwrap_or(0),
            extent,
            known: Known::new(shape, false),
        }
    }

    /// A layout that [`of`](Self::of) refuses.
    fn too_large() -> Self {
        Self {
            start: 0,
            extent: usize::MAX,
            known: Known::new(None, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_extents_are_those_of_mpi() {
        let vector = Layout::vector(3, 2, 5);
        assert_eq!((vector.elements(), vector.extent()), (6, 12));
        assert_eq!(vector.at(4).true_extent(), 4..16);
        assert_eq!(vector.repeat(2).elements(), 12);
        assert_eq!(vector.repeat(2).extent(), 24);
        let resized = vector.resized(1).repeat(2);
        assert_eq!((resized.extent(), resized.true_extent()), (2, 0..13));
        let indexed = Layout::indexed(&[(4, 1), (0, 2)]);
        assert_eq!((indexed.elements(), indexed.extent()), (3, 5));
        assert_eq!(Layout::contiguous(0).true_extent(), 0..0);
    }

    #[test]
    fn equal_descriptions_are_equal() {
        assert_eq!(Layout::vector(4, 3, 3), Layout::contiguous(12));
        assert_eq!(
            Layout::indexed_block(2, &[1, 3]),
            Layout::contiguous(4).at(1)
        );
        let nested = Layout::contiguous(2).repeat_every(3, 5);
        assert_eq!(nested, Layout::vector(3, 2, 5));
        assert_ne!(Layout::contiguous(3), Layout::contiguous(3).at(1));
        let parts = [(0, Layout::contiguous(2)), (5, Layout::contiguous(2))];
        assert_eq!(Layout::concat(&parts), Layout::indexed(&[(0, 2), (5, 2)]));
    }

    #[test]
    fn overflow_makes_a_layout_that_nothing_holds() {
        let most = usize::MAX;
        let made = [
            Layout::vector(most, 2, 3),
            Layout::vector(most, 2, 3).at(1).repeat(0),
            Layout::indexed(&[(most, 1)]),
            Layout::contiguous(most).at(1),
            Layout::contiguous(2).at(3).repeat(most),
            Layout::contiguous(2).at(most - 2).repeat_every(2, 1),
            Layout::concat(&[(0, Layout::contiguous(most)), (0, Layout::contiguous(most))]),
            Layout::concat(&[(0, Layout::contiguous(1)), (0, Layout::vector(most, 2, 3))]),
        ];
        for layout in made {
            assert!(layout.known.too_large, "{layout:?}");
            assert!(!layout.is_disjoint());
            assert_eq!((layout.elements(), layout.true_extent()), (most, 0..most));
            let error = layout.of(&[0u8; 4]).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Length, "{error}");
        }
    }
}
