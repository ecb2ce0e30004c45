//! Errors, in words that say what to do.

pub(crate) use ranks_raw::backend::of_driver;
