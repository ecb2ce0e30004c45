//! The cases with numr 0.14.

use numr_0_14 as numr;

#[path = "calls.rs"]
#[allow(clippy::duplicate_mod, reason = "once for each version")]
mod calls;
#[path = "collectives.rs"]
#[allow(clippy::duplicate_mod, reason = "once for each version")]
mod collectives;
#[path = "ends.rs"]
#[allow(clippy::duplicate_mod, reason = "once for each version")]
mod ends;
#[path = "groups.rs"]
#[allow(clippy::duplicate_mod, reason = "once for each version")]
mod groups;
#[path = "messages.rs"]
#[allow(clippy::duplicate_mod, reason = "once for each version")]
mod messages;
#[path = "mistakes.rs"]
#[allow(clippy::duplicate_mod, reason = "once for each version")]
mod mistakes;
