//! The clock and the name of the machine.

use std::ffi::{CStr, c_char, c_int};

use ranks_mpi_sys as sys;

use crate::result::Result;
use crate::transport::mpi::communicator::Comm;
use crate::transport::mpi::error::check;

/// Longer than `MPI_MAX_PROCESSOR_NAME` of any library.
const NAME: usize = 1024;

impl Comm {
    pub(crate) fn wtime(&self) -> f64 {
        // SAFETY: the library is loaded, and takes nothing.
        unsafe { sys::MPI_Wtime() }
    }

    pub(crate) fn wtick(&self) -> f64 {
        // SAFETY: the library is loaded, and takes nothing.
        unsafe { sys::MPI_Wtick() }
    }

    pub(crate) fn processor_name(&self) -> Result<String> {
        let mut name = [0u8; NAME];
        let mut length: c_int = 0;
        let pointer = name.as_mut_ptr().cast::<c_char>();
        // SAFETY: the library is initialised; the name has more room than any library asks for.
        let code = unsafe { sys::MPI_Get_processor_name(pointer, &raw mut length) };
        check(code, "MPI_Get_processor_name")?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }
}
