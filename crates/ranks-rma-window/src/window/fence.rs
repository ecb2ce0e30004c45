//! Epochs between fences: all ranks access each other's memory in steps that end everywhere at the
//! same time.
#![allow(unsafe_code)]

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use ranks_comm::Result;
use ranks_comm::record::{Class, Kind};

use crate::epoch::table::Targets;
use crate::mpi;
use crate::window::Window;
use crate::window::inner::Inner;
use crate::window::operations::{self, Operations};

const FENCE: &Kind = &Kind::of(Class::Collective, "MPI_Win_fence");
const LAST_FENCE: &str = "MPI_Win_fence(MPI_MODE_NOSUCCEED)";

/// A window whose memory is open to all ranks; from [`Window::fence`].
///
/// Ranks work in steps. In a [`step`](Self::step) each of them puts, gets and accumulates as it
/// likes, and when it has returned, everything that any rank did in it is done. One step costs one
/// `MPI_Win_fence`, which also begins the next.
///
/// ```
/// use ranks::{Communicator, Result};
/// use ranks::rma::Window;
///
/// /// Hands values round in a ring until they are back.
/// fn ring(world: &Communicator) -> Result<()> {
///     let right = (world.rank() + 1) % world.size();
///     let mut window = Window::<usize>::allocate(world, 1)?;
///     window.local_mut()[0] = world.rank();
///     let mut fenced = window.fence()?;
///     for _ in 0..world.size() {
///         let mine = [fenced.value(0)?];
///         fenced.fence()?; // all have read theirs
///         fenced.step(|ops| ops.put(&mine, right, 0))?;
///     }
///     let window = fenced.close()?;
///     assert_eq!(window.local(), [world.rank()]);
///     Ok(())
/// }
/// # ranks::run(|world| ring(&world)).unwrap();
/// ```
///
/// There is no reference to this rank's own elements, since others write to them: they are copied.
///
/// ```compile_fail,E0382
/// # fn f(fenced: ranks::rma::Fenced<f64>) -> ranks::Result<()> {
/// let window = fenced.close()?;
/// fenced.value(0)?; // it is a quiet window now
/// # Ok(())
/// # }
/// ```
/// ```compile_fail,E0599
/// # fn f(fenced: ranks::rma::Fenced<f64>) -> ranks::Result<()> {
/// fenced.lock_all()?; // no locks between fences
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping it defers the free of the window"]
pub struct Fenced<T: Pod> {
    inner: Box<Inner<T>>,
}

impl<T: Pod> Fenced<T> {
    pub(crate) fn open(inner: Box<Inner<T>>) -> Result<Self> {
        inner.agree_on_state(FENCE.operation)?;
        inner.epochs.open().fenced = true;
        fence(&inner)?;
        Ok(Self { inner })
    }

    /// Does the operations that `f` begins, and returns when all that any rank began in this step
    /// are done. Collective.
    ///
    /// If `f` returns an error or panics, the step ends all the same, with the operations started
    /// before.
    ///
    /// # Errors
    /// That of `f`; [`Mismatch`](ranks_comm::ErrorKind::Mismatch) on every rank if ranks call
    /// different things, where [they compare that](ranks_comm::Checks::Collective), before `f` is
    /// called; otherwise what the library reports. If it cannot end the step, the job is aborted:
    /// it may still be using memory of operations.
    ///
    /// MPI 5.0 §12.5.1 (`MPI_Win_fence`).
    #[doc(alias = "MPI_Win_fence")]
    #[inline]
    pub fn step<'env, R>(
        &mut self,
        f: impl for<'scope> FnOnce(&Operations<'scope, 'env, T>) -> Result<R>,
    ) -> Result<R> {
        self.inner.agree(FENCE.operation)?;
        operations::run(&self.inner, Targets::All, |_| end_step(&self.inner), f)
    }

    /// Ends a step without operations of this rank's. Collective.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    ///
    /// MPI 5.0 §12.5.1 (`MPI_Win_fence`).
    #[doc(alias = "MPI_Win_fence")]
    pub fn fence(&mut self) -> Result<()> {
        self.inner.agree(FENCE.operation)?;
        fence(&self.inner)
    }

    /// Copies elements of this rank's from `at` on, as many as `into` has room for.
    ///
    /// Elements that no rank writes to in this step are as the last one has left them.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if there are not so many.
    pub fn read(&self, at: usize, into: &mut [T]) -> Result<()> {
        const NAME: &str = "Fenced::read";
        let (rank, table) = (self.rank(), &self.inner.table);
        let place = table.place(NAME, Targets::All, rank, at, into.len())?;
        self.inner.dispatch_with(
            NAME,
            into,
            |window, into| {
                // SAFETY: the part has so many elements from there on.
                unsafe { window.read(at, into) };
                Ok(())
            },
            |window, into| window.get(cast_slice_mut(into), rank, place.at_bytes),
        )
    }

    /// Copies the element `at` of this rank's.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn value(&self, at: usize) -> Result<T> {
        let mut value = [T::zeroed()];
        self.read(at, &mut value)?;
        Ok(value[0])
    }

    /// Copies `data` to elements of this rank's from `at` on.
    ///
    /// Others can read them after this step.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn write(&self, at: usize, data: &[T]) -> Result<()> {
        const NAME: &str = "Fenced::write";
        let (rank, table) = (self.rank(), &self.inner.table);
        let place = table.place(NAME, Targets::All, rank, at, data.len())?;
        self.inner.dispatch(
            NAME,
            |window: &mpi::Window<T>| {
                // SAFETY: the part has so many elements from there on.
                unsafe { window.write(at, data) };
                Ok(())
            },
            |window| window.put(cast_slice(data), rank, place.at_bytes),
        )
    }

    /// Ends the last step; the memory of each rank is its own again. Collective.
    ///
    /// # Errors
    /// [`Mismatch`](ranks_comm::ErrorKind::Mismatch) on every rank if some go on to another step,
    /// in process and where [they compare that](ranks_comm::Checks::Collective). Over MPI, where
    /// they do not, it waits for those, as they wait for this one, until the time limit. Otherwise
    /// what the library reports.
    ///
    /// MPI 5.0 §12.5.1 (`MPI_Win_fence`, `MPI_MODE_NOSUCCEED`).
    #[doc(alias = "MPI_Win_fence")]
    #[doc(alias = "MPI_MODE_NOSUCCEED")]
    pub fn close(self) -> Result<Window<T>> {
        let inner = self.inner;
        inner.agree_on_state(LAST_FENCE)?;
        inner.dispatch(FENCE, mpi::Window::last_fence, |window| {
            window.close(FENCE.operation)
        })?;
        inner.epochs.open().fenced = false;
        Ok(Window { inner })
    }
}

fn fence<T: Pod>(inner: &Inner<T>) -> Result<()> {
    inner.call(FENCE, mpi::Window::fence, |window| window.fence())
}

/// As [`fence`], where it ends operations started on this thread.
fn end_step<T: Pod>(inner: &Inner<T>) -> Result<()> {
    inner.call_to_end(FENCE, mpi::Window::fence, |window| window.fence())
}

state_of_window! { Fenced }
