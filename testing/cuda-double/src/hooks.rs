//! What tests ask and tell the driver besides.

use std::ffi::{CStr, c_char};
use std::sync::atomic::Ordering;

use crate::devices;
use crate::memory::Kind;
use crate::state::{Code, STATE, lock};

/// The number of blocks of device memory.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDouble_live_allocations() -> usize {
    lock(&STATE.blocks).live(Kind::Device)
}

/// The number of blocks of pinned memory.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDouble_live_host_allocations() -> usize {
    lock(&STATE.blocks).live(Kind::Pinned)
}

/// The number of events.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDouble_live_events() -> usize {
    lock(&STATE.events).len()
}

/// The number of streams, besides the default ones.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDouble_live_streams() -> usize {
    lock(&STATE.streams).len()
}

/// The number of devices that have a primary context.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDouble_live_contexts() -> usize {
    devices::live_contexts()
}

/// How often memory was freed while an enqueued operation was to work on it.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDouble_uses_after_free() -> usize {
    STATE.uses_after_free.load(Ordering::SeqCst)
}

/// Sets how many devices there are.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDouble_set_device_count(count: usize) {
    STATE.devices.store(count, Ordering::SeqCst);
}

/// Sets how many bytes each device has.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDouble_set_device_memory(bytes: usize) {
    lock(&STATE.blocks).per_device = bytes;
}

/// Says of all streams that they are being captured, or no more.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDouble_set_capturing(capturing: usize) {
    STATE.capturing.store(capturing != 0, Ordering::SeqCst);
}

/// Sets how long each copy, fill and host function waits before it begins.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDouble_set_delay(microseconds: u64) {
    STATE.delay.store(microseconds, Ordering::SeqCst);
}

/// Makes the next call of the function of this name do nothing and answer `code`.
///
/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDouble_fail_next(name: *const c_char, code: Code) {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }
        .to_string_lossy()
        .into_owned();
    lock(&STATE.failures).next.insert(name, code);
}

/// How often the function of this name was called.
///
/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDouble_calls(name: *const c_char) -> usize {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let failures = lock(&STATE.failures);
    failures.calls.get(name.as_ref()).copied().unwrap_or(0)
}

/// From now on every call answers `code`, as after a failure that ends a context; 0 makes it work
/// again.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDouble_break(code: Code) {
    STATE.broken.store(code, Ordering::SeqCst);
}
