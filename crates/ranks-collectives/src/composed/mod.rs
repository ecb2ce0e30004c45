//! Operations that are made of others, over MPI and in process alike.

pub(crate) mod hierarchy;
pub(crate) mod sparse_exchange;
pub(crate) mod two_level_alltoall;

use ranks_comm::{Communicator, Error, ErrorKind, Result};

/// The communicator of those that pass the same color.
fn part(comm: &Communicator, color: i32) -> Result<Communicator> {
    comm.split(Some(color), 0)?.ok_or_else(|| {
        let why = "the library made no communicator of this color";
        Error::new(ErrorKind::Library, "MPI_Comm_split", why)
    })
}
