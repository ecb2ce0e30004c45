//! What tests ask of the double: `ncclDouble_…`.
#![allow(non_snake_case, reason = "the names are in the style of NCCL's")]

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::Ordering;

use crate::double::abi::{Code, CommHandle, Config};
use crate::double::failure::{Failure, entry};
use crate::double::{comm, driver, exchange, group, hooks, launch, memory, operator, windows};

/// Names the file of the CUDA driver.
///
/// # Safety
/// `path` is a C string, and names a driver whose initialisers may run.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclDouble_use_cuda(path: *const c_char) -> Code {
    entry("ncclDouble_use_cuda", || {
        // SAFETY: the caller's promise.
        let path = unsafe { CStr::from_ptr(path) };
        driver::open(Path::new(OsStr::from_bytes(path.to_bytes())))?;
        Ok(())
    })
}

/// The next call of the function `name` in this process fails with `code`, and does nothing.
///
/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclDouble_fail_next(name: *const c_char, code: Code) {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    hooks::fail_next(name.to_string_lossy().into_owned(), code);
}

/// From now on the communicator has this asynchronous error.
#[unsafe(no_mangle)]
extern "C" fn ncclDouble_inject_async_error(comm: CommHandle, code: Code) -> Code {
    entry("ncclDouble_inject_async_error", || {
        comm::of(comm)?.fail(code);
        Ok(())
    })
}

/// Calls on communicators that are not blocking go on in the background for at least so long before
/// they do anything.
#[unsafe(no_mangle)]
extern "C" fn ncclDouble_set_delay(microseconds: u64) {
    hooks::DELAY.store(microseconds, Ordering::Relaxed);
}

/// Whether the end of another rank's process becomes `ncclRemoteError`.
#[unsafe(no_mangle)]
extern "C" fn ncclDouble_set_notices_death(notices: c_int) {
    hooks::NOTICES_DEATH.store(notices != 0, Ordering::Relaxed);
}

/// Whether ranks may share a device.
#[unsafe(no_mangle)]
extern "C" fn ncclDouble_set_allows_duplicates(allows: c_int) {
    hooks::DUPLICATES.store(allows != 0, Ordering::Relaxed);
}

/// After so many steps of exchanges this process ends at once, in the middle of one. Negative:
/// never.
#[unsafe(no_mangle)]
extern "C" fn ncclDouble_die_in(steps: i64) {
    hooks::DIES_IN.store(steps, Ordering::Relaxed);
}

/// What the communicator was asked for. Texts live as long as it does.
///
/// # Safety
/// `config` may be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclDouble_config(comm: CommHandle, config: *mut Config) -> Code {
    entry("ncclDouble_config", || {
        if config.is_null() {
            return Err(Failure::argument("config argument is NULL"));
        }
        let fields = comm::of(comm)?.wishes.fields();
        // SAFETY: the caller's promise.
        unsafe { config.write(fields) };
        Ok(())
    })
}

/// The number of communicators that were neither destroyed nor aborted.
#[unsafe(no_mangle)]
extern "C" fn ncclDouble_live_communicators() -> usize {
    comm::LIVE.load(Ordering::Relaxed)
}

/// How often a communicator was used that was destroyed or aborted before.
#[unsafe(no_mangle)]
extern "C" fn ncclDouble_uses_after_free() -> usize {
    comm::USES_AFTER_FREE.load(Ordering::Relaxed)
}

/// The number of operators of users.
#[unsafe(no_mangle)]
extern "C" fn ncclDouble_live_operators() -> usize {
    operator::LIVE.load(Ordering::Relaxed)
}

/// The number of buffers that are registered.
#[unsafe(no_mangle)]
extern "C" fn ncclDouble_live_registrations() -> usize {
    memory::REGISTERED.load(Ordering::Relaxed)
}

/// The number of windows.
#[unsafe(no_mangle)]
extern "C" fn ncclDouble_live_windows() -> usize {
    windows::LIVE.load(Ordering::Relaxed)
}

/// The number of allocations of `ncclMemAlloc`.
#[unsafe(no_mangle)]
extern "C" fn ncclDouble_live_allocations() -> usize {
    memory::live()
}

/// The number of groups that are on streams, and not over.
#[unsafe(no_mangle)]
extern "C" fn ncclDouble_pending() -> usize {
    launch::PENDING.load(Ordering::Relaxed)
}

/// The number of threads of the double.
#[unsafe(no_mangle)]
extern "C" fn ncclDouble_threads() -> usize {
    group::THREADS.load(Ordering::Relaxed)
}

/// How often this process has seen another rank make a different call.
#[unsafe(no_mangle)]
extern "C" fn ncclDouble_mismatches() -> usize {
    exchange::MISMATCHES.load(Ordering::Relaxed)
}
