//! Cartesian topologies.

use std::ops::Deref;
use std::sync::Arc;

use ranks_launch::Count;

use crate::call::identity::digest;
use crate::communicator::Communicator;
use crate::result::{Error, ErrorKind, Result};
use crate::topology::sealed::{Neighbors, Sealed};
use crate::topology::{Neighborhood, made};
use crate::transport::shape::Grid;

/// A communicator with a Cartesian topology; each dimension may be periodic.
///
/// It derefs to [`Communicator`]. Ranks are in row-major order: the last coordinate runs fastest. A
/// clone is another handle of the same communicator; dropping it drops that handle. Neighbours are
/// `Option<usize>`, which a send or a receive takes as it is: beyond a border that is not periodic,
/// nothing is sent.
///
/// ```
/// # fn main() -> ranks::Result<()> {
/// # ranks::run(|world| {
/// let mut dims = [0, 0];
/// world.dims_create(world.size(), &mut dims)?;
/// let grid = world.cart_create(&dims, &[true, false], true)?;
/// let grid = grid.expect("the grid has room for all ranks");
/// let (up, down) = grid.shift(0, 1)?;
/// let mut from_above = [usize::MAX];
/// grid.sendrecv(&[grid.rank()], down, 0, &mut from_above, up, 0)?;
/// assert_eq!(Some(from_above[0]), up);
/// # Ok::<(), ranks::Error>(())
/// # })
/// # }
/// ```
///
/// MPI 5.0 §8.5.
#[derive(Debug, Clone)]
pub struct Cartesian {
    comm: Communicator,
    grid: Grid,
    coords: Vec<usize>,
    neighbors: Neighbors,
}

impl Communicator {
    /// Makes a communicator with a Cartesian topology of these sizes, from the first ranks of this
    /// one. Collective.
    ///
    /// `periods` says for each dimension whether it is periodic. With `reorder` the library may
    /// renumber the ranks, to bring neighbours together. Ranks beyond the size of the grid get
    /// `None`. Without dimensions it is a grid of one rank.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if there are not as many periods as dimensions;
    /// [`ErrorKind::Argument`] if a size is zero, the grid has more ranks than this communicator,
    /// or ranks pass different grids; what the library reports. If one rank is refused, the others
    /// get an error as well: of this kind, or [`ErrorKind::Mismatch`] where ranks compare their
    /// calls.
    ///
    /// MPI 5.0 §8.5.1 (`MPI_Cart_create`).
    #[doc(alias = "MPI_Cart_create")]
    pub fn cart_create(
        &self,
        dims: &[usize],
        periods: &[bool],
        reorder: bool,
    ) -> Result<Option<Cartesian>> {
        const OPERATION: &str = "MPI_Cart_create";
        let grid = Grid::new(OPERATION, dims, periods, self.size());
        let digest = |grid: &Grid| digest([grid.words(), vec![reorder.into()]].concat());
        let (comm, grid) = self.dispatch_agreed(
            OPERATION,
            || self.agree_on(OPERATION, grid, digest),
            |comm, grid| Ok((comm.cart_create(self, &grid, reorder)?, grid)),
            |comm, grid| Ok((comm.cart_create(&grid)?.map(Self::in_process), grid)),
        )?;
        let comm = made(OPERATION, comm, grid.size())?;
        Ok(comm.map(|comm| Cartesian::new(comm, grid)))
    }

    /// The rank that the library would give to this process in such a grid, `None` if the process
    /// is not in it. Collective.
    ///
    /// # Errors
    /// As [`cart_create`](Self::cart_create).
    ///
    /// MPI 5.0 §8.5.8 (`MPI_Cart_map`).
    #[doc(alias = "MPI_Cart_map")]
    pub fn cart_map(&self, dims: &[usize], periods: &[bool]) -> Result<Option<usize>> {
        const OPERATION: &str = "MPI_Cart_map";
        let grid = Grid::new(OPERATION, dims, periods, self.size());
        self.dispatch_agreed(
            OPERATION,
            || self.agree_on(OPERATION, grid, |grid| digest(grid.words())),
            |comm, grid| comm.cart_map(&grid),
            |comm, grid| Ok(Some(comm.rank()).filter(|&rank| rank < grid.size())),
        )
    }
}

impl Cartesian {
    /// A grid over `comm`, whose rank is in it.
    pub(crate) fn new(comm: Communicator, grid: Grid) -> Self {
        let coords = grid.coords(comm.rank());
        let incoming: Arc<[_]> = grid.neighbors(&coords).into();
        let mut sizes = grid.dims().iter().zip(grid.periods());
        let neighbors = Neighbors {
            outgoing: Arc::clone(&incoming),
            incoming,
            are_crossed: true,
            are_distinct: sizes.all(|(&size, &is_periodic)| size > 2 || !is_periodic),
            is_two_sided: true,
        };
        Self {
            comm,
            grid,
            coords,
            neighbors,
        }
    }

    /// The number of dimensions.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Cartdim_get`).
    #[doc(alias = "MPI_Cartdim_get")]
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.dims().len()
    }

    /// The size of each dimension.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Cart_get`).
    #[doc(alias = "MPI_Cart_get")]
    #[must_use]
    pub fn dims(&self) -> &[usize] {
        self.grid.dims()
    }

    /// `true` for each dimension that is periodic.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Cart_get`).
    #[doc(alias = "MPI_Cart_get")]
    #[must_use]
    pub fn periods(&self) -> &[bool] {
        self.grid.periods()
    }

    /// The coordinates of this rank.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Cart_get`).
    #[doc(alias = "MPI_Cart_get")]
    #[must_use]
    pub fn my_coords(&self) -> &[usize] {
        &self.coords
    }

    /// The coordinates of `rank`. Local.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if there is no such rank.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Cart_coords`).
    #[doc(alias = "MPI_Cart_coords")]
    pub fn coords(&self, rank: usize) -> Result<Vec<usize>> {
        if rank < self.size() {
            return Ok(self.grid.coords(rank));
        }
        let why = format_args!("rank {rank} is not in this grid of {}", self.size());
        Err(Error::new(ErrorKind::Rank, "MPI_Cart_coords", why))
    }

    /// The rank at `coords`. In a periodic dimension any number is a coordinate. Local.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if there are not as many coordinates as dimensions;
    /// [`ErrorKind::Argument`] if one is outside of a dimension that is not periodic.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Cart_rank`).
    #[doc(alias = "MPI_Cart_rank")]
    pub fn cart_rank(&self, coords: &[isize]) -> Result<usize> {
        const OPERATION: &str = "MPI_Cart_rank";
        let (dims, periods) = (self.dims(), self.periods());
        if coords.len() != dims.len() {
            let given = Count(coords.len(), "coordinate");
            let why = format_args!("{given} in a grid of {}", Count(dims.len(), "dimension"));
            return Err(Error::new(ErrorKind::Length, OPERATION, why));
        }
        self.grid.rank(coords.iter().copied()).ok_or_else(|| {
            let why = format_args!(
                "{coords:?} is outside of the grid of {dims:?} with periods {periods:?}"
            );
            Error::new(ErrorKind::Argument, OPERATION, why)
        })
    }

    /// The source and the destination of a shift by `displacement` along `dimension`. Local.
    ///
    /// `None` is beyond a border that is not periodic; [`sendrecv`](Communicator::sendrecv) takes
    /// both as they are.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if there is no such dimension.
    ///
    /// MPI 5.0 §8.5.6 (`MPI_Cart_shift`).
    #[doc(alias = "MPI_Cart_shift")]
    pub fn shift(
        &self,
        dimension: usize,
        displacement: isize,
    ) -> Result<(Option<usize>, Option<usize>)> {
        if dimension < self.dimensions() {
            return Ok(self.grid.shift(&self.coords, dimension, displacement));
        }
        let why = format_args!(
            "there is no dimension {dimension} in this grid of {}; they are numbered from 0",
            self.dimensions()
        );
        Err(Error::new(ErrorKind::Argument, "MPI_Cart_shift", why))
    }

    /// Makes a grid of the dimensions that remain, for each set of ranks that agree in the others.
    /// Collective.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if `remain` does not have one value for each dimension;
    /// [`ErrorKind::Argument`] if ranks pass different ones; what the library reports. If one rank
    /// is refused, the others get an error as well, as in
    /// [`cart_create`](Communicator::cart_create).
    ///
    /// MPI 5.0 §8.5.7 (`MPI_Cart_sub`).
    #[doc(alias = "MPI_Cart_sub")]
    pub fn sub(&self, remain: &[bool]) -> Result<Self> {
        const OPERATION: &str = "MPI_Cart_sub";
        let mut ready = Ok(());
        if remain.len() != self.dimensions() {
            let (given, has) = (Count(remain.len(), "dimension"), self.dimensions());
            let why = format_args!("{given} to remain or not, but the grid has {has}");
            ready = Err(Error::new(ErrorKind::Length, OPERATION, why));
        }
        let digest = |(): &()| digest(remain.iter().map(|&remains| remains.into()));
        let (comm, grid) = self.dispatch_agreed(
            OPERATION,
            || {
                self.agree_on(OPERATION, ready, digest)?;
                Ok(self.grid.sub(remain, &self.coords))
            },
            |comm, (grid, _)| Ok((comm.cart_sub(&self.comm, remain)?, grid)),
            |comm, (grid, part)| {
                let sub = comm.cart_sub(&grid, part)?;
                Ok((sub.map(Communicator::in_process), grid))
            },
        )?;
        let comm = made(OPERATION, comm, grid.size())?.ok_or_else(|| {
            let why = "the library made no communicator of this part of the grid";
            Error::new(ErrorKind::Library, OPERATION, why)
        })?;
        Ok(Self::new(comm, grid))
    }

    /// Frees the communicator now, without deferring it. Collective over its ranks.
    ///
    /// # Errors
    /// As [`Communicator::free`].
    pub fn free(self) -> Result<()> {
        self.comm.free()
    }
}

impl Deref for Cartesian {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        &self.comm
    }
}

impl Sealed for Cartesian {
    #[inline]
    fn around(&self) -> &Neighbors {
        &self.neighbors
    }
}

/// For each dimension the source and the destination of a shift by 1: the rank before this one and
/// the rank after it.
impl Neighborhood for Cartesian {}
