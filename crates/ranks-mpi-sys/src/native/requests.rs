//! Requests in the library's own form: one in a [`Cell`], or many side by side in memory of the
//! caller's.
//!
//! The functions that complete or start many take the address of the first request, and null for
//! `MPI_STATUSES_IGNORE` or the address of as many statuses, [`status_stride`] bytes apart.
//! Requests lie [`request_stride`] bytes apart; memory with an 8-byte word for each holds them,
//! whatever the library.

#![allow(non_snake_case, reason = "the names are the standard's")]

use std::ffi::{c_int, c_void};

use super::{Cell, Status, code_of_library, handle};
use crate::Family;
use crate::abi::Abi;
use crate::abi::handle::{HandleKind, NativeHandle, to_standard};
use crate::abi::mpich::Mpich;
use crate::abi::openmpi::OpenMpi;
use crate::function::absent_code;
use crate::generated::functions::request as slots;
use crate::slot::Slot;
use crate::types::*;

/// The distance between requests in an array, in bytes: 4 in the MPICH family, 8 elsewhere.
#[inline]
pub fn request_stride() -> usize {
    match crate::load::family() {
        Family::Mpich => size_of::<c_int>(),
        Family::OpenMpi | Family::Standard => size_of::<*mut c_void>(),
    }
}

/// The distance between statuses in an array, in bytes: no larger than a [`Status`].
#[inline]
pub fn status_stride() -> usize {
    match crate::load::family() {
        Family::Mpich => size_of::<<Mpich as Abi>::Status>(),
        Family::OpenMpi => size_of::<<OpenMpi as Abi>::Status>(),
        Family::Standard => size_of::<MPI_Status>(),
    }
}

/// `MPI_REQUEST_NULL` as the library has it, as a word.
///
/// # Safety
/// [`crate::load()`] has returned.
#[inline]
pub unsafe fn request_null() -> usize {
    // SAFETY: the tables are filled, by this function's contract.
    unsafe { handle(crate::MPI_REQUEST_NULL) }.word().addr()
}

impl Cell<MPI_Request> {
    /// A place that holds `request`.
    ///
    /// # Safety
    /// [`crate::load()`] has returned.
    pub unsafe fn holding(request: MPI_Request) -> Self {
        // SAFETY: the tables are filled, by this function's contract.
        let word = unsafe { handle(request) }.word();
        let mut cell = Self::new();
        let place = (&raw mut cell).cast::<c_void>();
        if crate::load::family() == Family::Mpich {
            // SAFETY: a cell has room for a handle of any width.
            unsafe { place.cast::<c_int>().write(c_int::from_word(word)) };
        } else {
            // SAFETY: as above.
            unsafe { place.cast::<*mut c_void>().write(word) };
        }
        cell
    }

    /// The request that a call has written, in the standard's terms.
    ///
    /// # Safety
    /// [`crate::load()`] has returned, and a call has written into the place.
    pub unsafe fn get(&self) -> MPI_Request {
        let place = (&raw const *self).cast::<c_void>();
        match crate::load::family() {
            Family::Mpich => {
                // SAFETY: a call of this family has written an int, by this function's contract.
                let int = unsafe { place.cast::<c_int>().read() };
                // SAFETY: the tables are filled, by this function's contract.
                unsafe { to_standard::<Mpich, MPI_Request>(int) }
            }
            Family::OpenMpi => {
                // SAFETY: a call of this family has written a pointer, by this function's contract.
                let native = unsafe { place.cast::<*mut c_void>().read() };
                // SAFETY: the tables are filled, by this function's contract.
                unsafe { to_standard::<OpenMpi, MPI_Request>(native) }
            }
            Family::Standard => {
                // SAFETY: as above; what the library writes is the standard's own form.
                MPI_Request::from_word(unsafe { place.cast::<*mut c_void>().read() })
            }
        }
    }
}

/// The argument for an array of statuses: `array`, or the library's own `MPI_STATUSES_IGNORE`.
#[inline(always)]
fn statuses(array: *mut c_void) -> *mut c_void {
    if array.is_null() && crate::load::family() == Family::Mpich {
        <Mpich as Abi>::STATUS_IGNORE
    } else {
        array
    }
}

/// The library's function, if it has one.
///
/// # Safety
/// [`crate::load()`] has returned, and `F` is an `Option` of a function pointer of that function's
/// type.
#[inline(always)]
unsafe fn library<F: Copy>(address: &'static Slot<*const c_void>) -> F {
    const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
    // SAFETY: `load` has returned.
    let address = unsafe { address.get() };
    // SAFETY: equal in size; null is `None`; the type is the caller's promise.
    unsafe { std::mem::transmute_copy(address) }
}

/// `MPI_Waitall` over requests side by side.
///
/// # Safety
/// The contract of the C function; [`crate::load()`] has returned.
#[inline(always)]
pub unsafe fn MPI_Waitall(count: c_int, requests: *mut c_void, array: *mut c_void) -> c_int {
    type Call = unsafe extern "C" fn(c_int, *mut c_void, *mut c_void) -> c_int;
    // SAFETY: the type of this function in every family, whose arrays are addresses.
    match unsafe { library::<Option<Call>>(&slots::MPI_Waitall::LIBRARY) } {
        // SAFETY: the caller meets the contract of the C function.
        Some(call) => code_of_library(unsafe { call(count, requests, statuses(array)) }),
        None => absent_code("MPI_Waitall"),
    }
}

/// `MPI_Testall` over requests side by side.
///
/// # Safety
/// The contract of the C function; [`crate::load()`] has returned.
#[inline(always)]
pub unsafe fn MPI_Testall(
    count: c_int,
    requests: *mut c_void,
    flag: *mut c_int,
    array: *mut c_void,
) -> c_int {
    type Call = unsafe extern "C" fn(c_int, *mut c_void, *mut c_int, *mut c_void) -> c_int;
    // SAFETY: the type of this function in every family, whose arrays are addresses.
    match unsafe { library::<Option<Call>>(&slots::MPI_Testall::LIBRARY) } {
        // SAFETY: the caller meets the contract of the C function.
        Some(call) => code_of_library(unsafe { call(count, requests, flag, statuses(array)) }),
        None => absent_code("MPI_Testall"),
    }
}

/// `MPI_Waitany` over requests side by side; `status` is not null.
///
/// # Safety
/// The contract of the C function; [`crate::load()`] has returned.
#[inline(always)]
pub unsafe fn MPI_Waitany(
    count: c_int,
    requests: *mut c_void,
    index: *mut c_int,
    status: *mut Status,
) -> c_int {
    type Call = unsafe extern "C" fn(c_int, *mut c_void, *mut c_int, *mut Status) -> c_int;
    // SAFETY: the type of this function in every family, whose arrays are addresses.
    match unsafe { library::<Option<Call>>(&slots::MPI_Waitany::LIBRARY) } {
        // SAFETY: the caller meets the contract of the C function.
        Some(call) => code_of_library(unsafe { call(count, requests, index, status) }),
        None => absent_code("MPI_Waitany"),
    }
}

/// `MPI_Testany` over requests side by side; `status` is not null.
///
/// # Safety
/// The contract of the C function; [`crate::load()`] has returned.
#[inline(always)]
pub unsafe fn MPI_Testany(
    count: c_int,
    requests: *mut c_void,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut Status,
) -> c_int {
    type Call =
        unsafe extern "C" fn(c_int, *mut c_void, *mut c_int, *mut c_int, *mut Status) -> c_int;
    // SAFETY: the type of this function in every family, whose arrays are addresses.
    match unsafe { library::<Option<Call>>(&slots::MPI_Testany::LIBRARY) } {
        // SAFETY: the caller meets the contract of the C function.
        Some(call) => code_of_library(unsafe { call(count, requests, index, flag, status) }),
        None => absent_code("MPI_Testany"),
    }
}

/// The type of `MPI_Waitsome` and `MPI_Testsome`, whose arrays are addresses in every family.
type SomeOf =
    unsafe extern "C" fn(c_int, *mut c_void, *mut c_int, *mut c_int, *mut c_void) -> c_int;

/// `MPI_Waitsome` over requests side by side.
///
/// # Safety
/// The contract of the C function; [`crate::load()`] has returned.
#[inline(always)]
pub unsafe fn MPI_Waitsome(
    count: c_int,
    requests: *mut c_void,
    completed: *mut c_int,
    indices: *mut c_int,
    array: *mut c_void,
) -> c_int {
    // SAFETY: the type of this function in every family.
    match unsafe { library::<Option<SomeOf>>(&slots::MPI_Waitsome::LIBRARY) } {
        Some(call) => {
            // SAFETY: the caller meets the contract of the C function.
            code_of_library(unsafe { call(count, requests, completed, indices, statuses(array)) })
        }
        None => absent_code("MPI_Waitsome"),
    }
}

/// `MPI_Testsome` over requests side by side.
///
/// # Safety
/// The contract of the C function; [`crate::load()`] has returned.
#[inline(always)]
pub unsafe fn MPI_Testsome(
    count: c_int,
    requests: *mut c_void,
    completed: *mut c_int,
    indices: *mut c_int,
    array: *mut c_void,
) -> c_int {
    // SAFETY: the type of this function in every family.
    match unsafe { library::<Option<SomeOf>>(&slots::MPI_Testsome::LIBRARY) } {
        Some(call) => {
            // SAFETY: the caller meets the contract of the C function.
            code_of_library(unsafe { call(count, requests, completed, indices, statuses(array)) })
        }
        None => absent_code("MPI_Testsome"),
    }
}

/// `MPI_Startall` over requests side by side.
///
/// # Safety
/// The contract of the C function; [`crate::load()`] has returned.
#[inline(always)]
pub unsafe fn MPI_Startall(count: c_int, requests: *mut c_void) -> c_int {
    type Call = unsafe extern "C" fn(c_int, *mut c_void) -> c_int;
    // SAFETY: the type of this function in every family, whose arrays are addresses.
    match unsafe { library::<Option<Call>>(&slots::MPI_Startall::LIBRARY) } {
        // SAFETY: the caller meets the contract of the C function.
        Some(call) => code_of_library(unsafe { call(count, requests) }),
        None => absent_code("MPI_Startall"),
    }
}
