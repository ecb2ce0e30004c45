//! The attached buffer of buffered sends. It stays unused, because every send copies its message to
//! the receiver; but messages that would not fit over MPI are refused here too.

use std::sync::{MutexGuard, PoisonError};

use super::comm::Comm;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::buffered::taken;

impl Comm {
    fn attached(&self) -> MutexGuard<'_, Option<usize>> {
        let attached = self.place.attached.lock();
        attached.unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn attach(&self, bytes: usize) -> Result<()> {
        let mut attached = self.attached();
        if attached.is_some() {
            return Err(Error::new(
                ErrorKind::Argument,
                "MPI_Buffer_attach",
                "this rank has a buffer attached; there can be one only, so detach it first",
            ));
        }
        *attached = Some(bytes);
        Ok(())
    }

    pub(crate) fn detach(&self) {
        *self.attached() = None;
    }

    /// Returns an error if a message of so many bytes can never fit.
    pub(crate) fn fits_attached(&self, operation: &'static str, bytes: usize) -> Result<()> {
        taken(operation, bytes, *self.attached()).map(drop)
    }
}
