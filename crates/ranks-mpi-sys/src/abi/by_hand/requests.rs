//! Completion of several requests.
//!
//! Native requests and statuses are never larger than the standard's, so the arrays are packed in
//! place before the call and unpacked in place, from the end, after it: nothing is allocated.

use std::ffi::{c_int, c_void};

use super::{Handles, length, through};
use crate::abi::Abi;
use crate::abi::handle::{self, HandleKind};
use crate::abi::memory::OutStatus;
use crate::generated::functions::request as slots;
use crate::types::{MPI_Request, MPI_Status};

/// # Safety
/// `array` has `count` requests that may be written; the tables are filled.
unsafe fn pack<A: Abi>(array: *mut MPI_Request, count: usize) -> *mut A::Handle<MPI_Request> {
    let packed = array.cast::<A::Handle<MPI_Request>>();
    for i in 0..count {
        // SAFETY: inside the array, and not packed yet: a packed element is no larger.
        let request = unsafe { array.add(i).read() };
        // SAFETY: the tables are filled, by this function's contract.
        let native = unsafe { handle::to_native::<A, _>(request) };
        // SAFETY: inside the array, at or before the element just read.
        unsafe { packed.add(i).write(native) };
    }
    packed
}

/// # Safety
/// `array` has room for `count` handles, and begins with as many native ones, from [`pack`] or of
/// the library; the tables are filled. What the library has not written of those that it was to
/// write is unspecified before and after.
pub(super) unsafe fn unpack<A: Abi, H: HandleKind>(array: *mut H, count: usize) {
    let packed = array.cast::<A::Handle<H>>();
    for i in (0..count).rev() {
        // SAFETY: inside the array, and not overwritten yet: elements before `i` are packed still.
        let native = unsafe { packed.add(i).read() };
        // SAFETY: the tables are filled, by this function's contract.
        let standard = unsafe { handle::to_standard::<A, H>(native) };
        // SAFETY: inside the array, at or behind the element just read.
        unsafe { array.add(i).write(standard) };
    }
}

/// # Safety
/// `array` is `MPI_STATUSES_IGNORE` or has `count` statuses that may be read and written.
unsafe fn pack_statuses<A: Abi>(array: *mut MPI_Status, count: usize) -> *mut c_void {
    if array.is_null() {
        return A::STATUS_IGNORE;
    }
    let packed = array.cast::<A::Status>();
    for i in 0..count {
        // SAFETY: inside the array, and not packed yet.
        let error = unsafe { array.add(i).read() }.MPI_ERROR;
        let fresh = MPI_Status {
            MPI_ERROR: error,
            ..MPI_Status::EMPTY
        };
        // SAFETY: inside the array, at or before the element just read.
        unsafe { packed.add(i).write(A::status_in(&fresh)) };
    }
    packed.cast()
}

/// # Safety
/// As [`pack_statuses`], which has packed the same array.
unsafe fn unpack_statuses<A: Abi>(array: *mut MPI_Status, count: usize) {
    if array.is_null() {
        return;
    }
    let packed = array.cast::<A::Status>();
    for i in (0..count).rev() {
        // SAFETY: inside the array, and not overwritten yet.
        let native = unsafe { packed.add(i).read() };
        // SAFETY: inside the array, at or behind the element just read.
        unsafe { array.add(i).write(A::status_out(&native)) };
    }
}

/// Calls with an array of requests, packed before and unpacked after.
///
/// # Safety
/// As [`pack`].
unsafe fn with_requests<A: Abi>(
    requests: *mut MPI_Request,
    count: usize,
    call: impl FnOnce(Requests<A>) -> c_int,
) -> c_int {
    // SAFETY: by this function's contract.
    let packed = unsafe { pack::<A>(requests, count) };
    let code = call(packed);
    // SAFETY: packed above.
    unsafe { unpack::<A, _>(requests, count) };
    code
}

/// Calls with an array of statuses, packed before and unpacked after, whether the library has
/// written each of them or not.
///
/// # Safety
/// As [`pack_statuses`].
unsafe fn with_statuses<A: Abi>(
    statuses: *mut MPI_Status,
    count: usize,
    call: impl FnOnce(*mut c_void) -> c_int,
) -> c_int {
    // SAFETY: by this function's contract.
    let packed = unsafe { pack_statuses::<A>(statuses, count) };
    let code = call(packed);
    // SAFETY: packed above.
    unsafe { unpack_statuses::<A>(statuses, count) };
    code
}

type Requests<A> = *mut <A as Abi>::Handle<MPI_Request>;

pub(crate) unsafe extern "C" fn MPI_Waitall<A: Abi>(
    count: c_int,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
) -> c_int {
    type Call<A> = unsafe extern "C" fn(c_int, Requests<A>, *mut c_void) -> c_int;
    let n = length(count);
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Waitall::LIBRARY.function::<Call<A>>() };
    // SAFETY: the arrays are in the family's own form.
    let call = |requests, statuses| unsafe { call(count, requests, statuses) };
    // SAFETY: the caller of MPI gives `count` statuses, or IGNORE.
    let call =
        |requests| unsafe { with_statuses::<A>(statuses, n, |statuses| call(requests, statuses)) };
    // SAFETY: the caller of MPI gives `count` requests.
    unsafe { with_requests::<A>(requests, n, call) }
}

pub(crate) unsafe extern "C" fn MPI_Testall<A: Abi>(
    count: c_int,
    requests: *mut MPI_Request,
    flag: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    type Call<A> = unsafe extern "C" fn(c_int, Requests<A>, *mut c_int, *mut c_void) -> c_int;
    let n = length(count);
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Testall::LIBRARY.function::<Call<A>>() };
    // SAFETY: the arrays are in the family's own form.
    let call = |requests, statuses| unsafe { call(count, requests, flag, statuses) };
    // SAFETY: the caller of MPI gives `count` statuses, or IGNORE.
    let call =
        |requests| unsafe { with_statuses::<A>(statuses, n, |statuses| call(requests, statuses)) };
    // SAFETY: the caller of MPI gives `count` requests.
    unsafe { with_requests::<A>(requests, n, call) }
}

pub(crate) unsafe extern "C" fn MPI_Waitany<A: Abi>(
    count: c_int,
    requests: *mut MPI_Request,
    index: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    type Call<A> = unsafe extern "C" fn(c_int, Requests<A>, *mut c_int, *mut c_void) -> c_int;
    let n = length(count);
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Waitany::LIBRARY.function::<Call<A>>() };
    // SAFETY: the arguments are in the family's own form.
    let call = |requests, status| unsafe { call(count, requests, index, status) };
    // SAFETY: the caller of MPI gives a status, or IGNORE.
    let call =
        |requests| unsafe { through::<A, OutStatus>(status, |status| call(requests, status)) };
    // SAFETY: the caller of MPI gives `count` requests.
    unsafe { with_requests::<A>(requests, n, call) }
}

pub(crate) unsafe extern "C" fn MPI_Testany<A: Abi>(
    count: c_int,
    requests: *mut MPI_Request,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    type Call<A> =
        unsafe extern "C" fn(c_int, Requests<A>, *mut c_int, *mut c_int, *mut c_void) -> c_int;
    let n = length(count);
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Testany::LIBRARY.function::<Call<A>>() };
    // SAFETY: the arguments are in the family's own form.
    let call = |requests, status| unsafe { call(count, requests, index, flag, status) };
    // SAFETY: the caller of MPI gives a status, or IGNORE.
    let call =
        |requests| unsafe { through::<A, OutStatus>(status, |status| call(requests, status)) };
    // SAFETY: the caller of MPI gives `count` requests.
    unsafe { with_requests::<A>(requests, n, call) }
}

type Some_<A> =
    unsafe extern "C" fn(c_int, Requests<A>, *mut c_int, *mut c_int, *mut c_void) -> c_int;

/// The common part of `MPI_Waitsome` and `MPI_Testsome`.
///
/// # Safety
/// The contract of either; `call` is the library's own function.
unsafe fn some<A: Abi>(
    call: Some_<A>,
    count: c_int,
    requests: *mut MPI_Request,
    completed: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    let n = length(count);
    // SAFETY: the arrays are in the family's own form.
    let call = |requests, statuses| unsafe { call(count, requests, completed, indices, statuses) };
    // SAFETY: the caller of MPI gives `count` statuses, or IGNORE.
    let call =
        |requests| unsafe { with_statuses::<A>(statuses, n, |statuses| call(requests, statuses)) };
    // SAFETY: the caller of MPI gives `count` requests.
    unsafe { with_requests::<A>(requests, n, call) }
}

pub(crate) unsafe extern "C" fn MPI_Waitsome<A: Abi>(
    count: c_int,
    requests: *mut MPI_Request,
    completed: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Waitsome::LIBRARY.function::<Some_<A>>() };
    // SAFETY: the caller meets the contract of this function.
    unsafe { some::<A>(call, count, requests, completed, indices, statuses) }
}

pub(crate) unsafe extern "C" fn MPI_Testsome<A: Abi>(
    count: c_int,
    requests: *mut MPI_Request,
    completed: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Testsome::LIBRARY.function::<Some_<A>>() };
    // SAFETY: the caller meets the contract of this function.
    unsafe { some::<A>(call, count, requests, completed, indices, statuses) }
}

pub(crate) unsafe extern "C" fn MPI_Startall<A: Abi>(
    count: c_int,
    requests: *mut MPI_Request,
) -> c_int {
    type Call<A> = unsafe extern "C" fn(c_int, Requests<A>) -> c_int;
    let n = length(count);
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Startall::LIBRARY.function::<Call<A>>() };
    // SAFETY: the array is in the family's own form.
    let call = |requests| unsafe { call(count, requests) };
    // SAFETY: the caller of MPI gives `count` requests.
    unsafe { with_requests::<A>(requests, n, call) }
}

type ConstRequests<A> = *const <A as Abi>::Handle<MPI_Request>;

#[cfg(feature = "whole")]
pub(crate) unsafe extern "C" fn MPI_Request_get_status_all<A: Abi>(
    count: c_int,
    requests: *const MPI_Request,
    flag: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    type Call<A> = unsafe extern "C" fn(c_int, ConstRequests<A>, *mut c_int, *mut c_void) -> c_int;
    let n = length(count);
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Request_get_status_all::LIBRARY.function::<Call<A>>() };
    // SAFETY: the caller of MPI gives `count` requests.
    let handles = unsafe { Handles::<A, MPI_Request>::new(requests, n) };
    // SAFETY: the arrays are in the family's own form.
    let call = |statuses| unsafe { call(count, handles.as_ptr(), flag, statuses) };
    // SAFETY: the caller of MPI gives `count` statuses, or IGNORE.
    unsafe { with_statuses::<A>(statuses, n, call) }
}

#[cfg(feature = "whole")]
pub(crate) unsafe extern "C" fn MPI_Request_get_status_any<A: Abi>(
    count: c_int,
    requests: *const MPI_Request,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    type Call<A> =
        unsafe extern "C" fn(c_int, ConstRequests<A>, *mut c_int, *mut c_int, *mut c_void) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Request_get_status_any::LIBRARY.function::<Call<A>>() };
    // SAFETY: the caller of MPI gives `count` requests.
    let handles = unsafe { Handles::<A, MPI_Request>::new(requests, length(count)) };
    // SAFETY: the arguments are in the family's own form.
    let call = |status| unsafe { call(count, handles.as_ptr(), index, flag, status) };
    // SAFETY: the caller of MPI gives a status, or IGNORE.
    unsafe { through::<A, OutStatus>(status, call) }
}

#[cfg(feature = "whole")]
pub(crate) unsafe extern "C" fn MPI_Request_get_status_some<A: Abi>(
    count: c_int,
    requests: *const MPI_Request,
    completed: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    type Call<A> =
        unsafe extern "C" fn(c_int, ConstRequests<A>, *mut c_int, *mut c_int, *mut c_void) -> c_int;
    let n = length(count);
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Request_get_status_some::LIBRARY.function::<Call<A>>() };
    // SAFETY: the caller of MPI gives `count` requests.
    let handles = unsafe { Handles::<A, MPI_Request>::new(requests, n) };
    // SAFETY: the arrays are in the family's own form.
    let call = |statuses| unsafe { call(count, handles.as_ptr(), completed, indices, statuses) };
    // SAFETY: the caller of MPI gives `count` statuses, or IGNORE.
    unsafe { with_statuses::<A>(statuses, n, call) }
}
