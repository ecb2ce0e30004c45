//! The id that ranks of one communicator have in common.
#![allow(unsafe_code)]

use std::fmt;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_nccl_sys::{NCCL_UNIQUE_ID_BYTES, Nccl, ncclUniqueId};

use crate::error::{Caller, check, missing};

/// The 128 bytes by which the ranks of a new communicator find each other.
///
/// Whoever has them can take a rank's place, so they are shown nowhere.
#[doc(alias = "ncclUniqueId")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NcclId([u8; NcclId::LEN]);

impl NcclId {
    /// The size of an id in bytes.
    pub const LEN: usize = NCCL_UNIQUE_ID_BYTES;

    /// A new id, for one communicator. The process that makes it must live until the communicator
    /// is made.
    ///
    /// # Errors
    /// Errors of the library.
    #[doc(alias = "ncclGetUniqueId")]
    pub fn new(nccl: &'static Nccl) -> Result<Self> {
        const CALL: &str = "ncclGetUniqueId";
        let function = nccl.table().ncclGetUniqueId;
        let function = function.ok_or_else(|| missing(nccl, CALL))?;
        let mut id = ncclUniqueId::zeroed();
        // SAFETY: it writes one id to where the address says, which is `id`.
        let code = unsafe { function(&raw mut id) };
        check(nccl, CALL, code, Caller::Nobody)?;
        Ok(Self::of(id))
    }

    /// The bytes, to be sent to the other ranks.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        self.0
    }

    /// An id of what [`to_bytes`](Self::to_bytes) gave elsewhere.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] unless there are as many bytes as an id has.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        bytes.try_into().map(Self).map_err(|_| {
            let (had, has) = (bytes.len(), Self::LEN);
            let text = format_args!("{had} bytes are no id of NCCL, which has {has}");
            Error::new(ErrorKind::Length, "ncclUniqueId", text)
        })
    }

    pub(crate) fn of(id: ncclUniqueId) -> Self {
        Self(id.to_bytes())
    }

    pub(crate) fn native(self) -> ncclUniqueId {
        ncclUniqueId::from_bytes(self.0)
    }
}

impl fmt::Debug for NcclId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NcclId(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_travels_as_bytes_and_shows_none_of_them() {
        let bytes: [u8; NcclId::LEN] = std::array::from_fn(|at| !at.to_le_bytes()[0]);
        let id = NcclId::from_bytes(&bytes).unwrap();
        assert_eq!(NcclId::of(id.native()).to_bytes(), bytes);
        assert_eq!(format!("{id:?}"), "NcclId(..)");
        let short = NcclId::from_bytes(&bytes[1..]).unwrap_err();
        assert_eq!(short.kind(), ErrorKind::Length);
    }
}
