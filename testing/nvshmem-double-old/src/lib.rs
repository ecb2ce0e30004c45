//! An NVSHMEM over shared memory, for tests: it exports what 3.4.5 did and behaves so, and has
//! nothing newer.
//!
//! The sources are those of `nvshmem-double`, without the functions that came later.

mod api;
#[allow(dead_code, reason = "what newer functions do")]
#[path = "../../nvshmem-double/src/double/mod.rs"]
mod double;

/// The release that this is.
const VERSION: (i32, i32, i32) = (3, 4, 5);
