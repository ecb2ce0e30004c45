//! Turns the address of a symbol into a function that can be called.

use std::ffi::c_void;
use std::ptr::NonNull;

/// The function at an address, if there is one.
///
/// # Safety
/// `F` is the type of a pointer to the function there.
pub unsafe fn function<F: Copy>(address: Option<NonNull<c_void>>) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) }
    let address = address?;
    // SAFETY: both are pointers of one size, as is checked above, and the caller vouches for the
    // type.
    Some(unsafe { std::mem::transmute_copy::<NonNull<c_void>, F>(&address) })
}
