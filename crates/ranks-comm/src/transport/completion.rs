//! Results of complete operations.

use crate::data::raw_slice::RecvStorage;
use crate::result::Status;

/// The result of a complete operation.
#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) status: Status,
    /// The memory of a message of unknown length.
    pub(crate) room: Option<RecvStorage>,
}

impl Completion {
    pub(crate) fn plain(status: Status) -> Self {
        Self { status, room: None }
    }

    /// Returns `true` if it is that of an operation without a message.
    pub(crate) fn is_plain(&self) -> bool {
        self.status.is_null() && self.room.is_none()
    }
}
