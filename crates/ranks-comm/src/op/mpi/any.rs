//! Waiting for any of several requests (`MPI_Waitany`).

use super::request_copies::RequestCopies;
use crate::call::thread_guard::THREAD_GUARD;
use crate::result::Result;
use crate::result::status::EMPTY_STATUS;
use crate::transport::mpi::pending_op::{Native, PendingOp as MpiFlight};
use crate::transport::pending_op::PendingOp;

/// Waits until one of the operations is complete, if the library has all of them and there are not
/// too many. Returns `true` if it did.
pub(crate) fn wait_any(flights: Vec<&mut PendingOp>) -> Result<bool> {
    let mut natives: Vec<&mut Native> = Vec::with_capacity(flights.len());
    let mut copies = RequestCopies::new();
    for flight in flights {
        match flight {
            PendingOp::Mpi(MpiFlight::Native(native)) if copies.put(native) => natives.push(native),
            _ => return Ok(false),
        }
    }
    let _entered = THREAD_GUARD.enter("MPI_Waitany")?;
    let mut words = EMPTY_STATUS;
    let (code, index) = copies.wait_any(&mut words);
    // After an error the library may not name the request; the next test finds out.
    let Some((index, native)) = index.and_then(|index| Some((index, natives.get_mut(index)?)))
    else {
        return Ok(false);
    };
    copies.give_back(index, native);
    native.has_ended(code, &words)?;
    Ok(true)
}
