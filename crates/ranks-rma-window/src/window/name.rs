//! Names of windows.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::object_name;

use super::Window;
use super::dynamic::DynamicWindow;
use crate::mpi::handle;

pub(crate) const SET_NAME: &str = "MPI_Win_set_name";

impl<T: Pod> Window<T> {
    /// The name that errors, reports and tools show, in every state of the window; empty if none
    /// was set. Local.
    ///
    /// MPI 5.0 §7.8 (`MPI_Win_get_name`).
    #[doc(alias = "MPI_Win_get_name")]
    #[must_use]
    pub fn name(&self) -> String {
        self.inner.comm.name_in_reports()
    }

    /// Sets the name of the window, on this rank only.
    ///
    /// Errors of calls on this window that name their communicator have it there, and so have
    /// dumps, statistics and timelines.
    ///
    /// ```
    /// # use ranks::{Communicator, Result};
    /// # use ranks::rma::Window;
    /// fn halo(world: &Communicator, len: usize) -> Result<Window<f64>> {
    ///     let window = Window::allocate(world, len)?;
    ///     window.set_name("halo")?;
    ///     assert_eq!(window.name(), "halo");
    ///     Ok(window)
    /// }
    /// # ranks::run(|world| halo(&world, 3).map(drop)).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](ranks_comm::ErrorKind::Argument) if the name holds a zero byte;
    /// otherwise what the library reports. Libraries show the first 63 bytes.
    ///
    /// MPI 5.0 §7.8 (`MPI_Win_set_name`).
    #[doc(alias = "MPI_Win_set_name")]
    pub fn set_name(&self, name: &str) -> Result<()> {
        let for_library = object_name(SET_NAME, name)?;
        self.inner.dispatch(
            SET_NAME,
            |window| handle::set_name(window.handle(), &for_library),
            |_| Ok(()),
        )?;
        self.inner.comm.set_name(name)
    }
}

impl DynamicWindow {
    /// The name, as [`Window::name`].
    ///
    /// MPI 5.0 §7.8 (`MPI_Win_get_name`).
    #[doc(alias = "MPI_Win_get_name")]
    #[must_use]
    pub fn name(&self) -> String {
        self.window.name()
    }

    /// Sets the name of the window, on this rank only.
    ///
    /// # Errors
    /// As [`Window::set_name`].
    ///
    /// MPI 5.0 §7.8 (`MPI_Win_set_name`).
    #[doc(alias = "MPI_Win_set_name")]
    pub fn set_name(&self, name: &str) -> Result<()> {
        self.window.set_name(name)
    }
}
