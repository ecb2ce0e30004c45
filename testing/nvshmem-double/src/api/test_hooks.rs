//! What tests ask of the double: `nvshmemDouble_…`.
#![allow(non_snake_case, reason = "the names are in the style of NVSHMEM's")]

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::Ordering;

use crate::double::driver::DriverError;
use crate::double::hooks::{self, Setting};
use crate::double::{driver, heap, local, meeting, memory, modules, pe, teams};

/// Names the file of the CUDA driver.
///
/// # Safety
/// `path` is a C string, and names a driver whose initialisers may run.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmemDouble_use_cuda(path: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) };
    match driver::open(Path::new(OsStr::from_bytes(path.to_bytes()))) {
        Ok(_) => 0,
        Err(DriverError(text)) => {
            eprintln!("nvshmem double: {text}");
            1
        }
    }
}

/// Switches a mode: `STRICT`, `LIMITED`, `FULL`, `NO_GPU`, `REMOTE`, `DELAY_US`, `PATIENCE`, as in
/// the variables `NVSHMEM_DOUBLE_…`. What was not known is 1.
///
/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmemDouble_set(name: *const c_char, value: i64) -> c_int {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let setting: Option<&Setting> = hooks::by_name(&name);
    if let Some(setting) = setting {
        setting.set(value);
    }
    c_int::from(setting.is_none())
}

/// The next call of the function `name` in this process fails with `code` (an allocation: with
/// nothing), and does nothing. Functions without a result do not.
///
/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmemDouble_fail_next(name: *const c_char, code: c_int) {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    hooks::fail_next(name.to_string_lossy().into_owned(), code);
}

/// The number of blocks of the heap that this PE has.
#[unsafe(no_mangle)]
extern "C" fn nvshmemDouble_live_blocks() -> usize {
    memory::live_blocks()
}

/// The number of teams that this PE has besides those that are always there.
#[unsafe(no_mangle)]
extern "C" fn nvshmemDouble_live_teams() -> usize {
    teams::made()
}

/// The number of buffers that are registered.
#[unsafe(no_mangle)]
extern "C" fn nvshmemDouble_live_registrations() -> usize {
    memory::registrations()
}

/// How often bytes of the heap were used that are in no live block.
#[unsafe(no_mangle)]
extern "C" fn nvshmemDouble_uses_after_free() -> usize {
    heap::USES_AFTER_FREE.load(Ordering::Relaxed)
}

/// How often this PE has seen another one make a different call.
#[unsafe(no_mangle)]
extern "C" fn nvshmemDouble_mismatches() -> usize {
    meeting::MISMATCHES.load(Ordering::Relaxed)
}

/// How often functions were called after the end.
#[unsafe(no_mangle)]
extern "C" fn nvshmemDouble_calls_after_finalize() -> usize {
    memory::calls_after_finalize()
}

/// How often functions were called on another thread than that of the init, where the library
/// allows one thread at a time.
#[unsafe(no_mangle)]
extern "C" fn nvshmemDouble_calls_of_other_threads() -> usize {
    pe::CALLS_OF_OTHER_THREADS.load(Ordering::Relaxed)
}

/// How often modules and libraries were made ready.
#[unsafe(no_mangle)]
extern "C" fn nvshmemDouble_module_inits() -> usize {
    modules::INITS.load(Ordering::Relaxed)
}

/// How often memory of the host was put from or gotten into that is neither pinned nor registered.
#[unsafe(no_mangle)]
extern "C" fn nvshmemDouble_pageable_uses() -> usize {
    local::PAGEABLE_USES.load(Ordering::Relaxed)
}

/// The number of modules and libraries that were made ready, and not let go.
#[unsafe(no_mangle)]
extern "C" fn nvshmemDouble_live_modules() -> usize {
    modules::live()
}
