//! New communicators from old ones. All of these are collective: every rank of the old communicator calls them.

use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::group::Group;

impl Communicator {
    /// A new communicator of the same ranks: its messages are apart from this one's.
    ///
    /// # Errors
    /// What the library reports.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_dup`).
    #[doc(alias = "MPI_Comm_dup")]
    pub fn dup(&self) -> Result<Self> {
        self.dispatch(
            "MPI_Comm_dup",
            |comm| comm.dup(self),
            |comm| comm.dup().map(Self::in_process),
        )
    }

    /// One new communicator for each color, in which ranks are ordered by `key`, then by rank here.
    ///
    /// A rank that passes `None` for the color gets `None`.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the color is negative; what the library reports.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_split`).
    #[doc(alias = "MPI_Comm_split")]
    pub fn split(&self, color: Option<i32>, key: i32) -> Result<Option<Self>> {
        const OPERATION: &str = "MPI_Comm_split";
        if let Some(color @ ..0) = color {
            return Err(Error::new(
                ErrorKind::Argument,
                OPERATION,
                format_args!("color {color} is negative; pass None to belong to no part"),
            ));
        }
        self.dispatch(
            OPERATION,
            |comm| comm.split(self, color, key),
            |comm| Ok(comm.split(color, key)?.map(Self::in_process)),
        )
    }

    /// One new communicator for each set of ranks that can share memory: the ranks of a node.
    ///
    /// Ranks are ordered by `key`, then by rank here. In process all ranks share memory.
    ///
    /// # Errors
    /// What the library reports.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_split_type` with `MPI_COMM_TYPE_SHARED`).
    #[doc(alias = "MPI_Comm_split_type")]
    #[doc(alias = "MPI_COMM_TYPE_SHARED")]
    pub fn split_shared(&self, key: i32) -> Result<Self> {
        const OPERATION: &str = "MPI_Comm_split_type";
        let node = self.dispatch(
            OPERATION,
            |comm| comm.split_shared(self, key),
            |comm| Ok(comm.split(Some(0), key)?.map(Self::in_process)),
        )?;
        node.ok_or_else(|| {
            Error::new(
                ErrorKind::Library,
                OPERATION,
                "the library made no communicator of this node",
            )
        })
    }

    /// A new communicator of the processes of `group`, which must be the same on every rank here; `None` elsewhere.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if a process of the group is not in this communicator; what the library reports.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_create`).
    #[doc(alias = "MPI_Comm_create")]
    pub fn create(&self, group: &Group) -> Result<Option<Self>> {
        const OPERATION: &str = "MPI_Comm_create";
        let outside = group.difference(&self.group()?).size();
        if outside > 0 {
            return Err(Error::new(
                ErrorKind::Rank,
                OPERATION,
                format_args!(
                    "{outside} of the group's {} processes are not in this communicator",
                    group.size()
                ),
            ));
        }
        self.dispatch(
            OPERATION,
            |comm| comm.create(self, group.world_ranks()),
            |comm| Ok(comm.create(group.world_ranks())?.map(Self::in_process)),
        )
    }
}
