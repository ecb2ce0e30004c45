//! Waiting for whichever of several requests ends first.

use std::ffi::c_int;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::native;

use super::flight::{Flight as MpiFlight, Native};
use super::session::GATE;
use super::status;
use crate::error::Result;
use crate::flight::Flight;
use crate::status::ROOM;

/// How many requests are put side by side on the stack.
const ROOMS: usize = 64;

/// Waits until one of the operations is over, if the library has all of them and there are not too many; whether it did.
pub(crate) fn wait_any(flights: Vec<&mut Flight>) -> Result<bool> {
    if flights.len() > ROOMS {
        return Ok(false);
    }
    let mut natives: Vec<&mut Native> = Vec::with_capacity(flights.len());
    for flight in flights {
        match flight {
            Flight::Mpi(MpiFlight::Native(native)) => natives.push(native),
            _ => return Ok(false),
        }
    }
    let _entered = GATE.enter("MPI_Waitany")?;
    let stride = native::request_stride();
    let mut requests = [0u64; ROOMS];
    let bytes: &mut [u8] = bytemuck::must_cast_slice_mut(&mut requests);
    for (room, native) in bytes.chunks_mut(stride).zip(&natives) {
        native.copy_request_to(room);
    }
    let mut index: c_int = 0;
    let mut words = ROOM;
    let count = c_int::try_from(natives.len()).unwrap_or(0);
    // SAFETY: `count` requests that are not over lie side by side; index and status are ours.
    let code = unsafe {
        native::MPI_Waitany(
            count,
            requests.as_mut_ptr().cast(),
            &raw mut index,
            status::to_write(&mut words),
        )
    };
    // After an error the library may not say whose it is; who asks next finds out.
    if code == sys::MPI_SUCCESS || usize::try_from(index).is_ok_and(|index| index < natives.len()) {
        if let Some(native) = usize::try_from(index)
            .ok()
            .and_then(|index| natives.get_mut(index))
        {
            native.has_ended(code, &words);
            return Ok(true);
        }
    }
    Ok(false)
}
