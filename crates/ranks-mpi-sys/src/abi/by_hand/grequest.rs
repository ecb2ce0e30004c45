//! Generalised requests: the query callback gets a status in the library's own layout.

use std::ffi::{c_int, c_void};

use super::through;
use crate::abi::Abi;
use crate::abi::kinds::OutRequest;
use crate::generated::functions::request as slots;
use crate::generated::types::{
    MPI_Grequest_cancel_function, MPI_Grequest_free_function, MPI_Grequest_query_function,
};
use crate::types::MPI_Request;

/// The caller's functions and state; freed by the free callback, which is the last to be called.
struct Callbacks {
    query: Option<MPI_Grequest_query_function>,
    free: Option<MPI_Grequest_free_function>,
    cancel: Option<MPI_Grequest_cancel_function>,
    state: *mut c_void,
}

unsafe extern "C" fn query<A: Abi>(state: *mut c_void, status: *mut A::Status) -> c_int {
    // SAFETY: the library passes back the callbacks that it was given, until `free`.
    let callbacks = unsafe { &*state.cast::<Callbacks>() };
    let Some(query) = callbacks.query else {
        return crate::MPI_SUCCESS;
    };
    // SAFETY: the library passes a status.
    let mut standard = A::status_out(&unsafe { status.read() });
    // SAFETY: the caller of MPI gave this function for this state.
    let code = unsafe { query(callbacks.state, &raw mut standard) };
    // SAFETY: the library passes a status to be written.
    unsafe { status.write(A::status_in(&standard)) };
    super::code::<A>(code)
}

unsafe extern "C" fn free<A: Abi>(state: *mut c_void) -> c_int {
    // SAFETY: made by `MPI_Grequest_start`; the library calls this once, and nothing after it.
    let callbacks = unsafe { Box::from_raw(state.cast::<Callbacks>()) };
    let Some(free) = callbacks.free else {
        return crate::MPI_SUCCESS;
    };
    // SAFETY: the caller of MPI gave this function for this state.
    let code = unsafe { free(callbacks.state) };
    super::code::<A>(code)
}

unsafe extern "C" fn cancel<A: Abi>(state: *mut c_void, complete: c_int) -> c_int {
    // SAFETY: the library passes back the callbacks that it was given, until `free`.
    let callbacks = unsafe { &*state.cast::<Callbacks>() };
    let Some(cancel) = callbacks.cancel else {
        return crate::MPI_SUCCESS;
    };
    // SAFETY: the caller of MPI gave this function for this state.
    let code = unsafe { cancel(callbacks.state, complete) };
    super::code::<A>(code)
}

pub(crate) unsafe extern "C" fn MPI_Grequest_start<A: Abi>(
    query_fn: Option<MPI_Grequest_query_function>,
    free_fn: Option<MPI_Grequest_free_function>,
    cancel_fn: Option<MPI_Grequest_cancel_function>,
    state: *mut c_void,
    request: *mut MPI_Request,
) -> c_int {
    type Start<A> = unsafe extern "C" fn(
        unsafe extern "C" fn(*mut c_void, *mut <A as Abi>::Status) -> c_int,
        unsafe extern "C" fn(*mut c_void) -> c_int,
        unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
        *mut c_void,
        *mut <A as Abi>::Handle<MPI_Request>,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Grequest_start::LIBRARY.function::<Start<A>>() };
    let callbacks = Callbacks {
        query: query_fn,
        free: free_fn,
        cancel: cancel_fn,
        state,
    };
    let callbacks = Box::into_raw(Box::new(callbacks)).cast();
    // SAFETY: the arguments are in the family's own form.
    let call = |request| unsafe { call(query::<A>, free::<A>, cancel::<A>, callbacks, request) };
    // SAFETY: the caller of MPI gives a place for the request.
    unsafe { through::<A, OutRequest>(request, call) }
}
