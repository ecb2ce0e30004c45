//! An NCCL over shared memory, for tests: it exports what 2.18.3 did, and nothing newer.
//!
//! The sources are those of `nccl-double`, without the functions that came later.

mod api;
#[allow(dead_code, reason = "what newer functions do")]
#[path = "../../nccl-double/src/double/mod.rs"]
mod double;

/// The release that this is.
const VERSION: i32 = 21803;
