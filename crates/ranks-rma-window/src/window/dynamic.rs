//! Windows to which memory is attached while they live.

use std::any::type_name;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytemuck::Pod;
use ranks_collectives::Collectives;
use ranks_comm::{Communicator, Error, ErrorKind, Result};

use crate::epoch::lock_kind::LockKind;
use crate::epoch::table::{Extent, Table};
use crate::in_process::LocalWindow;
use crate::mpi;
use crate::window::fence::Fenced;
use crate::window::inner::{Backend, Inner};
use crate::window::locked::Locked;
use crate::window::operations::Operations;
use crate::window::passive::PassiveWindow;
use crate::window::{self, Window};

const ATTACH: &str = "MPI_Win_attach";
const DETACH: &str = "MPI_Win_detach";

/// A window without memory of its own: vectors are [attached](Self::attach) to it and detached
/// again while it is quiet, and accessed in its epochs.
///
/// ```
/// use ranks::{Communicator, Result};
/// use ranks::rma::{DynamicWindow, LockKind};
///
/// fn grow(world: &Communicator) -> Result<()> {
///     let right = (world.rank() + 1) % world.size();
///     let mut window = DynamicWindow::create(world)?;
///     let ids = window.attach(vec![0u32; 4])?;
///     let weights = window.attach(vec![0.0; 100 * world.rank()])?;
///     let passive = window.passive()?;
///     let locked = passive.lock(LockKind::Exclusive, right)?;
///     locked.on(&ids)?.put(&[7, 8], right, 2)?;
///     locked.on(&weights)?.put(&vec![0.5; weights.len_of(right)], right, 0)?;
///     locked.unlock()?;
///     let mut window = passive.close()?;
///     assert_eq!(window.detach(ids)?, [0, 0, 7, 8]);
///     let more = window.attach(vec![1u8; 3])?;
///     window.free()
/// }
/// # ranks::run(|world| grow(&world)).unwrap();
/// ```
///
/// Attached memory is accessed only within epochs, also by its owner, until it is detached; vectors
/// that are still attached when the window is freed go with it.
///
/// MPI 5.0 §12.2.4.
#[derive(Debug)]
pub struct DynamicWindow {
    pub(crate) window: Window<u8>,
    attached: Attachings,
}

/// Vectors attached so far, the same on every rank.
#[derive(Debug, Default)]
struct Attachings {
    number: u64,
    /// The first rank that could not attach one, where the library keeps its lock then.
    stuck: Option<usize>,
}

impl Attachings {
    /// # Errors
    /// [`ErrorKind::Library`] if the library would wait for itself.
    fn go_on(&self, operation: &'static str) -> Result<()> {
        let Some(rank) = self.stuck else {
            return Ok(());
        };
        let detail = format_args!(
            "the library can attach and detach nothing any more on this window, since an attach has failed on rank {rank}; \
             free the window and make a new one"
        );
        Err(Error::new(ErrorKind::Library, operation, detail))
    }
}

/// A vector of each rank that is attached to a [`DynamicWindow`]. If it is dropped, they stay
/// attached.
///
/// It is of use in epochs of its window alone:
///
/// ```compile_fail,E0599
/// # fn f(attached: ranks::rma::Attached<f64>) {
/// attached.put(&[1.0], 0, 0);
/// # }
/// ```
pub struct Attached<T: Pod> {
    pub(crate) inner: Inner<T>,
    number: u64,
}

impl DynamicWindow {
    /// Makes a window to which nothing is attached. Collective.
    ///
    /// # Errors
    /// Errors of the library: Open MPI 4.1 makes no such window for a rank that is alone.
    ///
    /// MPI 5.0 §12.2.4 (`MPI_Win_create_dynamic`).
    #[doc(alias = "MPI_Win_create_dynamic")]
    pub fn create(comm: &Communicator) -> Result<Self> {
        Ok(Self {
            window: Window::<u8>::dynamic(comm)?,
            attached: Attachings::default(),
        })
    }

    /// Attaches a vector of each rank, of any lengths. Collective.
    ///
    /// # Errors
    /// [`Mismatch`](ErrorKind::Mismatch) on every rank if elements differ, or if some call
    /// something else on the window, which they compare in every build; what the library reports to
    /// one, which is [`PeerFailed`](ErrorKind::PeerFailed) on the others. Nothing is attached then,
    /// and the vectors are lost.
    ///
    /// Open MPI attaches 64 vectors at a time, and more only of those that lie on the same pages.
    /// Once it has refused one, every later attach and detach on this window is
    /// [`Library`](ErrorKind::Library) on all ranks, since it keeps its lock; [`free`](Self::free)
    /// goes on, and so do accesses, but for 4.1.4, where they wait for ever.
    ///
    /// MPI 5.0 §12.2.4 (`MPI_Win_attach`).
    #[doc(alias = "MPI_Win_attach")]
    pub fn attach<T: Pod>(&mut self, vec: Vec<T>) -> Result<Attached<T>> {
        let inner = &self.window.inner;
        let (own, len) = (&inner.comm, vec.len());
        inner.agree_on_state(ATTACH)?;
        self.attached.go_on(ATTACH)?;
        let number = self.attached.number;
        window::agree_elements::<T>(own, ATTACH, number, len)?;
        self.attached.number += 1;
        let made = inner.dispatch_with(
            ATTACH,
            vec,
            |window, vec| {
                let (view, start) = window.attach(number, vec)?;
                Ok((Backend::Mpi(view), start))
            },
            |_, vec| {
                let region = LocalWindow::from_memory(window::threads(own)?, vec)?;
                // Access is governed by the locks and fences of the window.
                region.fence()?;
                Ok((Backend::InProcess(region), 0))
            },
        );
        let start = made.as_ref().map_or(usize::MAX, |(_, start)| *start);
        let mut all = vec![[0; 2]; own.size()];
        let told = own.allgather(&[[start, len]], &mut all);
        let failed = all.iter().position(|&[start, _]| start == usize::MAX);
        if matches!(inner.backend, Backend::Mpi(_)) && mpi::keeps_its_lock_after_a_failure() {
            self.attached.stuck = failed;
        }
        let parts = all.iter().map(|&[start, len]| Extent { len, start });
        let table = Table::new(parts.collect(), size_of::<T>());
        let (backend, _) = made?;
        let why = match (told, failed, table) {
            (Ok(()), None, Some(table)) => {
                let inner = Inner {
                    comm: own.clone(),
                    table,
                    backend,
                    epochs: Arc::clone(&inner.epochs),
                    of_vec: true,
                };
                return Ok(Attached { inner, number });
            }
            (Err(error), ..) => error.of(ATTACH),
            (Ok(()), Some(rank), _) => {
                let detail = format_args!("rank {rank} could not attach its vector");
                Error::new(ErrorKind::PeerFailed, ATTACH, detail)
            }
            (Ok(()), None, None) => {
                let why = "vectors end beyond what addresses can be";
                Error::new(ErrorKind::Length, ATTACH, why)
            }
        };
        if let Backend::Mpi(window) = &inner.backend {
            window.detach::<T>(number)?;
        }
        Err(why)
    }

    /// Detaches what every rank has attached together, and gives the vectors back. Collective.
    ///
    /// # Errors
    /// [`Mismatch`](ErrorKind::Mismatch) on every rank if they detach different ones, or if some
    /// call something else on the window; [`Argument`](ErrorKind::Argument) if it is attached to
    /// another window; [`Library`](ErrorKind::Library) on Open MPI after an [attach](Self::attach)
    /// that has failed; otherwise what the library reports. All stay attached then.
    ///
    /// MPI 5.0 §12.2.4 (`MPI_Win_detach`).
    #[doc(alias = "MPI_Win_detach")]
    pub fn detach<T: Pod>(&mut self, attached: Attached<T>) -> Result<Vec<T>> {
        let own = &self.window.inner.comm;
        self.window.inner.agree_on_state(DETACH)?;
        self.attached.go_on(DETACH)?;
        let mine = belongs(&self.window.inner, DETACH, &attached);
        let number = mine.as_ref().map_or(u64::MAX, |()| attached.number);
        let mut all = vec![0; own.size()];
        let told = own.allgather(&[number], &mut all);
        told.map_err(|error| error.of(DETACH))?;
        mine?;
        if let Some(rank) = all.iter().position(|&other| other != number) {
            let detail = format_args!(
                "rank {} detaches vector {} of those attached, rank {rank} another one; all must detach the same",
                own.rank(),
                number + 1
            );
            return Err(Error::new(ErrorKind::Mismatch, DETACH, detail));
        }
        let _entered = own.enter(DETACH)?;
        match (attached.inner.backend, &self.window.inner.backend) {
            (Backend::InProcess(region), _) => region.free_into(),
            (Backend::Mpi(_), Backend::Mpi(window)) => window.detach(number),
            (Backend::Mpi(_), Backend::InProcess(_)) => Err(window::of_two_kinds()),
        }
    }

    /// Opens what is attached on every rank to all, in steps that end at the same time everywhere.
    /// Collective.
    ///
    /// # Errors
    /// As [`Window::fence`].
    ///
    /// MPI 5.0 §12.5.1 (`MPI_Win_fence`).
    #[doc(alias = "MPI_Win_fence")]
    pub fn fence(self) -> Result<FencedDynamicWindow> {
        Ok(FencedDynamicWindow {
            fenced: self.window.fence()?,
            attached: self.attached,
        })
    }

    /// Opens what is attached on every rank to those who lock it. Collective.
    ///
    /// # Errors
    /// As [`Window::passive`].
    pub fn passive(self) -> Result<PassiveDynamicWindow> {
        Ok(PassiveDynamicWindow {
            passive: self.window.passive()?,
            attached: self.attached,
        })
    }

    /// Frees the window, and what is attached to it. Collective.
    ///
    /// # Errors
    /// As [`Window::free`].
    ///
    /// MPI 5.0 §12.2.5 (`MPI_Win_free`).
    #[doc(alias = "MPI_Win_free")]
    pub fn free(self) -> Result<()> {
        self.window.free_shared().map(drop)
    }
}

impl<T: Pod> Attached<T> {
    /// Number of elements that `rank` has attached; 0 if there is no such rank.
    #[must_use]
    pub fn len_of(&self, rank: usize) -> usize {
        self.inner.len_of(rank)
    }
}

/// A [`DynamicWindow`] that is open to all ranks, as a [`Fenced`] window is.
#[derive(Debug)]
#[must_use = "dropping it defers the free of the window"]
pub struct FencedDynamicWindow {
    fenced: Fenced<u8>,
    attached: Attachings,
}

impl FencedDynamicWindow {
    /// Does the operations that `f` begins, and returns when all that any rank began in this step
    /// are done. Collective.
    ///
    /// ```
    /// # use ranks::{Communicator, Result};
    /// # use ranks::rma::{Attached, FencedDynamicWindow};
    /// fn send_right(world: &Communicator, window: &mut FencedDynamicWindow, line: &Attached<f64>) -> Result<()> {
    ///     let right = (world.rank() + 1) % world.size();
    ///     let mine = [world.rank() as f64];
    ///     window.step(|ops| ops.on(line)?.put(&mine, right, 0))
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Fenced::step`].
    ///
    /// MPI 5.0 §12.5.1 (`MPI_Win_fence`).
    #[doc(alias = "MPI_Win_fence")]
    pub fn step<'env, R>(
        &mut self,
        f: impl for<'scope> FnOnce(&DynamicOperations<'_, 'scope, 'env>) -> Result<R>,
    ) -> Result<R> {
        self.fenced
            .step(|operations| f(&DynamicOperations { operations }))
    }

    /// Ends a step without operations of this rank's. Collective.
    ///
    /// # Errors
    /// As [`Fenced::fence`].
    ///
    /// MPI 5.0 §12.5.1 (`MPI_Win_fence`).
    #[doc(alias = "MPI_Win_fence")]
    pub fn fence(&mut self) -> Result<()> {
        self.fenced.fence()
    }

    /// Ends the last step. Collective.
    ///
    /// # Errors
    /// As [`Fenced::close`].
    ///
    /// MPI 5.0 §12.5.1 (`MPI_Win_fence`, `MPI_MODE_NOSUCCEED`).
    #[doc(alias = "MPI_Win_fence")]
    pub fn close(self) -> Result<DynamicWindow> {
        Ok(DynamicWindow {
            window: self.fenced.close()?,
            attached: self.attached,
        })
    }
}

/// The operations of a [step](FencedDynamicWindow::step).
pub struct DynamicOperations<'a, 'scope, 'env: 'scope> {
    operations: &'a Operations<'scope, 'env, u8>,
}

impl<'scope, 'env> DynamicOperations<'_, 'scope, 'env> {
    /// Operations on what is attached.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) if it is attached to another window.
    pub fn on<T: Pod>(&self, attached: &'scope Attached<T>) -> Result<Operations<'scope, 'env, T>> {
        belongs(self.operations.inner, "MPI_Win_fence", attached)?;
        Ok(self.operations.on(&attached.inner))
    }
}

/// A [`DynamicWindow`] that is open to those who lock it, as a [`PassiveWindow`] is.
#[derive(Debug)]
#[must_use = "dropping it defers the free of the window"]
pub struct PassiveDynamicWindow {
    passive: PassiveWindow<u8>,
    attached: Attachings,
}

impl PassiveDynamicWindow {
    /// Locks what is attached on `rank`.
    ///
    /// # Errors
    /// As [`PassiveWindow::lock`].
    ///
    /// MPI 5.0 §12.5.3 (`MPI_Win_lock`).
    #[doc(alias = "MPI_Win_lock")]
    pub fn lock(&self, kind: LockKind, rank: usize) -> Result<DynamicLocked<'_>> {
        let locked = self.passive.lock(kind, rank)?;
        Ok(DynamicLocked { locked })
    }

    /// Locks what is attached on every rank, shared.
    ///
    /// # Errors
    /// As [`PassiveWindow::lock_all`].
    ///
    /// MPI 5.0 §12.5.3 (`MPI_Win_lock_all`).
    #[doc(alias = "MPI_Win_lock_all")]
    pub fn lock_all(&self) -> Result<DynamicLocked<'_>> {
        let locked = self.passive.lock_all()?;
        Ok(DynamicLocked { locked })
    }

    /// Ends the time of locks. Collective.
    ///
    /// # Errors
    /// As [`PassiveWindow::close`].
    pub fn close(self) -> Result<DynamicWindow> {
        Ok(DynamicWindow {
            window: self.passive.close()?,
            attached: self.attached,
        })
    }
}

/// A lock on what is attached on one rank or on all. It is unlocked when dropped, as a [`Locked`]
/// is.
#[must_use = "the memory is unlocked as soon as this is dropped"]
pub struct DynamicLocked<'a> {
    locked: Locked<'a, u8>,
}

/// Access to an attached vector under a lock, with the operations of a [`Locked`].
pub struct Access<'l, T: Pod>(Locked<'l, T>);

impl DynamicLocked<'_> {
    /// Operations on what is attached.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) if it is attached to another window.
    pub fn on<'l, T: Pod>(&'l self, attached: &'l Attached<T>) -> Result<Access<'l, T>> {
        belongs(self.locked.inner, "MPI_Win_lock", attached)?;
        Ok(Access(self.locked.on(&attached.inner)))
    }

    /// Completes pending operations, and releases the lock.
    ///
    /// # Errors
    /// As [`Locked::unlock`].
    ///
    /// MPI 5.0 §12.5.3 (`MPI_Win_unlock`, `MPI_Win_unlock_all`).
    #[doc(alias = "MPI_Win_unlock")]
    #[doc(alias = "MPI_Win_unlock_all")]
    pub fn unlock(self) -> Result<()> {
        self.locked.unlock()
    }
}

impl<'l, T: Pod> Deref for Access<'l, T> {
    type Target = Locked<'l, T>;

    fn deref(&self) -> &Locked<'l, T> {
        &self.0
    }
}

/// Returns true if something is attached to this window and to no other one.
fn belongs<T: Pod>(
    window: &Inner<u8>,
    operation: &'static str,
    attached: &Attached<T>,
) -> Result<()> {
    if Arc::ptr_eq(&window.epochs, &attached.inner.epochs) {
        return Ok(());
    }
    let name = type_name::<T>();
    let detail = format_args!("the vector of {name} is attached to another window");
    Err(Error::new(ErrorKind::Argument, operation, detail))
}

impl fmt::Debug for DynamicOperations<'_, '_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.operations.fmt(f)
    }
}

impl fmt::Debug for DynamicLocked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.locked.fmt(f)
    }
}

impl<T: Pod> fmt::Debug for Access<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Pod> fmt::Debug for Attached<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe(f, "Attached")
    }
}
