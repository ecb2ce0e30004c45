//! Memory of each rank of a communicator that the others can access, in epochs; here it is quiet,
//! and its owner's alone.

/// The properties of a window in any of its states.
macro_rules! state_of_window {
    ($state:ident) => {
        impl<T: Pod> $state<T> {
            /// This rank.
            #[must_use]
            pub fn rank(&self) -> usize {
                self.inner.comm.rank()
            }

            /// Number of ranks.
            #[must_use]
            pub fn size(&self) -> usize {
                self.inner.comm.size()
            }

            /// Number of elements of `rank`; 0 if there is no such rank.
            #[must_use]
            pub fn len_of(&self, rank: usize) -> usize {
                self.inner.len_of(rank)
            }
        }

        impl<T: Pod> std::fmt::Debug for $state<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.inner.describe(f, stringify!($state))
            }
        }
    };
}

pub(crate) mod access;
pub(crate) mod dynamic;
pub(crate) mod exposure;
pub(crate) mod fence;
pub(crate) mod inner;
mod layouts;
pub(crate) mod locked;
pub(crate) mod locked_operations;
pub(crate) mod name;
pub(crate) mod operations;
pub(crate) mod passive;
pub(crate) mod requests;

use std::any::type_name;
use std::sync::Arc;

use bytemuck::Pod;
use ranks_collectives::Collectives;
use ranks_comm::backend::{Backend as CommFastPath, InProcessComm, digest};
use ranks_comm::{Communicator, Error, ErrorKind, Result};
use ranks_launch::Count;

use crate::epoch::epochs::Epochs;
use crate::epoch::table::{Extent, Table};
use crate::in_process::LocalWindow;
use crate::mpi;
use crate::preflight;
use crate::window::fence::Fenced;
use crate::window::inner::{Backend, Inner};
use crate::window::passive::PassiveWindow;

const ALLOCATE: &str = "MPI_Win_allocate";
const CREATE: &str = "MPI_Win_create";
const FREE: &str = "MPI_Win_free";

/// Begin of a part that the system has no pages for, as ranks tell each other.
const NO_MEMORY: usize = usize::MAX - 1;

/// Minimum to which the length of a part and its begin are rounded up.
const LINE: usize = 64;

/// The name of a window in errors that has none.
pub(crate) const UNNAMED: &str = "a window without a name";

/// Memory of each rank of a communicator that the other ranks can write to, read from and
/// accumulate into, while its owner calls nothing.
///
/// A window is in one of several states, each a type; what takes it from one to another consumes
/// it. As a `Window` it is without an epoch: only its owner has access, and uses it as a slice.
///
/// | state | who may access the memory of a rank |
/// |---|---|
/// | `Window` | its owner, as a slice: [`local`](Self::local), [`local_mut`](Self::local_mut) |
/// | [`Fenced`] | all ranks, in steps that end at the same time everywhere |
/// | [`PassiveWindow`] | those who hold a [lock](PassiveWindow::lock) on it |
/// | [`Exposed`](crate::Exposed) | the origins that it was [posted](Self::post) to, each from when it starts until it completes |
///
/// ```
/// use ranks::collectives::ops::Sum;
/// use ranks::{Communicator, Result};
/// use ranks::rma::Window;
///
/// /// How many values of all ranks fall into each of the bins, which are spread over the ranks.
/// fn histogram(world: &Communicator, values: &[f64], bins: usize) -> Result<Vec<u64>> {
///     let window = Window::<u64>::allocate(world, bins.div_ceil(world.size()))?;
///     let mut fenced = window.fence()?;
///     let one = [1];
///     fenced.step(|ops| {
///         for value in values {
///             let bin = (value * bins as f64) as usize;
///             ops.accumulate(&one, Sum, bin % world.size(), bin / world.size())?;
///         }
///         Ok(())
///     })?;
///     let window = fenced.close()?;
///     let mine = window.local().to_vec();
///     window.free()?;
///     Ok(mine)
/// }
/// # ranks::run(|world| histogram(&world, &[0.1, 0.7], 10).map(drop)).unwrap();
/// ```
///
/// There is no window that was not made:
///
/// ```compile_fail,E0381
/// # fn f() -> ranks::Result<()> {
/// let window: ranks::rma::Window<f64>;
/// window.fence().map(drop)
/// # }
/// ```
///
/// There are no operations in this state, and there is no slice in the others:
///
/// ```compile_fail,E0599
/// # fn f(window: ranks::rma::Window<f64>) -> ranks::Result<()> {
/// window.put(&[1.0], 0, 0)
/// # }
/// ```
/// ```compile_fail,E0599
/// # fn f(window: ranks::rma::Window<f64>) -> ranks::Result<()> {
/// let mut fenced = window.fence()?;
/// fenced.local_mut()[0] = 1.0; // a peer may be writing there
/// # Ok(())
/// # }
/// ```
/// ```compile_fail,E0382
/// # fn f(mut window: ranks::rma::Window<f64>) -> ranks::Result<()> {
/// let fenced = window.fence()?;
/// window.local_mut()[0] = 1.0; // it is not quiet any more
/// # Ok(())
/// # }
/// ```
///
/// Ranks may have different lengths; all of them know all lengths, and every access is checked
/// where it begins. Handles keep the runtime alive. The free of a window that is dropped is
/// deferred, in whatever state; it is freed at a collective call that makes something from its
/// communicator, or when the runtime ends: dropping never blocks.
///
/// MPI 5.0 §12.2.
#[doc(alias = "MPI_Win")]
pub struct Window<T: Pod> {
    pub(crate) inner: Box<Inner<T>>,
}

impl<T: Pod> Window<T> {
    /// Makes a window in which this rank has `len` elements, zeroed and aligned to 64 bytes.
    /// Collective.
    ///
    /// Before that the ranks agree that all of them ask for elements of one type, and that there is
    /// room for them.
    ///
    /// # Errors
    /// The same on every rank: [`Length`](ErrorKind::Length) if one asks for more than memory can
    /// be, [`Mismatch`](ErrorKind::Mismatch) if elements differ, [`Memory`](ErrorKind::Memory) if a
    /// node has no room for those of its ranks; otherwise what the library reports to one.
    ///
    /// MPI 5.0 §12.2.2 (`MPI_Win_allocate`).
    #[doc(alias = "MPI_Win_allocate")]
    pub fn allocate(comm: &Communicator, len: usize) -> Result<Self> {
        let own = begin::<T>(comm, ALLOCATE, len)?;
        let fits = preflight::shared_memory(&own, len.saturating_mul(size_of::<T>()));
        fits.map_err(|error| error.of(ALLOCATE))?;
        let epochs = Arc::new(Epochs::default());
        let made = comm.dispatch(
            ALLOCATE,
            |over| mpi::Window::allocate(over, len, Arc::clone(&epochs)).map(Backend::Mpi),
            |_| LocalWindow::allocate(threads(&own)?, room::<T>(len)).map(Backend::InProcess),
        );
        Self::agreed(own, ALLOCATE, len, made, epochs, false)
    }

    /// Makes a window of the elements of `vec`, as they are. Collective.
    ///
    /// [`free`](Self::free) gives the vector back; if there is no window in the end, it is lost.
    ///
    /// Until then it is the window's, and no two windows have the same memory:
    ///
    /// ```compile_fail,E0382
    /// # use ranks::rma::Window;
    /// # fn f(world: &ranks::Communicator, vec: Vec<f64>) -> ranks::Result<()> {
    /// let window = Window::from_vec(world, vec)?;
    /// drop(vec); // moved into the window
    /// # window.free().map(drop)
    /// # }
    /// ```
    /// ```compile_fail,E0308
    /// # use ranks::rma::Window;
    /// # fn f(world: &ranks::Communicator) -> ranks::Result<Window<f64>> {
    /// Window::from_vec(world, std::ptr::null_mut())
    /// # }
    /// ```
    /// ```compile_fail,E0061
    /// # use ranks::rma::Window;
    /// # fn f(world: &ranks::Communicator, vec: Vec<f64>) -> ranks::Result<Window<f64>> {
    /// Window::from_vec(world, vec, 3) // units are elements
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate); nothing is asked about room, which is there.
    ///
    /// MPI 5.0 §12.2.1 (`MPI_Win_create`).
    #[doc(alias = "MPI_Win_create")]
    pub fn from_vec(comm: &Communicator, vec: Vec<T>) -> Result<Self> {
        let len = vec.len();
        let own = begin::<T>(comm, CREATE, len)?;
        let epochs = Arc::new(Epochs::default());
        let made = comm.dispatch_with(
            CREATE,
            vec,
            |over, vec| {
                let alone = comm.size() == 1;
                mpi::Window::from_vec(over, vec, alone, Arc::clone(&epochs)).map(Backend::Mpi)
            },
            |_, vec| LocalWindow::from_memory(threads(&own)?, vec).map(Backend::InProcess),
        );
        Self::agreed(own, CREATE, len, made, epochs, true)
    }

    /// Makes a window to which memory can be attached. Collective.
    pub(crate) fn dynamic(comm: &Communicator) -> Result<Window<u8>> {
        const OPERATION: &str = "MPI_Win_create_dynamic";
        let own = begin::<u8>(comm, OPERATION, 0)?;
        let epochs = Arc::new(Epochs::default());
        let made = comm.dispatch(
            OPERATION,
            |over| mpi::Window::create_dynamic(over, Arc::clone(&epochs)).map(Backend::Mpi),
            |_| LocalWindow::allocate(threads(&own)?, 0).map(Backend::InProcess),
        );
        Window::agreed(own, OPERATION, 0, made, epochs, false)
    }

    /// Tells the others where this rank's part begins, if it could be made. Collective.
    fn agreed(
        own: Communicator,
        operation: &'static str,
        len: usize,
        made: Result<Backend<T>>,
        epochs: Arc<Epochs>,
        of_vec: bool,
    ) -> Result<Self> {
        let start = match &made {
            Ok(Backend::Mpi(window)) => window.start(),
            Ok(Backend::InProcess(window)) => window.base().align_offset(align_of::<T>()),
            Err(error) if error.kind() == ErrorKind::Memory => NO_MEMORY,
            Err(_) => usize::MAX,
        };
        let mut all = vec![[0; 2]; own.size()];
        let told = own.allgather(&[[start, len]], &mut all);
        let failed = all.iter().position(|&[start, _]| start >= NO_MEMORY);
        let parts = all.iter().map(|&[start, len]| Extent { len, start });
        let table = Table::new(parts.collect(), size_of::<T>());
        let fine = match (told, failed, table) {
            (Err(error), ..) => Err(error.of(operation)),
            (Ok(()), Some(rank), _) if all[rank][0] == NO_MEMORY => Err(Error::new(
                ErrorKind::Memory,
                operation,
                format_args!(
                    "the system has no pages for the part of rank {rank}, of {} of {}: others have taken what was free; \
                     enlarge /dev/shm, ask for less, or free other shared memory",
                    Count(all[rank][1], "element"),
                    Count(size_of::<T>(), "byte")
                ),
            )),
            (Ok(()), Some(rank), _) => Err(Error::new(
                ErrorKind::PeerFailed,
                operation,
                format_args!("rank {rank} could not make its part of the window"),
            )),
            (Ok(()), None, None) => Err(too_long::<T>(operation, 0, len)),
            (Ok(()), None, Some(table)) => Ok(table),
        };
        match (made, fine) {
            (Ok(backend), Ok(table)) => Ok(Self {
                inner: Box::new(Inner {
                    comm: own,
                    table,
                    backend,
                    epochs,
                    of_vec,
                }),
            }),
            (Ok(backend), Err(error)) => {
                if let Backend::Mpi(window) = backend {
                    // Not all ranks have it, so that all together will never free it.
                    window.abandon();
                }
                Err(error)
            }
            (Err(_), Err(error)) if error.kind() == ErrorKind::Memory => Err(error),
            (Err(error), _) => Err(error),
        }
    }

    /// This rank's elements.
    #[must_use]
    #[allow(unsafe_code)]
    pub fn local(&self) -> &[T] {
        // SAFETY: a quiet window is accessed by its owner alone, and to be written to it is
        // borrowed.
        unsafe { self.inner.local() }
    }

    /// This rank's elements, to be written to.
    #[must_use]
    #[allow(unsafe_code)]
    pub fn local_mut(&mut self) -> &mut [T] {
        // SAFETY: a quiet window is accessed by its owner alone, and borrowed here.
        unsafe { self.inner.local_mut() }
    }

    /// Opens the memory of every rank to all: from here on there are [steps](Fenced::step) that end
    /// everywhere at the same time. Collective.
    ///
    /// Values that each rank has written to its own elements before can be read by the others.
    ///
    /// Assertions to the library follow from the states of the window; a program asserts nothing:
    ///
    /// ```compile_fail,E0061
    /// # fn f(window: ranks::rma::Window<f64>) -> ranks::Result<ranks::rma::Fenced<f64>> {
    /// window.fence(12345)
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Mismatch`](ErrorKind::Mismatch) on every rank if ranks take the window to different
    /// states, which they compare in every build; otherwise what the library reports.
    ///
    /// MPI 5.0 §12.5.1 (`MPI_Win_fence`).
    #[doc(alias = "MPI_Win_fence")]
    pub fn fence(self) -> Result<Fenced<T>> {
        Fenced::open(self.inner)
    }

    /// Opens the memory of every rank to those who [lock](PassiveWindow::lock) it. Collective.
    ///
    /// Values that each rank has written to its own elements before can be read by the others.
    ///
    /// # Errors
    /// As [`fence`](Self::fence).
    pub fn passive(self) -> Result<PassiveWindow<T>> {
        PassiveWindow::open(self.inner)
    }

    /// Frees the window immediately, and gives back the vector if it was [made of
    /// one](Self::from_vec). Collective.
    ///
    /// # Errors
    /// As [`fence`](Self::fence). What could not be freed is left as it is.
    ///
    /// MPI 5.0 §12.2.5 (`MPI_Win_free`).
    #[doc(alias = "MPI_Win_free")]
    pub fn free(self) -> Result<Option<Vec<T>>> {
        let (freed, comm) = self.free_but_comm()?;
        comm.free()?;
        Ok(freed)
    }

    /// As [`free`](Self::free), when others may still have the communicator.
    pub(crate) fn free_shared(self) -> Result<Option<Vec<T>>> {
        self.free_but_comm().map(|(freed, _)| freed)
    }

    fn free_but_comm(self) -> Result<(Option<Vec<T>>, Communicator)> {
        self.inner.agree_on_state(FREE)?;
        let Inner {
            comm,
            backend,
            of_vec,
            ..
        } = *self.inner;
        let freed = {
            let _entered = comm.enter(FREE)?;
            match backend {
                Backend::Mpi(window) => window.free(),
                Backend::InProcess(window) if of_vec => window.free_into().map(Some),
                Backend::InProcess(window) => window.free().map(|()| None),
            }
        }?;
        Ok((freed, comm))
    }
}

/// Memory of so many bytes that is aligned to a line of a cache has room for so many elements.
fn room<T>(len: usize) -> usize {
    match len * size_of::<T>() {
        0 => 0,
        bytes if align_of::<T>() <= LINE => bytes,
        bytes => bytes + align_of::<T>(),
    }
}

/// A communicator of its own for a window of `len` elements here, if all ranks can make one.
/// Collective.
fn begin<T: Pod>(comm: &Communicator, operation: &'static str, len: usize) -> Result<Communicator> {
    let own = comm.dup_for(operation)?;
    own.set_unnamed(UNNAMED);
    agree_elements::<T>(&own, operation, 0, len)?;
    Ok(own)
}

/// Digest of a call: the operation, the number of the object, and the type of its elements.
fn kind_of(operation: &'static str, number: u64, element: &str) -> u64 {
    let words = operation.bytes().chain(element.bytes()).map(u64::from);
    digest(words.chain([number]))
}

/// The same error on every rank unless all can have a part of as many elements of one type as they
/// ask for. Collective.
pub(crate) fn agree_elements<T: Pod>(
    own: &Communicator,
    operation: &'static str,
    number: u64,
    len: usize,
) -> Result<()> {
    let line = align_of::<T>().max(LINE);
    let bytes = len
        .checked_mul(size_of::<T>())
        .and_then(|bytes| bytes.checked_add(2 * line));
    let fits = bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok());
    let element = kind_of(operation, number, type_name::<T>());
    let words = [u64::from(fits), len as u64, element, size_of::<T>() as u64];
    let mut all = vec![[0; 4]; own.size()];
    let told = own.allgather(&[words], &mut all);
    told.map_err(|error| error.of(operation))?;
    let different = |&[_, _, element, width]: &[u64; 4]| [element, width] != all[0][2..];
    if let Some(rank) = all.iter().position(different) {
        let [width, first] = [all[rank][3], all[0][3]].map(|width| Count(width, "byte"));
        let detail = format_args!(
            "ranks make windows of different elements, or in different ways: rank 0 of {first} each, rank {rank} of {width} each and of \
             another type, or by another call; this rank of {}",
            type_name::<T>()
        );
        return Err(Error::new(ErrorKind::Mismatch, operation, detail));
    }
    if let Some(rank) = all.iter().position(|&[fits, ..]| fits == 0) {
        let len = usize::try_from(all[rank][1]).unwrap_or(usize::MAX);
        return Err(too_long::<T>(operation, rank, len));
    }
    Ok(())
}

#[cold]
fn too_long<T>(operation: &'static str, rank: usize, len: usize) -> Error {
    let (name, width) = (type_name::<T>(), Count(size_of::<T>(), "byte"));
    let detail = format_args!(
        "rank {rank} asks for {len} elements of {name} of {width} each, which is more than memory can be"
    );
    Error::new(ErrorKind::Length, operation, detail)
}

/// A duplicate of a communicator of threads, which is one as well.
pub(crate) fn threads(own: &Communicator) -> Result<&InProcessComm> {
    match own.backend() {
        CommFastPath::InProcess(own) => Ok(own),
        CommFastPath::Mpi(_) => Err(of_two_kinds()),
    }
}

#[cold]
pub(crate) fn of_two_kinds() -> Error {
    let why = "a communicator and its duplicate are not of one kind";
    Error::new(ErrorKind::Library, "MPI_Comm_dup", why)
}

state_of_window! { Window }
