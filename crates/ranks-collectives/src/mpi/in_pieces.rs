//! Operations that are made of several, which are in flight together.
//!
//! All of them are begun whatever becomes of one, so that ranks stay in step.

use ranks_comm::Result;
use ranks_comm::backend::{Keep, StartedOp};

use crate::in_flight::post_process;
use crate::in_flight::stable::SharedCopy;

/// One operation of several, each of which is begun. Once one is, that another one is not shows at
/// the end: who gets an error from here takes none to be under way.
pub(super) fn all(parts: impl Iterator<Item = Result<StartedOp>>) -> Result<StartedOp> {
    let both = |one, other| StartedOp::Both(Box::new((one, other)));
    let mut begun: Result<StartedOp> = Ok(StartedOp::Over);
    for part in parts {
        begun = match (begun, part) {
            (Ok(StartedOp::Over), part) => part,
            (Ok(before), Ok(part)) => Ok(both(before, part)),
            (Ok(before), Err(error)) => Ok(both(before, StartedOp::Failed(error))),
            (Err(error), Ok(part)) => Ok(both(StartedOp::Failed(error), part)),
            (Err(first), Err(_)) => Err(first),
        };
    }
    begun
}

/// Memory that the library uses, of several operations.
struct Shared(#[expect(dead_code, reason = "it is kept")] SharedCopy);

impl Keep for Shared {}

/// The same, which keeps this.
pub(super) fn keeping(begun: StartedOp, kept: Option<&SharedCopy>) -> StartedOp {
    match kept {
        Some(kept) => post_process::keeping(begun, &|| Box::new(Shared(SharedCopy::clone(kept)))),
        None => begun,
    }
}
