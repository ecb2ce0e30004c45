//! The attached buffer of buffered sends. It stays unused, because every send copies its message to
//! the receiver; but messages that would not fit over MPI are refused here too.

use super::comm::Comm;
use crate::call::lock::lock;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::buffered::taken;

impl Comm {
    pub(crate) fn attach(&self, bytes: usize) -> Result<()> {
        let mut attached = lock(&self.place.attached);
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
        *lock(&self.place.attached) = None;
    }

    /// Returns an error if a message of so many bytes can never fit.
    pub(crate) fn fits_attached(&self, operation: &'static str, bytes: usize) -> Result<()> {
        taken(operation, bytes, *lock(&self.place.attached)).map(drop)
    }
}
