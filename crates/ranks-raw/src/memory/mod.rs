//! Memory that operations work on: the caller's, on the host or a device, or copies of it.

pub(crate) mod device;
pub(crate) mod elements;
pub(crate) mod pool;
