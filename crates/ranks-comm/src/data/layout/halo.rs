//! The faces of a block that is surrounded by a halo of its neighbours' cells.

use ranks_launch::Count;

use crate::data::layout::subarray::argument;
use crate::data::layout::{Layout, Order};
use crate::result::Result;

/// One of the two ends of a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The end with small indices.
    Low,
    /// The end with large indices.
    High,
}

/// An array whose outermost cells are copies of its neighbours'.
///
/// ```
/// use ranks::layout::{Halo, Order, Side};
///
/// # fn main() -> ranks::Result<()> {
/// # ranks::run(|world| {
/// // 4 × 6 cells of our own with one of the neighbours' on every side.
/// let halo = Halo::new(&[6, 8], 1, Order::C)?;
/// let mut cells = vec![world.rank(); 6 * 8];
/// let up = world.rank().checked_sub(1);
/// let down = Some(world.rank() + 1).filter(|&rank| rank < world.size());
/// let (border, ghost) = (halo.border(0, Side::High)?, halo.ghost(0, Side::Low)?);
/// world.sendrecv_within(&mut cells, &border, down, 0, &ghost, up, 0)?;
/// # Ok(())
/// # })
/// # }
/// ```
///
/// MPI 5.0 §5.1.3 (as subarrays).
#[derive(Debug, Clone)]
pub struct Halo {
    sizes: Vec<usize>,
    width: usize,
    order: Order,
    corners: bool,
}

impl Halo {
    /// An array of `sizes`, with a halo of `width` cells at both ends of every dimension.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if a dimension has fewer than `width`
    /// cells besides the halo.
    pub fn new(sizes: &[usize], width: usize, order: Order) -> Result<Self> {
        for (dimension, &size) in sizes.iter().enumerate() {
            if width.checked_mul(3).is_none_or(|least| size < least) {
                return Err(argument(format_args!(
                    "dimension {dimension} has {size} cells; a halo of {width} on both sides and a border as wide \
                     need at least three times that"
                )));
            }
        }
        Ok(Self {
            sizes: sizes.to_vec(),
            width,
            order,
            corners: false,
        })
    }

    /// Includes corners: if the dimensions are exchanged one after the other, beginning with 0, the
    /// faces of each include the cells that the ones before have received.
    #[must_use]
    pub fn with_corners(mut self) -> Self {
        self.corners = true;
        self
    }

    /// The own cells that the neighbour on that side needs.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if there is no such dimension.
    pub fn border(&self, dimension: usize, side: Side) -> Result<Layout> {
        self.face(dimension, side, self.width)
    }

    /// The halo cells that the neighbour on that side provides.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if there is no such dimension.
    pub fn ghost(&self, dimension: usize, side: Side) -> Result<Layout> {
        self.face(dimension, side, 0)
    }

    /// The cells so far from that end.
    fn face(&self, dimension: usize, side: Side, distance: usize) -> Result<Layout> {
        let size = self.sizes.get(dimension).ok_or_else(|| {
            let dimensions = Count(self.sizes.len(), "dimension");
            argument(format_args!(
                "dimension {dimension} of an array of {dimensions}"
            ))
        })?;
        let start = match side {
            Side::Low => distance,
            Side::High => size - self.width - distance,
        };
        let mut starts = vec![self.width; self.sizes.len()];
        let own = self.sizes.iter().map(|size| size - 2 * self.width);
        let mut subsizes: Vec<usize> = own.collect();
        if self.corners {
            starts[..dimension].fill(0);
            subsizes[..dimension].copy_from_slice(&self.sizes[..dimension]);
        }
        starts[dimension] = start;
        subsizes[dimension] = self.width;
        Layout::subarray(&self.sizes, &subsizes, &starts, self.order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_of_a_square() {
        let halo = Halo::new(&[4, 5], 1, Order::C).unwrap();
        let subarray =
            |subsizes, starts| Layout::subarray(&[4, 5], subsizes, starts, Order::C).unwrap();
        assert_eq!(
            halo.border(0, Side::Low).unwrap(),
            subarray(&[1, 3], &[1, 1])
        );
        assert_eq!(
            halo.border(0, Side::High).unwrap(),
            subarray(&[1, 3], &[2, 1])
        );
        assert_eq!(
            halo.ghost(0, Side::Low).unwrap(),
            subarray(&[1, 3], &[0, 1])
        );
        assert_eq!(
            halo.ghost(1, Side::High).unwrap(),
            subarray(&[2, 1], &[1, 4])
        );
        let corners = halo.with_corners();
        assert_eq!(
            corners.ghost(0, Side::Low).unwrap(),
            subarray(&[1, 3], &[0, 1])
        );
        assert_eq!(
            corners.ghost(1, Side::High).unwrap(),
            subarray(&[4, 1], &[0, 4])
        );
    }

    #[test]
    fn borders_and_ghosts_never_meet() {
        let halo = Halo::new(&[6, 9, 7], 2, Order::Fortran)
            .unwrap()
            .with_corners();
        for dimension in 0..3 {
            for (here, there) in [(Side::Low, Side::High), (Side::High, Side::Low)] {
                let border = halo.border(dimension, here).unwrap();
                for side in [here, there] {
                    assert!(border.is_apart(&halo.ghost(dimension, side).unwrap()));
                }
                let same = halo.border(dimension, there).unwrap();
                let size = [6, 9, 7][dimension];
                assert_eq!(border.is_apart(&same), size >= 8);
            }
        }
    }

    #[test]
    fn too_small_an_array_is_refused() {
        assert!(Halo::new(&[5, 6], 2, Order::C).is_err());
        assert!(Halo::new(&[5], usize::MAX, Order::C).is_err());
        assert!(
            Halo::new(&[6], 2, Order::C)
                .unwrap()
                .ghost(1, Side::Low)
                .is_err()
        );
    }
}
