//! Who is here, and since when.
#![allow(non_snake_case, reason = "the names are NVSHMEM's")]

use std::ffi::{c_char, c_int, c_uint};

use crate::double::abi::{self, Code, InitAttr, UniqueId};
use crate::double::{hooks, life, pe, rendezvous};

/// Writes where the caller wants it.
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn give<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: the caller's promise.
        unsafe { out.write(value) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmemx_hostlib_init_attr(flags: c_uint, attr: *mut InitAttr) -> Code {
    // SAFETY: the caller keeps NVSHMEM's contract, as everywhere in this folder.
    unsafe { life::init(flags, attr) }
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_hostlib_finalize() {
    life::finalize();
}

/// A program's version, by value.
#[repr(C)]
struct AppVersion {
    major: c_int,
    minor: c_int,
    patch: c_int,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmemid_hostlib_init_attr(
    _requested: c_int,
    provided: *mut c_int,
    flags: c_uint,
    attr: *mut InitAttr,
    app: AppVersion,
    _callback: usize,
) -> Code {
    let (major, minor, _) = crate::VERSION;
    if app.major != major || app.minor > minor {
        eprintln!("nvshmem double: a program of another version");
        return abi::INVALID_VALUE;
    }
    // SAFETY: as above.
    unsafe { give(provided, 2) };
    // SAFETY: as above.
    unsafe { life::init(flags, attr) }
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemid_hostlib_finalize() {
    life::finalize();
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_init_status() -> c_int {
    pe::status()
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemid_init_status() -> c_int {
    pe::status()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmemx_get_uniqueid(id: *mut UniqueId) -> Code {
    if let Some(code) = hooks::failure_asked_of("nvshmemx_get_uniqueid") {
        return code;
    }
    let Some(made) = rendezvous::create() else {
        return abi::INTERNAL;
    };
    // SAFETY: as above.
    unsafe { give(id, made) };
    abi::SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmemx_set_attr_uniqueid_args(
    rank: c_int,
    ranks: c_int,
    id: *const UniqueId,
    attr: *mut InitAttr,
) -> Code {
    // SAFETY: as above.
    unsafe { life::set_attr(rank, ranks, id, attr) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmemx_set_attr_mpi_comm_args(
    comm: *mut std::ffi::c_void,
    attr: *mut InitAttr,
) -> Code {
    // SAFETY: as above.
    unsafe { (*attr).mpi_comm = comm };
    abi::SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_my_pe() -> c_int {
    pe::found().map_or(0, |pe| number(pe.my_pe))
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_n_pes() -> c_int {
    pe::found().map_or(0, |pe| number(pe.n_pes))
}

/// A small number, as C wants it.
pub(crate) fn number(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmem_query_thread(provided: *mut c_int) {
    // SAFETY: as above.
    unsafe { give(provided, 2) };
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_global_exit(_status: c_int) {
    // The bootstrap with unique ids cannot, and the call comes back.
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmem_info_get_version(major: *mut c_int, minor: *mut c_int) {
    // SAFETY: as above.
    unsafe { give(major, 1) };
    // SAFETY: as above.
    unsafe { give(minor, 3) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmem_info_get_name(name: *mut c_char) {
    let (major, minor, patch) = crate::VERSION;
    let text = format!("NVSHMEM v{major}.{minor}.{patch}\0");
    // SAFETY: the caller has room for 256 bytes.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), name, text.len()) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmemx_vendor_get_version_info(
    major: *mut c_int,
    minor: *mut c_int,
    patch: *mut c_int,
) {
    let version = crate::VERSION;
    // SAFETY: as above.
    unsafe { give(major, version.0) };
    // SAFETY: as above.
    unsafe { give(minor, version.1) };
    // SAFETY: as above.
    unsafe { give(patch, version.2) };
}

/// What the library's own parts print with, with arguments that vary.
#[unsafe(no_mangle)]
extern "C" fn nvshmem_debug_log() {}
