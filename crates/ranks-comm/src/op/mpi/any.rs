//! Waiting for any of several requests (`MPI_Waitany`).

use super::request_copies::RequestCopies;
use crate::call::thread_guard::THREAD_GUARD;
use crate::result::Result;
use crate::result::status::EMPTY_STATUS;
use crate::transport::completion::Completion;
use crate::transport::pending_op::PendingOp;

/// Waits until one of the operations is complete, if the library has all of them and there are not
/// too many. Returns `true` if it did.
pub(crate) fn wait_any(mut flights: Vec<&mut PendingOp>) -> Result<bool> {
    let mut copies = RequestCopies::new();
    for flight in &mut flights {
        match flight {
            PendingOp::Native(native) if copies.put(native) => {}
            _ => return Ok(false),
        }
    }
    let _entered = THREAD_GUARD.enter("MPI_Waitany")?;
    let mut words = EMPTY_STATUS;
    let (code, index) = copies.wait_any(&mut words);
    // After an error the library may not name the request; the next test finds out.
    let Some((index, flight)) = index.and_then(|index| Some((index, flights.get_mut(index)?)))
    else {
        return Ok(false);
    };
    if let PendingOp::Native(native) = flight {
        copies.give_back(index, native);
        if let Some(outcome) = native.waited_for_any(code, &words)? {
            **flight = PendingOp::Over(outcome.map(Completion::plain));
        }
    }
    Ok(true)
}
