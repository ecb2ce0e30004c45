//! Memory of the ranks of a node that all of them load and store directly, in phases.
#![allow(unsafe_code)]

mod allreduce;
mod atomic;
mod builder;
mod concurrent;
mod held;
mod locks;
pub(crate) mod passive;
mod peers;
pub mod phase;
mod placement;
mod plan;
mod read;
mod segments;
mod steps;
mod write;

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::object_name;
use ranks_mpi_sys::MPI_Win;

pub use atomic::HasAtomic;
pub use builder::SharedWindowBuilder;
pub use placement::Placement;
pub use plan::Spacing;

use crate::mpi::handle;
use crate::window::name::SET_NAME;
use phase::{Concurrent, Passive, Phase, Read, Write};
use segments::Segments;
use steps::{Goal, Step};

/// Name of a change of phase in errors.
const FENCE: &str = "SharedWindow::fence";

/// A segment of `T` for each rank of a node, which its owner writes in one phase and all ranks read
/// in the next, with no copies and no messages.
///
/// In the phase [`Write`], which it begins in, a rank has its own segment, as `&mut [T]`. In
/// [`Read`] it has those of all ranks, as `&[T]`. In [`Concurrent`] it has all of them as atomics.
/// In [`Passive`] it has those that it [locks](SharedWindow::lock_shared), while the others do as
/// they like. [`fence`](SharedWindow::fence) takes a window of one phase and gives it back in
/// another, on all ranks together, so that no slice outlives its phase:
///
/// ```
/// use ranks::{Communicator, Result};
/// use ranks::rma::SharedWindow;
///
/// /// What the neighbour to the left has found, and how much all have.
/// fn exchange(node: &Communicator, found: &[f64]) -> Result<(f64, usize)> {
///     let mut window = SharedWindow::<f64>::allocate(node, found.len())?;
///     window.mine_mut().copy_from_slice(found);
///     let window = window.fence()?;
///     let left = (node.rank() + node.size() - 1) % node.size();
///     let all = (0..node.size()).map(|rank| window.segment(rank).len()).sum();
///     Ok((window.segment(left).first().copied().unwrap_or(0.0), all))
/// }
/// # ranks::run(|world| {
/// # let node = world.split_shared(0)?;
/// # let found = [node.rank() as f64];
/// # assert_eq!(exchange(&node, &found)?, (((node.rank() + node.size() - 1) % node.size()) as f64, node.size()));
/// # Ok::<(), ranks::Error>(())
/// # }).unwrap();
/// ```
///
/// A slice of the phase before cannot be kept:
///
/// ```compile_fail,E0505
/// # use ranks::rma::SharedWindow;
/// # fn f(node: &ranks::Communicator) -> ranks::Result<()> {
/// let reading = SharedWindow::<f64>::allocate(node, 10)?.fence()?;
/// let theirs = reading.segment(0);
/// let writing = reading.fence()?; // moves out of `reading`, which is borrowed
/// assert_eq!(theirs[0], 0.0);
/// # Ok(())
/// # }
/// ```
///
/// nor can memory be written that others read:
///
/// ```compile_fail,E0599
/// # use ranks::rma::SharedWindow;
/// # fn f(node: &ranks::Communicator) -> ranks::Result<()> {
/// let mut reading = SharedWindow::<f64>::allocate(node, 10)?.fence()?;
/// reading.mine_mut()[0] = 1.0; // no method named `mine_mut`
/// # Ok(())
/// # }
/// ```
///
/// or read that others write:
///
/// ```compile_fail,E0599
/// # use ranks::rma::SharedWindow;
/// # fn f(node: &ranks::Communicator) -> ranks::Result<()> {
/// let writing = SharedWindow::<f64>::allocate(node, 10)?;
/// assert_eq!(writing.segment(0)[0], 0.0); // no method named `segment`
/// # Ok(())
/// # }
/// ```
///
/// # Memory
///
/// Segments may differ in length, and may be empty. Each begins at a multiple of 64 bytes, on every
/// library, unless [`Spacing`] says something else, and holds zeros at first. Memory that processes
/// share is taken from the system when the window is made, each page near the rank whose segment it
/// is; [`Placement`] has other ways. If the node does not have it, all ranks get the same error.
/// Over MPI it is one window of the library (`MPI_Win_allocate_shared`); if there is one rank only,
/// or ranks are threads, it is the heap.
///
/// # Ranks out of step
///
/// All ranks of the communicator change phases together, in the same order. If one of them changes
/// to another phase than the others, or has dropped its window, the others get an error, whose text
/// names both, instead of memory in some state or other; the window is gone then. They wait for one
/// that is only late, and in process not for one that has ended.
///
/// # When it goes
///
/// [`free`](SharedWindow::free) is collective and gives the memory back immediately. The free of
/// one that is dropped, on each rank when it likes, is deferred to a later collective call that
/// makes something from the same communicator, or when the runtime ends. It keeps the runtime
/// alive: one struct can own it, its communicator and the runtime, in any order.
///
/// It crosses threads, and threads of a rank may read from it, or write to parts of their segment,
/// at the same time.
///
/// MPI 5.0 §12.2.3 (`MPI_Win_allocate_shared`).
#[doc(alias = "MPI_Win")]
pub struct SharedWindow<T: Pod, P: Phase = Write> {
    segments: Segments<T>,
    step: Step,
    phase: PhantomData<P>,
}

impl<T: Pod, P: Phase> SharedWindow<T, P> {
    /// This rank's number among those that share the window.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.segments.rank()
    }

    /// Number of ranks that share the window.
    #[must_use]
    pub fn size(&self) -> usize {
        self.segments.size()
    }

    /// Number of elements in the segment of `rank`; 0 if there is no such rank.
    #[must_use]
    pub fn len_of(&self, rank: usize) -> usize {
        self.segments.len_of(rank)
    }

    /// Returns true if the memory is the heap of this process, not a window of the MPI library.
    #[must_use]
    pub fn is_heap(&self) -> bool {
        self.segments.is_heap()
    }

    /// The name that errors, reports and tools show, in every phase; empty if none was set. Local.
    ///
    /// MPI 5.0 §7.8 (`MPI_Win_get_name`).
    #[doc(alias = "MPI_Win_get_name")]
    #[must_use]
    pub fn name(&self) -> String {
        self.segments.node().name_in_reports()
    }

    /// Sets the name of the window, on this rank only.
    ///
    /// # Errors
    /// As [`Window::set_name`](crate::Window::set_name).
    ///
    /// MPI 5.0 §7.8 (`MPI_Win_set_name`).
    #[doc(alias = "MPI_Win_set_name")]
    pub fn set_name(&self, name: &str) -> Result<()> {
        let for_library = object_name(SET_NAME, name)?;
        let node = self.segments.node();
        if let Some(window) = self.handle() {
            let _entered = node.enter(SET_NAME)?;
            handle::set_name(window, &for_library)?;
        }
        node.set_name(name)
    }

    /// Gives the memory back. Collective: all ranks free it in the same phase, or get an error and
    /// leave it to the runtime.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`](ranks_comm::ErrorKind::Mismatch) if a rank does something else with
    /// its window, [`ErrorKind::PeerFailed`](ranks_comm::ErrorKind::PeerFailed) if one has dropped
    /// it, or has ended in process; [`ErrorKind::Finalized`](ranks_comm::ErrorKind::Finalized),
    /// [`ErrorKind::WrongThread`](ranks_comm::ErrorKind::WrongThread), or what the library reports.
    ///
    /// MPI 5.0 §12.2.6 (`MPI_Win_free`).
    #[doc(alias = "MPI_Win_free")]
    pub fn free(mut self) -> Result<()> {
        self.segments.leave_forgotten();
        self.pass("SharedWindow::free", Goal::Freed)?;
        self.segments.free()
    }

    /// The window of the library, unless the memory is the heap.
    pub(crate) fn handle(&self) -> Option<MPI_Win> {
        self.segments.handle()
    }

    /// Waits until all ranks are here for the same reason; what they have written before is seen
    /// then.
    fn pass(&mut self, operation: &'static str, goal: Goal) -> Result<()> {
        // What it waits for is this call's, at the time limit too.
        let _entered = self.segments.node().enter(operation)?;
        Self::arrive(operation, &self.segments, &mut self.step, goal)?;
        Self::wait(&self.segments, &self.step)
    }

    fn arrive(
        operation: &'static str,
        segments: &Segments<T>,
        step: &mut Step,
        goal: Goal,
    ) -> Result<()> {
        segments.sync()?;
        step.arrive(operation, segments.marks(), goal);
        Ok(())
    }

    fn wait(segments: &Segments<T>, step: &Step) -> Result<()> {
        step.wait(segments.marks(), segments.node())?;
        segments.sync()
    }

    /// The same window after the ranks have gone on together.
    fn in_phase<Q: Phase>(self) -> SharedWindow<T, Q> {
        SharedWindow {
            segments: self.segments,
            step: self.step,
            phase: PhantomData,
        }
    }
}

impl<T: Pod, P: Phase> fmt::Debug for SharedWindow<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedWindow")
            .field("name", &self.name())
            .field("phase", &P::NAME)
            .field("rank", &self.rank())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
