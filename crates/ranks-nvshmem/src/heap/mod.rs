//! The symmetric heap as programs see it: allocations, slices of them, and memory of the
//! program that the library is told of.

pub(crate) mod alloc;
pub(crate) mod arguments;
pub(crate) mod registration;
pub(crate) mod symmetric_vec;
