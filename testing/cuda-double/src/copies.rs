//! Copies and fills.

use std::ffi::c_uchar;
use std::ptr;
use std::time::Duration;

use crate::memory::{Kind, Use, begin_use, is, needs_context};
use crate::state::{Answer, Code, INVALID_VALUE, State, call};
use crate::streams::{Operation, stream};

/// Where bytes are.
enum Place {
    /// In memory of the driver's, which is counted as used.
    Known(Use),
    /// In memory of the program's, which is there until the call returns.
    Borrowed(usize),
    /// Here.
    Copied(Vec<u8>),
}

impl Place {
    fn address(&self) -> usize {
        match self {
            Place::Known(known) => known.memory,
            Place::Borrowed(address) => *address,
            Place::Copied(bytes) => bytes.as_ptr().expose_provenance(),
        }
    }
}

/// Copies when the stream comes to it. Returns when that is over if it must be.
fn copy(state: &State, handle: usize, from: Place, to: Place, bytes: usize, waits: bool) -> Answer {
    let stream = stream(state, handle)?;
    let work = move || {
        let source = ptr::with_exposed_provenance::<u8>(from.address());
        let target = ptr::with_exposed_provenance_mut::<u8>(to.address());
        // SAFETY: places of the driver's have so many bytes and are kept while they are used; the
        // program vouches for its own.
        unsafe { ptr::copy(source, target, bytes) };
        drop((from, to));
    };
    let enqueued = stream.enqueue(Operation::Work(Box::new(work)));
    if waits {
        stream.finish(enqueued);
    }
    Ok(())
}

fn to_device(state: &State, to: usize, from: usize, bytes: usize, stream: usize) -> Answer {
    needs_context(state)?;
    let to = Place::Known(begin_use(state, to, bytes)?);
    let from = if is(state, from, Kind::Pinned) {
        Place::Known(begin_use(state, from, bytes)?)
    } else {
        let source = ptr::with_exposed_provenance::<u8>(from);
        // SAFETY: the program vouches for its memory until the call returns.
        Place::Copied(unsafe { std::slice::from_raw_parts(source, bytes) }.to_vec())
    };
    copy(state, stream, from, to, bytes, false)
}

fn to_host(state: &State, to: usize, from: usize, bytes: usize, stream: usize) -> Answer {
    needs_context(state)?;
    let from = Place::Known(begin_use(state, from, bytes)?);
    if is(state, to, Kind::Pinned) {
        let to = Place::Known(begin_use(state, to, bytes)?);
        return copy(state, stream, from, to, bytes, false);
    }
    copy(state, stream, from, Place::Borrowed(to), bytes, true)
}

fn on_device(state: &State, to: usize, from: usize, bytes: usize, stream: usize) -> Answer {
    needs_context(state)?;
    let to = Place::Known(begin_use(state, to, bytes)?);
    let from = Place::Known(begin_use(state, from, bytes)?);
    copy(state, stream, from, to, bytes, false)
}

/// How long a copy that was staged is on its way, so that a stream that does not wait for the
/// default one comes before it.
const STAGED: Duration = Duration::from_millis(4);

/// A copy that names no stream.
///
/// From pageable memory it returns when the bytes are staged, and their way to the device may not
/// be over: "API synchronization behavior" of the reference manual (CUDA 11.4 to 13.0). Nothing but
/// the default stream knows of it then. That it takes so long is assumed.
fn to_device_now(state: &State, to: usize, from: usize, bytes: usize) -> Answer {
    needs_context(state)?;
    finish_default(state)?;
    let pageable = !is(state, from, Kind::Pinned) && !is(state, from, Kind::Managed);
    if pageable {
        let late = Operation::Order(Box::new(|| std::thread::sleep(STAGED)));
        stream(state, 0)?.enqueue(late);
    }
    to_device(state, to, from, bytes, 0)?;
    if pageable {
        return Ok(());
    }
    finish_default(state)
}

/// Waits for the default stream, as the copies that name none do.
fn finish_default(state: &State) -> Answer {
    let stream = stream(state, 0)?;
    let enqueued = stream.enqueue(Operation::Order(Box::new(|| ())));
    stream.finish(enqueued);
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyHtoDAsync_v2(
    to: usize,
    from: usize,
    bytes: usize,
    stream: usize,
) -> Code {
    call("cuMemcpyHtoDAsync_v2", |state| {
        to_device(state, to, from, bytes, stream)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoHAsync_v2(
    to: usize,
    from: usize,
    bytes: usize,
    stream: usize,
) -> Code {
    call("cuMemcpyDtoHAsync_v2", |state| {
        to_host(state, to, from, bytes, stream)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoDAsync_v2(
    to: usize,
    from: usize,
    bytes: usize,
    stream: usize,
) -> Code {
    call("cuMemcpyDtoDAsync_v2", |state| {
        on_device(state, to, from, bytes, stream)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyPeerAsync(
    to: usize,
    _to_context: usize,
    from: usize,
    _from_context: usize,
    bytes: usize,
    stream: usize,
) -> Code {
    call("cuMemcpyPeerAsync", |state| {
        on_device(state, to, from, bytes, stream)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyHtoD_v2(to: usize, from: usize, bytes: usize) -> Code {
    call("cuMemcpyHtoD_v2", |state| {
        to_device_now(state, to, from, bytes)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoH_v2(to: usize, from: usize, bytes: usize) -> Code {
    call("cuMemcpyDtoH_v2", |state| {
        to_host(state, to, from, bytes, 0)?;
        finish_default(state)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoD_v2(to: usize, from: usize, bytes: usize) -> Code {
    // The real one does not wait for a copy on one device either.
    call("cuMemcpyDtoD_v2", |state| {
        on_device(state, to, from, bytes, 0)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8Async(to: usize, byte: c_uchar, bytes: usize, handle: usize) -> Code {
    call("cuMemsetD8Async", |state| {
        fill(state, to, byte, bytes, handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8_v2(to: usize, byte: c_uchar, bytes: usize) -> Code {
    call("cuMemsetD8_v2", |state| fill(state, to, byte, bytes, 0))
}

fn fill(state: &State, to: usize, byte: u8, bytes: usize, handle: usize) -> Answer {
    // Assumed: the manual says nothing of no bytes, so that nobody may count on its being allowed.
    if bytes == 0 {
        return Err(INVALID_VALUE);
    }
    let place = begin_use(state, to, bytes)?;
    let stream = stream(state, handle)?;
    let work = move || {
        let target = ptr::with_exposed_provenance_mut::<u8>(place.memory);
        // SAFETY: the place has so many bytes and is kept while it is used.
        unsafe { ptr::write_bytes(target, byte, bytes) };
        drop(place);
    };
    stream.enqueue(Operation::Work(Box::new(work)));
    Ok(())
}
