//! Clock, processor name and library version of a rank.

use crate::communicator::Communicator;
use crate::result::Result;
use crate::transport::backend::Backend;

impl Communicator {
    /// Seconds since some moment in the past, which does not change during the life of the rank.
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`](crate::ErrorKind::Finalized) or
    /// [`ErrorKind::WrongThread`](crate::ErrorKind::WrongThread).
    ///
    /// MPI 5.0 §9.6 (`MPI_Wtime`).
    #[doc(alias = "MPI_Wtime")]
    pub fn wtime(&self) -> Result<f64> {
        self.dispatch(
            "MPI_Wtime",
            |comm| Ok(comm.wtime()),
            |comm| Ok(comm.wtime()),
        )
    }

    /// The seconds between two ticks of the clock of [`wtime`](Self::wtime).
    ///
    /// # Errors
    /// As [`wtime`](Self::wtime).
    ///
    /// MPI 5.0 §9.6 (`MPI_Wtick`).
    #[doc(alias = "MPI_Wtick")]
    pub fn wtick(&self) -> Result<f64> {
        self.dispatch(
            "MPI_Wtick",
            |comm| Ok(comm.wtick()),
            |comm| Ok(comm.wtick()),
        )
    }

    /// The name of the processor that this rank runs on, as the library reports it. A label only:
    /// to find the ranks that share memory use [`split_shared`](Self::split_shared).
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`](crate::ErrorKind::Finalized),
    /// [`ErrorKind::WrongThread`](crate::ErrorKind::WrongThread), or what the library reports.
    ///
    /// MPI 5.0 §9.1.2 (`MPI_Get_processor_name`).
    #[doc(alias = "MPI_Get_processor_name")]
    pub fn processor_name(&self) -> Result<String> {
        self.dispatch(
            "MPI_Get_processor_name",
            |comm| comm.processor_name(),
            |comm| Ok(comm.processor_name()),
        )
    }

    /// The full version text of the library, often several lines; [`library`](Self::library) is the
    /// short form.
    ///
    /// MPI 5.0 §9.1.1 (`MPI_Get_library_version`).
    #[doc(alias = "MPI_Get_library_version")]
    #[must_use]
    pub fn library_version(&self) -> &'static str {
        match self.backend() {
            Backend::Mpi(_) => {
                ranks_mpi_sys::loaded().map_or("MPI", ranks_mpi_sys::Loaded::version_text)
            }
            Backend::InProcess(_) => {
                concat!("ranks ", env!("CARGO_PKG_VERSION"), ", in process")
            }
        }
    }

    /// The version of the MPI standard that the library reports: major, minor. `None` in process.
    ///
    /// A library may have functions of later versions too, and may lack some of its own version.
    ///
    /// MPI 5.0 §9.1.1 (`MPI_Get_version`).
    #[doc(alias = "MPI_Get_version")]
    #[must_use]
    pub fn standard(&self) -> Option<(i32, i32)> {
        match self.backend() {
            Backend::Mpi(_) => ranks_mpi_sys::loaded().map(ranks_mpi_sys::Loaded::standard),
            Backend::InProcess(_) => None,
        }
    }
}
