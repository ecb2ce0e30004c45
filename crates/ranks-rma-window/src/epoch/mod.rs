//! Facts about epochs and accesses on which both backends stand.

pub(crate) mod accumulation;
pub(crate) mod dealings;
pub(crate) mod epochs;
pub(crate) mod lock_kind;
pub(crate) mod table;
