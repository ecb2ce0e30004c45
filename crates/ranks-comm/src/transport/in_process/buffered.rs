//! The attached buffer of buffered sends. It stays unused, because every send copies its message to the receiver; but
//! messages that would not fit over MPI are refused here too.

use std::sync::{MutexGuard, PoisonError};

use super::comm::Comm;
use crate::data::in_flight::{InFlight, Over};
use crate::result::{Error, ErrorKind, Result};
use crate::transport::pending_op::PendingOp;

impl Comm {
    fn attached(&self) -> MutexGuard<'_, Option<usize>> {
        let attached = self.place.attached.lock();
        attached.unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn attach(&self, buffer: Vec<u8>) -> Result<InFlight<Vec<u8>>> {
        let mut attached = self.attached();
        if attached.is_some() {
            return Err(Error::new(
                ErrorKind::Argument,
                "MPI_Buffer_attach",
                "this rank has a buffer attached; there can be one only, so detach it first",
            ));
        }
        *attached = Some(buffer.len());
        Ok(InFlight::new(buffer))
    }

    pub(crate) fn detach(&self) -> Option<Over> {
        *self.attached() = None;
        PendingOp::Gone.ended()
    }

    /// The size of the attached buffer.
    pub(crate) fn attached_bytes(&self) -> Option<usize> {
        *self.attached()
    }
}
