//! Slices of operations in flight, and what is left to do with them at the end.

pub(crate) mod post_process;
pub(crate) mod stable;
