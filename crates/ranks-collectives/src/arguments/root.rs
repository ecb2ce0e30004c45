//! The rank that an operation goes out from or comes together at.

use std::ffi::c_int;

use ranks_comm::{Communicator, Error, ErrorKind, Result};

/// A rank of the communicator, in both ways of writing it.
#[derive(Clone, Copy)]
pub(crate) struct Root {
    /// As Rust writes it.
    pub(crate) rank: usize,
    /// As MPI writes it.
    pub(crate) number: c_int,
}

impl Root {
    /// The root of an operation that has none.
    pub(crate) const NONE: Root = Root { rank: 0, number: 0 };

    /// # Errors
    /// [`ErrorKind::Root`] if `rank` is not in `comm`.
    #[inline]
    pub(crate) fn new(operation: &'static str, comm: &Communicator, rank: usize) -> Result<Root> {
        match c_int::try_from(rank) {
            Ok(number) if rank < comm.size() => Ok(Root { rank, number }),
            _ => Err(no_such_root(operation, rank, comm.size())),
        }
    }
}

#[cold]
#[inline(never)]
fn no_such_root(operation: &'static str, root: usize, size: usize) -> Error {
    Error::new(
        ErrorKind::Root,
        operation,
        format_args!(
            "root {root} is not in this communicator of {size}; roots run from 0 to {}",
            size - 1
        ),
    )
}
