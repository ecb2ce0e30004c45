//! Hints of communicators, and what the library tells of its environment.

use super::Communicator;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::info::Info;

impl Info {
    /// The environment in which the process was started, as far as the library reports it: keys
    /// such as `command`, `maxprocs`, `thread_level`. Local.
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`], [`ErrorKind::WrongThread`], or what the library reports.
    ///
    /// MPI 5.0 §11.2.3 (`MPI_INFO_ENV`).
    #[doc(alias = "MPI_INFO_ENV")]
    pub fn env(world: &Communicator) -> Result<Self> {
        world.dispatch(
            "MPI_Info_get",
            |comm| comm.info_env(),
            |comm| comm.info_env(),
        )
    }

    /// The hardware that `MPI_COMM_TYPE_RESOURCE_GUIDED` and `MPI_COMM_TYPE_HW_GUIDED` can split
    /// by: a key for each type, with `true` if this process is restricted to one instance of it.
    /// Local.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] before MPI 4.1 and in process.
    ///
    /// MPI 5.0 §11.3 (`MPI_Get_hw_resource_info`).
    #[doc(alias = "MPI_Get_hw_resource_info")]
    pub fn hw_resources(world: &Communicator) -> Result<Self> {
        const OPERATION: &str = "MPI_Get_hw_resource_info";
        world.dispatch(
            OPERATION,
            |comm| comm.hw_resources(),
            |_| {
                let why = "the ranks are threads of one process, which has no hardware of its own";
                Err(Error::new(ErrorKind::NotInLibrary, OPERATION, why))
            },
        )
    }
}

impl Communicator {
    /// Sets hints for this communicator. Collective; the same keys with the same values on every
    /// rank, unless a key's meaning says otherwise.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if a key or a value is longer than the library takes; what the
    /// library reports.
    ///
    /// MPI 5.0 §7.4.4 (`MPI_Comm_set_info`).
    #[doc(alias = "MPI_Comm_set_info")]
    pub fn set_info(&self, info: &Info) -> Result<()> {
        self.dispatch(
            "MPI_Comm_set_info",
            |comm| comm.set_info(info),
            |comm| {
                comm.set_info(info);
                Ok(())
            },
        )
    }

    /// The hints of this communicator that the library uses: some of those that were set, and its
    /// own. Local.
    ///
    /// In process all that were set, although none has an effect.
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`], [`ErrorKind::WrongThread`], or what the library reports.
    ///
    /// MPI 5.0 §7.4.4 (`MPI_Comm_get_info`).
    #[doc(alias = "MPI_Comm_get_info")]
    pub fn info(&self) -> Result<Info> {
        self.dispatch(
            "MPI_Comm_get_info",
            |comm| comm.info(),
            |comm| Ok(comm.info()),
        )
    }
}
