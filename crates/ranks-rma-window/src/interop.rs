//! Interoperation with other parts of the program that use MPI: they are given the handles of
//! windows.
//!
//! `as_native_raw` of [`Window`], [`DynamicWindow`] and [`SharedWindow`] are handles as the library's
//! `mpi.h` defines them; `as_raw` stands for the form of the standard ABI, which the functions of
//! `ranks-mpi-sys` take on every library. Both are valid in their process alone, and for the
//! library that they come from. Communicators, datatypes and requests are shared by
//! [`ranks_comm::interop`].
//!
//! There is no way back, from a handle of another part to a window. What makes accesses to a window
//! safe is what its ranks have told each other when it was made: the length of each part, the type
//! of its elements, who owns the memory, and which epoch is open. A handle tells none of it.

use bytemuck::Pod;
use ranks_comm::Result;

use crate::epoch::table::Targets;
use crate::mpi::handle::c_handle;
use crate::shared_window::phase::Phase;
use crate::window::inner::Backend;
use crate::{Attached, DynamicWindow, SharedWindow, Window};

pub use ranks_comm::interop::CHandle;
pub use ranks_mpi_sys::{MPI_Aint, MPI_Win};

impl<T: Pod> Window<T> {
    /// The handle in the MPI 5.0 standard ABI, which the functions of `ranks-mpi-sys` take on every
    /// library; `None` in process.
    ///
    /// It is the same in every state of the window, and valid until that is freed. Do not free it.
    /// Unsafe code that uses it must leave nothing on the window that safe code does not expect: it
    /// accesses what the state of the window lets this rank access, in the epoch that is open, and
    /// has completed that when it returns; it opens and closes no epoch, and sets no error handler.
    #[must_use]
    pub fn as_raw(&self) -> Option<MPI_Win> {
        match &self.inner.backend {
            Backend::Mpi(window) => Some(window.handle()),
            Backend::InProcess(_) => None,
        }
    }

    /// The library's own handle, for a C function that was compiled with the library's `mpi.h`;
    /// `None` in process. The rules of [`as_raw`](Self::as_raw) hold for it.
    ///
    /// ```
    /// use ranks::{Communicator, Result};
    /// use ranks::rma::interop::{CHandle, MPI_Aint};
    /// use ranks::rma::{LockKind, Window};
    ///
    /// /// Has a part in C put something to rank 0.
    /// fn put(world: &Communicator, in_c: impl Fn(CHandle, MPI_Aint)) -> Result<()> {
    ///     let window = Window::<f64>::allocate(world, 10)?;
    ///     let (handle, place) = (window.as_native_raw(), window.displacement_of(0, 3)?);
    ///     let passive = window.passive()?;
    ///     let locked = passive.lock(LockKind::Exclusive, 0)?;
    ///     if let Some(handle) = handle {
    ///         in_c(handle, place);
    ///     }
    ///     locked.unlock()
    /// }
    /// # ranks::run(|world| put(&world, |_, _| {})).unwrap();
    /// ```
    #[must_use]
    pub fn as_native_raw(&self) -> Option<CHandle> {
        self.as_raw().map(c_handle)
    }

    /// Displacement of the element `at` of `rank` for calls with the handle: in bytes, since the
    /// displacement unit of the window is 1. The elements of a rank follow each other. Local.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`](ranks_comm::ErrorKind::Rank) and
    /// [`ErrorKind::Length`](ranks_comm::ErrorKind::Length) if there is no such element.
    pub fn displacement_of(&self, rank: usize, at: usize) -> Result<MPI_Aint> {
        const NAME: &str = "Window::displacement_of";
        let place = self.inner.table.place(NAME, Targets::All, rank, at, 1)?;
        Ok(place.displacement())
    }
}

impl DynamicWindow {
    /// The handle, as [`Window::as_raw`], with its rules. Another part of the program may attach
    /// memory of its own to it, and detaches that before the window is freed.
    #[must_use]
    pub fn as_raw(&self) -> Option<MPI_Win> {
        self.window.as_raw()
    }

    /// The library's own handle, as [`Window::as_native_raw`].
    #[must_use]
    pub fn as_native_raw(&self) -> Option<CHandle> {
        self.window.as_native_raw()
    }
}

impl<T: Pod> Attached<T> {
    /// Displacement of the element `at` of what `rank` has attached for calls with the
    /// [handle](DynamicWindow::as_raw): its address there. The elements of a rank follow each
    /// other. Local.
    ///
    /// # Errors
    /// As [`Window::displacement_of`].
    pub fn displacement_of(&self, rank: usize, at: usize) -> Result<MPI_Aint> {
        const NAME: &str = "Attached::displacement_of";
        let place = self.inner.table.place(NAME, Targets::All, rank, at, 1)?;
        Ok(place.displacement())
    }
}

impl<T: Pod, P: Phase> SharedWindow<T, P> {
    /// The handle in the MPI 5.0 standard ABI, which the functions of `ranks-mpi-sys` take on every
    /// library; `None` if the memory [is the heap](Self::is_heap).
    ///
    /// It is the same in every phase, and valid until the window is freed. To the library rank 0
    /// has all of the memory, and between the segments lies what ranks change phases by; all ranks
    /// are locked (`MPI_Win_lock_all`) as long as there is the window. Other parts of the program
    /// get the addresses of segments from their slices, not from `MPI_Win_shared_query`. Do not
    /// free the handle, and open or close no epoch.
    #[must_use]
    pub fn as_raw(&self) -> Option<MPI_Win> {
        self.handle()
    }

    /// The library's own handle, for a C function that was compiled with the library's `mpi.h`;
    /// `None` if the memory is the heap. The rules of [`as_raw`](Self::as_raw) hold for it.
    #[must_use]
    pub fn as_native_raw(&self) -> Option<CHandle> {
        self.as_raw().map(c_handle)
    }
}
