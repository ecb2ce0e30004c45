//! The outcome of an operation: an error, or the status of a message.

pub(crate) mod error;
pub(crate) mod parts;
pub(crate) mod status;

pub use error::{Error, ErrorKind, Result};
pub use parts::parts_of;
pub use status::Status;
pub(crate) use status::can_be_counted;
