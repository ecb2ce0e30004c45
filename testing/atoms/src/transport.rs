//! Sources of ranks-comm's folder `transport`.

pub(crate) mod in_process;
