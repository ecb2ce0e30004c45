//! Sources of the folder `in_process` there.

#[path = "../../../../crates/ranks-comm/src/transport/in_process/board.rs"]
pub(crate) mod board;
#[path = "../../../../crates/ranks-comm/src/transport/in_process/contexts.rs"]
pub(crate) mod contexts;
#[path = "../../../../crates/ranks-comm/src/transport/in_process/ends.rs"]
pub(crate) mod ends;
#[path = "../../../../crates/ranks-comm/src/transport/in_process/failures.rs"]
pub(crate) mod failures;
#[path = "../../../../crates/ranks-comm/src/transport/in_process/inbox.rs"]
pub(crate) mod inbox;
#[path = "../../../../crates/ranks-comm/src/transport/in_process/lists.rs"]
pub(crate) mod lists;
#[path = "../../../../crates/ranks-comm/src/transport/in_process/mailbox.rs"]
pub(crate) mod mailbox;
#[path = "../../../../crates/ranks-comm/src/transport/in_process/messages.rs"]
pub(crate) mod messages;
#[path = "../../../../crates/ranks-comm/src/transport/in_process/waiting.rs"]
pub(crate) mod waiting;
#[path = "../../../../crates/ranks-comm/src/transport/in_process/world.rs"]
pub(crate) mod world;

pub(crate) use crate::surroundings::in_process::{
    agreements, common, loan, patience, payload, places,
};
