//! What is known of addresses.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use crate::memory::Kind;
use crate::state::{Answer, Code, INVALID_VALUE, State, call, lock};

/// The value of one attribute of an address, and how many bytes it has.
fn attribute(state: &State, attribute: c_int, address: usize) -> Answer<(u64, usize)> {
    let blocks = lock(&state.blocks);
    let found = blocks.find(address, 1).map(|(_, block)| *block);
    let kind = found.map(|block| block.kind);
    Ok(match attribute {
        // CU_POINTER_ATTRIBUTE_MEMORY_TYPE: host 1, device 2; none for what is not known.
        2 => match kind {
            Some(Kind::Pinned) => (1, 4),
            Some(Kind::Device | Kind::Managed | Kind::Peer) => (2, 4),
            None => (0, 4),
        },
        // …_DEVICE_POINTER, …_HOST_POINTER
        3 => (found.map_or(0, |_| address as u64), 8),
        4 if matches!(kind, Some(Kind::Device | Kind::Peer)) => (0, 8),
        4 => (found.map_or(0, |_| address as u64), 8),
        // …_IS_MANAGED
        8 => (u64::from(kind == Some(Kind::Managed)), 4),
        // …_DEVICE_ORDINAL: CU_DEVICE_INVALID for what is not known.
        9 => (
            found.map_or(u64::from(u32::MAX - 1), |block| block.device as u64),
            4,
        ),
        _ => return Err(INVALID_VALUE),
    })
}

/// # Safety
/// `place` has room for a value of the attribute.
unsafe fn put_attribute(place: *mut c_void, (value, bytes): (u64, usize)) -> Answer {
    if place.is_null() {
        return Err(INVALID_VALUE);
    }
    // Little-endian: the first bytes are the lower ones.
    let from = (&raw const value).cast::<u8>();
    // SAFETY: the caller's promise.
    unsafe { ptr::copy_nonoverlapping(from, place.cast(), bytes) };
    Ok(())
}

/// # Safety
/// `place` has room for a value of the attribute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuPointerGetAttribute(
    place: *mut c_void,
    which: c_int,
    address: usize,
) -> Code {
    call("cuPointerGetAttribute", |state| {
        // The real one refuses what it does not know.
        lock(&state.blocks).find(address, 1).ok_or(INVALID_VALUE)?;
        let value = attribute(state, which, address)?;
        // SAFETY: the caller's promise.
        unsafe { put_attribute(place, value) }
    })
}

/// # Safety
/// `which` and `places` have `count` elements, and each place has room for a value of its
/// attribute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuPointerGetAttributes(
    count: c_uint,
    which: *const c_int,
    places: *const *mut c_void,
    address: usize,
) -> Code {
    call("cuPointerGetAttributes", |state| {
        if which.is_null() || places.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        let which = unsafe { std::slice::from_raw_parts(which, count as usize) };
        // SAFETY: the caller's promise.
        let places = unsafe { std::slice::from_raw_parts(places, count as usize) };
        for (&which, &place) in which.iter().zip(places) {
            let value = attribute(state, which, address)?;
            // SAFETY: the caller's promise.
            unsafe { put_attribute(place, value) }?;
        }
        Ok(())
    })
}
