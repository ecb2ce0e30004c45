//! What goes wrong, in words that say what to do.

pub(crate) use ranks_collectives::backend::of_driver;
