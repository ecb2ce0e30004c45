//! Sources of ranks-comm's folder `call`.

#[path = "../../../crates/ranks-comm/src/call/callback/deferred.rs"]
pub(crate) mod deferred;
#[path = "../../../crates/ranks-comm/src/call/fast_path.rs"]
pub(crate) mod fast_path;
#[path = "../../../crates/ranks-comm/src/call/inside.rs"]
pub(crate) mod inside;
#[path = "../../../crates/ranks-comm/src/call/lock.rs"]
pub(crate) mod lock;
#[path = "../../../crates/ranks-comm/src/call/thread_guard.rs"]
pub(crate) mod thread_guard;
#[path = "../../../crates/ranks-comm/src/call/thread_level.rs"]
pub(crate) mod thread_level;

pub(crate) use crate::surroundings::{callback, hold, inflight_calls, limit, unreceived};
