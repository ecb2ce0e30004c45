//! The handle of a window: its form in C, and the name that the library has for it.

use std::ffi::CStr;

use ranks_comm::Result;
use ranks_comm::backend::check;
use ranks_comm::interop::CHandle;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Win, native};

/// The handle of a window as C code has it.
pub(crate) fn c_handle(win: MPI_Win) -> CHandle {
    // SAFETY: the library is loaded, as it has made the window.
    unsafe { native::win_to_c(win) }
}

/// Sets the name that the library shows, of a window that is alive.
pub(crate) fn set_name(win: MPI_Win, name: &CStr) -> Result<()> {
    // SAFETY: the window is alive, as each caller has it, and the name ends with a zero.
    let code = unsafe { sys::MPI_Win_set_name(win, name.as_ptr()) };
    check(code, "MPI_Win_set_name")
}
