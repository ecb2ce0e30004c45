//! Attributes of communicators, windows and datatypes.
//!
//! A predefined attribute is a pointer to its value (MPI 5.0 §7.7), into the library. Where the
//! value means something else in each family the caller gets a pointer to ours: the library's is
//! not ours to change.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::abi::Abi;
use crate::abi::column::{self, Enumeration};
use crate::abi::handle::{self, HandleKind};
use crate::abi::kinds::Conversion;
use crate::abi::numbers::{CommAttributes, Keyvals, Ranks, TypeAttributes, WinAttributes};
use crate::generated::columns::{self, Value};
use crate::generated::functions::attr as slots;
use crate::slot::Slot;
use crate::types::{MPI_Comm, MPI_Datatype, MPI_Win};

struct Flavors;

impl Enumeration for Flavors {
    const VALUES: &'static [Value] = columns::WIN_FLAVOR;
}

struct Models;

impl Enumeration for Models {
    const VALUES: &'static [Value] = columns::WIN_MODEL;
}

/// Asks the library, with its own keyval and handle.
///
/// # Safety
/// The contract of the attribute functions of MPI; the slot is that of one for handles of kind `H`.
unsafe fn get<A: Abi, H: HandleKind, K: Conversion>(
    slot: &'static Slot<*const c_void>,
    object: H,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    type Call<A, H> =
        unsafe extern "C" fn(<A as Abi>::Handle<H>, c_int, *mut c_void, *mut c_int) -> c_int;
    // SAFETY: the type of these functions in the family's header.
    let call = unsafe { slot.function::<Call<A, H>>() };
    // SAFETY: the tables are filled: the caller has seen `load` return.
    let object = unsafe { handle::to_native::<A, H>(object) };
    // SAFETY: the arguments are in the family's own form.
    unsafe { call(object, K::to_native::<A>(keyval), value, flag) }
}

/// Replaces the pointer to the library's value by one to ours.
///
/// # Safety
/// The library has answered with success: `flag` is written, and if it is not 0, `value` holds a
/// pointer to an int of the library.
unsafe fn replace(
    value: *mut c_void,
    flag: *const c_int,
    ours: impl FnOnce(c_int) -> *const c_int,
) {
    // SAFETY: by this function's contract.
    if unsafe { flag.read() } == 0 {
        return;
    }
    let place = value.cast::<*const c_int>();
    // SAFETY: by this function's contract.
    let theirs = unsafe { place.read() };
    // SAFETY: by this function's contract.
    let native = unsafe { theirs.read() };
    // SAFETY: by this function's contract.
    unsafe { place.write(ours(native)) };
}

/// The standard's value of an enumeration, as a pointer that lives for ever.
fn constant<A: Abi, E: Enumeration>(native: c_int) -> *const c_int {
    let standard = column::to_standard::<A, E>(native);
    let value = E::VALUES.iter().find(|value| value.canonical == standard);
    value.map_or(std::ptr::null(), |value| &raw const value.canonical)
}

/// Asks for an attribute of a communicator.
///
/// # Safety
/// The contract of `MPI_Comm_get_attr`; the slot is that of such a function.
unsafe fn comm_attribute<A: Abi>(
    slot: &'static Slot<*const c_void>,
    comm: MPI_Comm,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    static HOST: AtomicI32 = AtomicI32::new(0);
    static IO: AtomicI32 = AtomicI32::new(0);
    // SAFETY: by this function's contract.
    let code =
        unsafe { get::<A, MPI_Comm, Keyvals<CommAttributes>>(slot, comm, keyval, value, flag) };
    let ours = match keyval {
        crate::MPI_HOST => &HOST,
        crate::MPI_IO => &IO,
        _ => return code,
    };
    if code == crate::MPI_SUCCESS {
        // SAFETY: the library has answered, and these attributes are ranks.
        unsafe {
            replace(value, flag, |rank| {
                ours.store(Ranks::to_standard::<A>(rank), Ordering::Relaxed);
                ours.as_ptr()
            });
        };
    }
    code
}

pub(crate) unsafe extern "C" fn MPI_Comm_get_attr<A: Abi>(
    comm: MPI_Comm,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let slot = &slots::MPI_Comm_get_attr::LIBRARY;
    // SAFETY: the caller meets the contract of this function, whose slot it is.
    unsafe { comm_attribute::<A>(slot, comm, keyval, value, flag) }
}

#[cfg(feature = "whole")]
pub(crate) unsafe extern "C" fn MPI_Attr_get<A: Abi>(
    comm: MPI_Comm,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let slot = &slots::MPI_Attr_get::LIBRARY;
    // SAFETY: the caller meets the contract of this function, whose slot it is.
    unsafe { comm_attribute::<A>(slot, comm, keyval, value, flag) }
}

#[cfg(feature = "whole")]
pub(crate) unsafe extern "C" fn MPI_Type_get_attr<A: Abi>(
    datatype: MPI_Datatype,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let slot = &slots::MPI_Type_get_attr::LIBRARY;
    // SAFETY: the slot is that of a datatype's attributes; the rest is the caller's contract.
    unsafe { get::<A, MPI_Datatype, Keyvals<TypeAttributes>>(slot, datatype, keyval, value, flag) }
}

#[cfg(feature = "whole")]
pub(crate) unsafe extern "C" fn MPI_Win_get_attr<A: Abi>(
    win: MPI_Win,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let slot = &slots::MPI_Win_get_attr::LIBRARY;
    // SAFETY: the slot is that of a window's attributes; the rest is the caller's contract.
    let code = unsafe { get::<A, MPI_Win, Keyvals<WinAttributes>>(slot, win, keyval, value, flag) };
    let ours = match keyval {
        crate::MPI_WIN_CREATE_FLAVOR => constant::<A, Flavors>,
        crate::MPI_WIN_MODEL => constant::<A, Models>,
        _ => return code,
    };
    if code == crate::MPI_SUCCESS {
        // SAFETY: the library has answered, and these attributes are ints.
        unsafe { replace(value, flag, ours) };
    }
    code
}
