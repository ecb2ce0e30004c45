//! Symmetric memory: its blocks, and what a program registers.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use super::abi::{self, Code};
use super::life::{come, is_new};
use super::meeting::Call;
use super::pe::{self, CALLS_AFTER_FINALIZE, Pe};
use super::{fatal, hooks, lock, order};

/// `nvshmem_malloc`, `_align`, `_calloc`: what they allocate begins at the same offset on all PEs.
pub(crate) fn allocate(
    name: &'static str,
    bytes: usize,
    alignment: usize,
    zeroed: bool,
) -> *mut u8 {
    let found = pe::found();
    if let Some(pe) = &found
        && !pe.is_complete()
        && let Err(text) = come(pe, None)
    {
        eprintln!("nvshmem double: {name}: {text}");
    }
    let Some(pe) = found.filter(|pe| pe.is_complete()) else {
        if is_new() {
            return null_mut();
        }
        fatal::exit(format_args!(
            "{name} called before NVSHMEM initialization has completed"
        ));
    };
    if bytes == 0 || hooks::failure_asked_of(name).is_some() {
        return null_mut();
    }
    let block = pe.heap().allocate(&pe, bytes, alignment.max(1));
    if let Some(offset) = block.filter(|_| zeroed) {
        let memory = pe.heap().at(pe.my_pe, offset, bytes);
        // SAFETY: so many bytes are mapped there.
        unsafe { std::ptr::write_bytes(memory, 0, bytes) };
    }
    if block.is_none() && hooks::heap_grows() {
        pe.heap().lose(&pe.machine().place);
    }
    // All find the same place, or none.
    let offset = block.map_or(usize::MAX, |offset| offset);
    order::barrier_all(&pe, Call::with(name, bytes, offset));
    match block {
        Some(offset) => pe.heap().address(offset),
        None if zeroed => fatal::exit(format_args!("{name}: out of memory: {bytes} bytes")),
        None => null_mut(),
    }
}

/// `nvshmem_free`
pub(crate) fn free(pe: &Pe, address: usize) {
    if address == 0 {
        return;
    }
    let offset = pe.heap().offset(address);
    let block = offset.and_then(|offset| pe.heap().block(offset).map(|bytes| (offset, bytes)));
    let Some((offset, _)) = block else {
        fatal::abort(format_args!(
            "nvshmem_free: no block begins at {address:#x}"
        ));
    };
    order::barrier_all(pe, Call::with("nvshmem_free", offset, 0));
    pe.heap().free(pe, offset);
}

/// `nvshmem_ptr`: where a PE's bytes can be loaded from and stored to, if they can.
pub(crate) fn pointer(address: usize, target: c_int) -> *mut u8 {
    let Some(pe) = pe::complete() else {
        return null_mut();
    };
    let Some(offset) = pe.heap().offset(address) else {
        return null_mut();
    };
    match usize::try_from(target) {
        Ok(target) if target == pe.my_pe => pe.heap().address(offset),
        Ok(target) if target < pe.n_pes && !hooks::REMOTE.get() => {
            let place = &pe.machine().place;
            pe.heap().peer(place, &pe.region, target, offset)
        }
        _ => null_mut(),
    }
}

/// Length by address.
static REGISTERED: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// The number of buffers that are registered.
pub(crate) fn registrations() -> usize {
    lock(&REGISTERED).len()
}

/// Returns `true` if so many bytes are in one buffer that is registered.
pub(crate) fn is_registered(address: usize, bytes: usize) -> bool {
    let registered = lock(&REGISTERED);
    let before = registered.range(..=address).next_back();
    before.is_some_and(|(&begin, &length)| address - begin + bytes <= length)
}

/// `nvshmemx_buffer_register`: overlaps are refused.
pub(crate) fn register(address: usize, bytes: usize) -> Code {
    if let Some(code) = hooks::failure_asked_of("nvshmemx_buffer_register") {
        return code;
    }
    let mut registered = lock(&REGISTERED);
    let Some(end) = address.checked_add(bytes).filter(|_| bytes > 0) else {
        return abi::INVALID_VALUE;
    };
    let before = registered.range(..end).next_back();
    if before.is_some_and(|(&begin, &length)| begin + length > address) {
        eprintln!("nvshmem double: nvshmemx_buffer_register: overlaps what is registered");
        return abi::INVALID_VALUE;
    }
    registered.insert(address, bytes);
    abi::SUCCESS
}

pub(crate) fn unregister(address: usize) -> Code {
    if let Some(code) = hooks::failure_asked_of("nvshmemx_buffer_unregister") {
        return code;
    }
    match lock(&REGISTERED).remove(&address) {
        Some(_) => abi::SUCCESS,
        None => abi::INVALID_VALUE,
    }
}

pub(crate) fn unregister_all() {
    lock(&REGISTERED).clear();
}

/// The number of blocks of the heap.
pub(crate) fn live_blocks() -> usize {
    let pe = pe::life(|life| life.pe.clone());
    pe.filter(|pe| pe.is_complete())
        .map_or(0, |pe| pe.heap().live_blocks())
}

/// How often functions were called after the end, and returned.
pub(crate) fn calls_after_finalize() -> usize {
    CALLS_AFTER_FINALIZE.load(Ordering::Relaxed)
}
