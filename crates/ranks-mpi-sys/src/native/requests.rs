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
use crate::abi::handle::NativeHandle;
use crate::abi::mpich::Mpich;
use crate::abi::openmpi::OpenMpi;
use crate::function::absent_code;
use crate::generated::functions::request as slots;
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
        // SAFETY: by this function's contract.
        unsafe { self.standard() }
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

/// One function over requests side by side. In every family its arrays are addresses, of which that
/// of statuses may be null.
macro_rules! side_by_side {
    ($name:ident($($arg:ident: $type:ty),*) $(with $statuses:ident)? $(, $doc:literal)?) => {
        #[doc = concat!("`", stringify!($name), "` over requests side by side" $(, $doc)?, ".")]
        ///
        /// # Safety
        /// The contract of the C function; [`crate::load()`] has returned.
        #[inline(always)]
        pub unsafe fn $name($($arg: $type),*) -> c_int {
            type Call = unsafe extern "C" fn($($type),*) -> c_int;
            $(let $statuses = statuses($statuses);)?
            // SAFETY: `load` has returned; the type of this function in every family.
            match unsafe { slots::$name::LIBRARY.function::<Option<Call>>() } {
                // SAFETY: the caller meets the contract of the C function.
                Some(call) => code_of_library(unsafe { call($($arg),*) }),
                None => const { absent_code(stringify!($name)) },
            }
        }
    };
}

side_by_side!(MPI_Waitall(count: c_int, requests: *mut c_void, array: *mut c_void) with array);
side_by_side!(MPI_Testall(count: c_int, requests: *mut c_void, flag: *mut c_int, array: *mut c_void) with array);
side_by_side!(MPI_Waitany(count: c_int, requests: *mut c_void, index: *mut c_int, status: *mut Status), "; `status` is not null");
side_by_side!(MPI_Testany(count: c_int, requests: *mut c_void, index: *mut c_int, flag: *mut c_int, status: *mut Status), "; `status` is not null");
side_by_side!(MPI_Waitsome(count: c_int, requests: *mut c_void, completed: *mut c_int, indices: *mut c_int, array: *mut c_void) with array);
side_by_side!(MPI_Testsome(count: c_int, requests: *mut c_void, completed: *mut c_int, indices: *mut c_int, array: *mut c_void) with array);
side_by_side!(MPI_Startall(count: c_int, requests: *mut c_void));
