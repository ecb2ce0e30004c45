//! The table of operations, and each form, written once for all of them.

pub(crate) mod barrier;
pub(crate) mod between_groups;
pub(crate) mod moves;
pub(crate) mod reduce_local;
pub(crate) mod reductions;
pub(crate) mod trial;
pub(crate) mod varying;
pub(crate) mod with_deadline;
