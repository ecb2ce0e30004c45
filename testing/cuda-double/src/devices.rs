//! Devices and their primary contexts.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_uint};
use std::sync::atomic::Ordering;

use crate::state::{
    Answer, CODES, Code, INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, NO_DEVICE, STATE, State,
    call, lock, put,
};
use crate::streams;

/// The handle of device 0's context; that of device n is n * 16 behind.
const FIRST_CONTEXT: usize = 0xC0_0000;

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
    static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

fn context_of(device: usize) -> usize {
    FIRST_CONTEXT + device * 16
}

/// The device of a context that is retained.
fn device_of(state: &State, context: usize) -> Answer<usize> {
    let device = context
        .checked_sub(FIRST_CONTEXT)
        .filter(|offset| offset % 16 == 0)
        .map(|offset| offset / 16)
        .ok_or(INVALID_CONTEXT)?;
    match lock(&state.retained).get(&device) {
        Some(&count) if count > 0 => Ok(device),
        _ => Err(INVALID_CONTEXT),
    }
}

/// The device of the current context.
pub(crate) fn current(state: &State) -> Answer<usize> {
    device_of(state, CURRENT.get())
}

/// A device by its number.
fn device(state: &State, ordinal: c_int) -> Answer<usize> {
    let ordinal = usize::try_from(ordinal).map_err(|_| INVALID_DEVICE)?;
    if ordinal < state.devices.load(Ordering::SeqCst) {
        Ok(ordinal)
    } else {
        Err(INVALID_DEVICE)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: c_uint) -> Code {
    call("cuInit", |state| {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        if state.devices.load(Ordering::SeqCst) == 0 {
            return Err(NO_DEVICE);
        }
        state.initialised.store(true, Ordering::SeqCst);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(version: Option<&mut c_int>) -> Code {
    // The real one needs no cuInit either.
    match put(version, 13000) {
        Ok(()) => 0,
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorName(code: Code, text: Option<&mut *const c_char>) -> Code {
    words(code, |(_, name, _)| name, text)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorString(code: Code, text: Option<&mut *const c_char>) -> Code {
    words(code, |(_, _, text)| text, text)
}

fn words(
    code: Code,
    part: fn(&(Code, &'static str, &'static str)) -> &'static str,
    place: Option<&mut *const c_char>,
) -> Code {
    let found = CODES.iter().find(|(known, ..)| *known == code);
    let Some(place) = place else {
        return INVALID_VALUE;
    };
    *place = found.map_or(std::ptr::null(), |found| part(found).as_ptr().cast());
    if found.is_some() { 0 } else { INVALID_VALUE }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetCount(count: Option<&mut c_int>) -> Code {
    call("cuDeviceGetCount", |state| {
        let devices = state.devices.load(Ordering::SeqCst);
        put(count, c_int::try_from(devices).unwrap_or(c_int::MAX))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGet(raw: Option<&mut c_int>, ordinal: c_int) -> Code {
    call("cuDeviceGet", |state| {
        device(state, ordinal)?;
        put(raw, ordinal)
    })
}

/// # Safety
/// `text` has room for `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(text: *mut c_char, room: c_int, raw: c_int) -> Code {
    call("cuDeviceGetName", |state| {
        let device = device(state, raw)?;
        // SAFETY: the caller's promise.
        unsafe { write_text(text, room, &format!("Double of a GPU, number {device}")) }
    })
}

/// # Safety
/// `text` has room for `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetPCIBusId(text: *mut c_char, room: c_int, raw: c_int) -> Code {
    call("cuDeviceGetPCIBusId", |state| {
        let device = device(state, raw)?;
        // SAFETY: the caller's promise.
        unsafe { write_text(text, room, &format!("0000:{:02x}:00.0", device + 1)) }
    })
}

/// # Safety
/// `place` has room for `room` bytes.
unsafe fn write_text(place: *mut c_char, room: c_int, text: &str) -> Answer {
    let room = usize::try_from(room).map_err(|_| INVALID_VALUE)?;
    if place.is_null() || room <= text.len() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: there is room for the text and a zero behind it.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), text.len()) };
    // SAFETY: as above.
    let end = unsafe { place.add(text.len()) };
    // SAFETY: as above.
    unsafe { end.write(0) };
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetUuid(uuid: Option<&mut [u8; 16]>, raw: c_int) -> Code {
    cuDeviceGetUuid_v2(uuid, raw)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetUuid_v2(uuid: Option<&mut [u8; 16]>, raw: c_int) -> Code {
    call("cuDeviceGetUuid_v2", |state| {
        let device = device(state, raw)?;
        let mut bytes = *b"cuda-double 0000";
        bytes[15] = u8::try_from(device).unwrap_or(u8::MAX);
        put(uuid, bytes)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetAttribute(
    value: Option<&mut c_int>,
    attribute: c_int,
    raw: c_int,
) -> Code {
    call("cuDeviceGetAttribute", |state| {
        let device = device(state, raw)?;
        let answer = match attribute {
            // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
            16 => 132,
            // …_PCI_BUS_ID
            33 => c_int::try_from(device).unwrap_or(0) + 1,
            // …_UNIFIED_ADDRESSING, …_MEMORY_POOLS_SUPPORTED
            41 | 115 => 1,
            // …_COMPUTE_CAPABILITY_MAJOR
            75 => 9,
            _ => 0,
        };
        put(value, answer)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceTotalMem_v2(bytes: Option<&mut usize>, raw: c_int) -> Code {
    call("cuDeviceTotalMem_v2", |state| {
        device(state, raw)?;
        put(bytes, lock(&state.blocks).per_device)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceCanAccessPeer(can: Option<&mut c_int>, one: c_int, other: c_int) -> Code {
    call("cuDeviceCanAccessPeer", |state| {
        let (one, other) = (device(state, one)?, device(state, other)?);
        put(can, c_int::from(one != other))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRetain(context: Option<&mut usize>, raw: c_int) -> Code {
    call("cuDevicePrimaryCtxRetain", |state| {
        let device = device(state, raw)?;
        put(context, context_of(device))?;
        *lock(&state.retained).entry(device).or_default() += 1;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(raw: c_int) -> Code {
    call("cuDevicePrimaryCtxRelease_v2", |state| {
        let device = device(state, raw)?;
        match lock(&state.retained).get_mut(&device) {
            Some(count) if *count > 0 => *count -= 1,
            _ => return Err(INVALID_CONTEXT),
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxGetState(
    raw: c_int,
    flags: Option<&mut c_uint>,
    active: Option<&mut c_int>,
) -> Code {
    call("cuDevicePrimaryCtxGetState", |state| {
        let device = device(state, raw)?;
        let there = lock(&state.retained)
            .get(&device)
            .is_some_and(|&count| count > 0);
        put(flags, 0)?;
        put(active, c_int::from(there))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetCurrent(context: Option<&mut usize>) -> Code {
    call("cuCtxGetCurrent", |_| put(context, CURRENT.get()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: usize) -> Code {
    call("cuCtxSetCurrent", |state| {
        if context != 0 {
            device_of(state, context)?;
        }
        CURRENT.set(context);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPushCurrent_v2(context: usize) -> Code {
    call("cuCtxPushCurrent_v2", |state| {
        device_of(state, context)?;
        STACK.with_borrow_mut(|stack| stack.push(CURRENT.replace(context)));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPopCurrent_v2(context: Option<&mut usize>) -> Code {
    call("cuCtxPopCurrent_v2", |_| {
        let below = STACK.with_borrow_mut(Vec::pop).ok_or(INVALID_CONTEXT)?;
        let popped = CURRENT.replace(below);
        // The caller may not want to know.
        if let Some(place) = context {
            *place = popped;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetDevice(raw: Option<&mut c_int>) -> Code {
    call("cuCtxGetDevice", |state| {
        let device = current(state)?;
        put(raw, c_int::try_from(device).unwrap_or(0))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetStreamPriorityRange(
    least: Option<&mut c_int>,
    greatest: Option<&mut c_int>,
) -> Code {
    call("cuCtxGetStreamPriorityRange", |state| {
        current(state)?;
        if let Some(place) = least {
            *place = 0;
        }
        if let Some(place) = greatest {
            *place = -5;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxEnablePeerAccess(context: usize, _flags: c_uint) -> Code {
    call("cuCtxEnablePeerAccess", |state| {
        current(state)?;
        device_of(state, context).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> Code {
    call("cuCtxSynchronize", |state| {
        streams::finish_device(state, current(state)?);
        Ok(())
    })
}

/// The number of contexts that are retained.
pub(crate) fn live_contexts() -> usize {
    lock(&STATE.retained)
        .values()
        .filter(|&&count| count > 0)
        .count()
}
