//! Symmetric memory.

use std::ffi::{c_int, c_void};

use crate::double::abi::{self, Code, Team};
use crate::double::fatal;
use crate::double::heap::ALIGNMENT;
use crate::double::hooks::TAKES_MEMORY;
use crate::double::{memory, pe};

#[unsafe(no_mangle)]
extern "C" fn nvshmem_malloc(bytes: usize) -> *mut c_void {
    memory::allocate("nvshmem_malloc", bytes, ALIGNMENT, false).cast()
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_calloc(count: usize, size: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else {
        fatal::exit("nvshmem_calloc: more bytes than there are addresses");
    };
    memory::allocate("nvshmem_calloc", bytes, ALIGNMENT, true).cast()
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_align(alignment: usize, bytes: usize) -> *mut c_void {
    memory::allocate("nvshmem_align", bytes, alignment, false).cast()
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_free(address: usize) {
    memory::free(&pe::live("nvshmem_free"), address);
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_ptr(address: usize, target: c_int) -> *mut c_void {
    memory::pointer(address, target).cast()
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_mc_ptr(_team: Team, _address: usize) -> *mut c_void {
    std::ptr::null_mut()
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_buffer_register(address: usize, bytes: usize) -> Code {
    memory::register(address, bytes)
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_buffer_unregister(address: usize) -> Code {
    memory::unregister(address)
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_buffer_unregister_all() {
    memory::unregister_all();
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_buffer_register_symmetric(
    address: usize,
    bytes: usize,
    _flags: c_int,
) -> *mut c_void {
    // No memory that a heap could take over can be made with the driver's double.
    pe::live("nvshmemx_buffer_register_symmetric");
    if TAKES_MEMORY.get() && memory::register(address, bytes) == abi::SUCCESS {
        return std::ptr::without_provenance_mut(address);
    }
    std::ptr::null_mut()
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_buffer_unregister_symmetric(address: usize, _bytes: usize) -> Code {
    pe::live("nvshmemx_buffer_unregister_symmetric");
    memory::unregister(address)
}
