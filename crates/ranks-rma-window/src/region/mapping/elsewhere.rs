//! Systems on which ranks do not open each other's files: windows of MPI share memory there.

use std::ptr::NonNull;

use ranks_comm::{Communicator, Error, ErrorKind, Result};

use super::{Nameless, OPERATION};

/// Pages of a file, of which there are none.
#[derive(Debug)]
pub(in crate::region) enum Mapping {}

impl Mapping {
    /// Maps nothing. Collective over `parent`.
    ///
    /// # Errors
    /// Always [`ErrorKind::NotAvailable`].
    pub(in crate::region) fn shared(
        parent: &Communicator,
        _: &Communicator,
        _: usize,
        _: Nameless<'_>,
    ) -> Result<Self> {
        let why = "the ranks of a node share memory of a file on Linux only; NodeBackend::MpiWindow needs none";
        parent.agree(Err(Error::new(ErrorKind::NotAvailable, OPERATION, why)))
    }

    pub(in crate::region) fn is_reserved(&self) -> bool {
        match *self {}
    }

    pub(in crate::region) fn base(&self) -> NonNull<u8> {
        match *self {}
    }
}
