//! The clock and the name of the machine.

use ranks_mpi_sys as sys;

use crate::result::Result;
use crate::transport::mpi::communicator::Comm;
use crate::transport::mpi::object_name::name_from;

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
        name_from("MPI_Get_processor_name", |name, length| {
            // SAFETY: the library is initialised; there is room for a name.
            unsafe { sys::MPI_Get_processor_name(name, length) }
        })
    }
}
