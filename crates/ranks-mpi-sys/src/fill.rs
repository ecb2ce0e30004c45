//! Fills the slots of the table from an open library.

use std::ffi::{CString, c_void};
use std::ptr;

use ranks_load::Library;

use crate::Family;
use crate::abi::by_hand;
use crate::slot::Slot;

/// The library's function of that name, or null.
///
/// Open MPI 4.1 has the persistent collectives of MPI 4.0 under the prefix of its extensions, with
/// the same signatures.
fn resolve(name: &str, library: &Library) -> *const c_void {
    let find = |name: &str| library.symbol(&CString::new(name).ok()?);
    let extension = || {
        find(&format!("MPIX_{}", name.strip_prefix("MPI_")?)).filter(|_| name.ends_with("_init"))
    };
    find(name)
        .or_else(extension)
        .map_or(ptr::null(), |address| address.as_ptr().cast_const())
}

/// A function pointer of type `F` from an address.
///
/// # Safety
/// The address is that of a function of type `F`, which is a function pointer.
unsafe fn function_at<F: Copy>(address: *const c_void) -> F {
    const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
    // SAFETY: equal in size; that it is a function of this type is the contract.
    unsafe { std::mem::transmute_copy(&address) }
}

/// The library's own function, whatever the family.
///
/// # Safety
/// Under the lock of `load`; a library that has a function `name` has it with the type `F`.
pub(crate) unsafe fn fill_directly<F: Copy>(
    name: &str,
    library: &Library,
    address: &'static Slot<*const c_void>,
    table: &'static Slot<F>,
) {
    let found = resolve(name, library);
    // SAFETY: under the lock of `load`.
    unsafe { address.set(found) };
    if !found.is_null() {
        // SAFETY: the caller vouches for the type.
        let function = unsafe { function_at::<F>(found) };
        // SAFETY: under the lock of `load`.
        unsafe { table.set(function) };
    }
}

/// The library's own function if it speaks the standard ABI, else the shim of its family.
///
/// # Safety
/// Under the lock of `load`; a library of the standard ABI has `name` with the type `F`, and the
/// shims convert for the families that they are named after.
pub(crate) unsafe fn fill_shimmed<F: Copy>(
    name: &str,
    library: &Library,
    family: Family,
    address: &'static Slot<*const c_void>,
    table: &'static Slot<F>,
    mpich: F,
    openmpi: F,
) {
    if family == Family::Standard {
        // SAFETY: the same contract, for this family.
        return unsafe { fill_directly(name, library, address, table) };
    }
    let found = resolve(name, library);
    // SAFETY: under the lock of `load`.
    unsafe { address.set(found) };
    if !found.is_null() || by_hand::EMULATED.contains(&name) {
        // SAFETY: under the lock of `load`.
        unsafe {
            table.set(if family == Family::Mpich {
                mpich
            } else {
                openmpi
            })
        };
    }
}

/// The entry that converts nothing.
///
/// # Safety
/// Under the lock of `load`, after the function's own slot; where handles are words, the library's
/// function has the type `F`, and `narrow` is the shim for the family where they are not.
pub(crate) unsafe fn fill_native<F: Copy>(
    family: Family,
    address: &'static Slot<*const c_void>,
    table: &'static Slot<F>,
    narrow: F,
) {
    // SAFETY: under the lock of `load`.
    let found = *unsafe { address.get() };
    if found.is_null() {
        return;
    }
    let function = if family == Family::Mpich {
        narrow
    } else {
        // SAFETY: the caller vouches for the type.
        unsafe { function_at::<F>(found) }
    };
    // SAFETY: under the lock of `load`.
    unsafe { table.set(function) };
}

/// An emulation, where the library has no such function.
///
/// # Safety
/// Under the lock of `load`, after the function's own slot.
pub(crate) unsafe fn fill_if_absent<F: Copy>(
    address: &'static Slot<*const c_void>,
    table: &'static Slot<F>,
    emulation: F,
) {
    // SAFETY: under the lock of `load`.
    if unsafe { address.get() }.is_null() {
        // SAFETY: under the lock of `load`.
        unsafe { table.set(emulation) };
    }
}
