//! Builder of a shared window.

use std::any::type_name;
use std::marker::PhantomData;

use bytemuck::Pod;
use ranks_comm::backend::digest;
use ranks_comm::{Communicator, Error, ErrorKind, Info, Result};
use ranks_launch::Count;

use super::plan::Plan;
use super::segments::Segments;
use super::steps::{Goal, Step};
use super::{Placement, SharedWindow, Spacing, Write};
use crate::page::page_size;
use crate::preflight;
use crate::region::{Backing, Region};
use crate::window::UNNAMED;

const OPERATION: &str = "MPI_Win_allocate_shared";

/// Options of a [`SharedWindow`]; from [`SharedWindow::builder`].
///
/// All ranks must choose the same, but for the length of their segment.
#[derive(Debug, Clone)]
#[must_use = "nothing is made before `allocate`"]
pub struct SharedWindowBuilder<'a, T> {
    comm: &'a Communicator,
    len: usize,
    spacing: Spacing,
    placement: Placement,
    huge_pages: bool,
    info: Option<&'a Info>,
    element: PhantomData<fn() -> T>,
}

impl<T: Pod + Send + Sync> SharedWindow<T, Write> {
    /// A window in which this rank's segment has `len` elements, all zero. Collective over `comm`,
    /// whose ranks are on one node, as those of [`split_shared`](Communicator::split_shared) are.
    ///
    /// # Errors
    /// As [`SharedWindowBuilder::allocate`].
    ///
    /// MPI 5.0 §12.2.3 (`MPI_Win_allocate_shared`).
    #[doc(alias = "MPI_Win_allocate_shared")]
    #[doc(alias = "MPI_Win_allocate_shared_c")]
    pub fn allocate(comm: &Communicator, len: usize) -> Result<Self> {
        Self::builder(comm).len(len).allocate()
    }

    /// For a window of other wishes than the usual ones: an empty segment on this rank, spaced by
    /// lines of the cache, untouched.
    ///
    /// ```
    /// # use ranks::{Communicator, Result};
    /// use ranks::rma::{Placement, SharedWindow, Spacing};
    ///
    /// /// All that the ranks of the node have, as one slice.
    /// fn count(node: &Communicator, mine: &[u8]) -> Result<usize> {
    ///     let builder = SharedWindow::builder(node).len(mine.len()).spacing(Spacing::Packed);
    ///     let mut window = builder.placement(Placement::Interleave).allocate()?;
    ///     window.mine_mut().copy_from_slice(mine);
    ///     Ok(window.fence()?.whole().map_or(0, |all| all.iter().filter(|&&byte| byte == 1).count()))
    /// }
    /// # ranks::run(|world| {
    /// # let node = world.split_shared(0)?;
    /// # assert_eq!(count(&node, &[1, 0, 1])?, 2 * node.size());
    /// # Ok::<(), ranks::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn builder(comm: &Communicator) -> SharedWindowBuilder<'_, T> {
        SharedWindowBuilder {
            comm,
            len: 0,
            spacing: Spacing::default(),
            placement: Placement::default(),
            huge_pages: false,
            info: None,
            element: PhantomData,
        }
    }
}

impl<'a, T: Pod + Send + Sync> SharedWindowBuilder<'a, T> {
    /// Number of elements of this rank's segment; ranks may have different numbers.
    pub fn len(mut self, len: usize) -> Self {
        self.len = len;
        self
    }

    /// Spacing between segments.
    pub fn spacing(mut self, spacing: Spacing) -> Self {
        self.spacing = spacing;
        self
    }

    /// Near which ranks the memory is to lie.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Allows the system to use pages of 2 MiB, or does not, as `madvise` says it: if it has any
    /// for this memory is its own affair (`/sys/kernel/mm/transparent_hugepage/enabled`, and
    /// `shmem_enabled` over MPI).
    pub fn huge_pages(mut self, huge_pages: bool) -> Self {
        self.huge_pages = huge_pages;
        self
    }

    /// Hints for the library.
    pub fn info(mut self, info: &'a Info) -> Self {
        self.info = Some(info);
        self
    }

    /// Makes the window. Collective.
    ///
    /// # Errors
    /// The same on every rank: [`ErrorKind::Mismatch`] if ranks wish for windows of different
    /// kinds, [`ErrorKind::Argument`] if elements are aligned to more than a page,
    /// [`ErrorKind::Length`] if no address space holds it, [`ErrorKind::Memory`] if the node does
    /// not have the memory; otherwise what a rank or the library reports.
    ///
    /// MPI 5.0 §12.2.3 (`MPI_Win_allocate_shared`).
    #[doc(alias = "MPI_Win_allocate_shared")]
    pub fn allocate(self) -> Result<SharedWindow<T, Write>> {
        let comm = self.comm;
        let lens = self.agree()?;
        if align_of::<T>() > page_size() {
            let why = format_args!(
                "{} is aligned to {} bytes, more than a page",
                type_name::<T>(),
                align_of::<T>()
            );
            return Err(Error::new(ErrorKind::Argument, OPERATION, why));
        }
        let plan = Plan::of(&lens, size_of::<T>(), align_of::<T>(), self.spacing)?;
        // Messages on it match no other communication.
        let node = comm.dup_for(OPERATION)?;
        node.set_unnamed(UNNAMED);
        let region = Region::allocate(comm, &node, plan.bytes, Backing::MpiWindow, self.info)?;
        // SAFETY: the plan is made of what all ranks have told all, among that the type; the region
        // is new.
        let segments = unsafe { Segments::new(region, &plan, comm.rank()) };
        if self.huge_pages {
            segments.welcome_large_pages();
        }
        let taken = self.placement.take(&segments, &plan, self.huge_pages);
        if let Err(error) = preflight::all_have(comm, OPERATION, taken) {
            if error.kind() == ErrorKind::Memory {
                // All have come here, and nobody uses it.
                segments.free()?;
            }
            return Err(error);
        }
        let mut window = SharedWindow {
            segments,
            step: Step::first(comm.rank()),
            phase: PhantomData,
        };
        window.pass(OPERATION, Goal::Write)?;
        Ok(window)
    }

    /// The length of each rank's segment, if all wish for the same kind of window.
    fn agree(&self) -> Result<Vec<usize>> {
        let element = type_name::<T>().bytes().map(u64::from);
        let kind = digest(element.chain([
            size_of::<T>() as u64,
            self.spacing as u64,
            self.placement as u64,
            self.huge_pages.into(),
        ]));
        let all = preflight::told_by_all(self.comm, OPERATION, [kind, self.len as u64])?;
        if let Some(rank) = all.iter().position(|&[theirs, _]| theirs != all[0][0]) {
            return Err(self.other_kind(rank));
        }
        let lens = all
            .iter()
            .map(|&[_, len]| usize::try_from(len).unwrap_or(usize::MAX));
        Ok(lens.collect())
    }

    #[cold]
    fn other_kind(&self, rank: usize) -> Error {
        Error::new(
            ErrorKind::Mismatch,
            OPERATION,
            format_args!(
                "ranks 0 and {rank} ask for shared windows of different elements, spacing, placement or pages; here it is {} of \
                 {}, {:?}, {:?}, huge pages {}",
                type_name::<T>(),
                Count(size_of::<T>(), "byte"),
                self.spacing,
                self.placement,
                self.huge_pages
            ),
        )
    }
}
