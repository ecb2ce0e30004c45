//! Functions of the caller that the library calls.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use ranks_comm::Communicator;
use ranks_mpi_sys::*;

use crate::{Comm, class, ok, ring};

/// Associative and not commutative: the left one.
unsafe extern "C" fn left_one(
    left: *mut c_void,
    right: *mut c_void,
    length: *mut c_int,
    datatype: *mut MPI_Datatype,
) {
    // SAFETY: the library gives the address of a datatype (MPI 5.0 §6.9.5).
    assert_eq!(unsafe { *datatype }, MPI_INT64_T);
    // SAFETY: and that of a length.
    let length = unsafe { *length };
    for i in 0..usize::try_from(length).unwrap() {
        // SAFETY: and two arrays of `length` elements of that datatype.
        let (left, right) = unsafe { (left.cast::<i64>().add(i), right.cast::<i64>().add(i)) };
        // SAFETY: inside of the arrays, as above.
        unsafe { *right = *left };
    }
}

#[ranks_test::ranks(1, 2, 3, 4, mpi_only)]
fn an_operation_of_the_caller_sees_the_standards_datatype(world: Communicator) {
    let (rank, ..) = ring(&world);
    let comm = Comm::new();
    let mut op = MPI_OP_NULL;
    // SAFETY: a function of the type that the library calls, and a place for the operation.
    ok(unsafe { MPI_Op_create(Some(left_one), 0, &raw mut op) });
    let (mine, mut all) = ([i64::from(rank) + 1; 5], [0i64; 5]);
    // SAFETY: `comm` is live, and arrays have as many elements as the counts say.
    ok(unsafe {
        MPI_Allreduce(
            mine.as_ptr().cast(),
            all.as_mut_ptr().cast(),
            5,
            MPI_INT64_T,
            op,
            comm.0,
        )
    });
    assert_eq!(all, [1; 5]);
    let mut commutes = 1;
    // SAFETY: made above; a place for the answer.
    ok(unsafe { MPI_Op_commutative(op, &raw mut commutes) });
    assert_eq!(commutes, 0);
    // SAFETY: made above, and freed once.
    ok(unsafe { MPI_Op_free(&raw mut op) });
    assert_eq!(op, MPI_OP_NULL);
}

static SEEN: AtomicI32 = AtomicI32::new(0);

unsafe extern "C" fn note(comm: *mut MPI_Comm, code: *mut c_int) {
    // SAFETY: the library gives the address of a communicator (MPI 5.0 §9.3.1).
    assert_ne!(unsafe { *comm }, MPI_COMM_NULL);
    // SAFETY: and that of a code.
    SEEN.store(unsafe { *code }, Ordering::Relaxed);
}

/// The class that the handler of [`noting`] was called with last.
pub(crate) fn seen() -> c_int {
    class(SEEN.load(Ordering::Relaxed))
}

/// A communicator with a handler of ours for its errors.
pub(crate) fn noting() -> Comm {
    let comm = Comm::new();
    let function: unsafe extern "C" fn(*mut MPI_Comm, *mut c_int) = note;
    // SAFETY: the type is that of the function but for the arguments that follow in C, which it
    // does not look at.
    let function: MPI_Comm_errhandler_function = unsafe { std::mem::transmute(function) };
    let mut handler = MPI_ERRHANDLER_NULL;
    // SAFETY: a function of the type that the library calls, and a place for the handler.
    ok(unsafe { MPI_Comm_create_errhandler(Some(function), &raw mut handler) });
    // SAFETY: `comm` is live, and the handler was made just above.
    ok(unsafe { MPI_Comm_set_errhandler(comm.0, handler) });
    // SAFETY: made above, and freed once.
    ok(unsafe { MPI_Errhandler_free(&raw mut handler) });
    assert_eq!(handler, MPI_ERRHANDLER_NULL);
    comm
}

#[ranks_test::ranks(1, 2, mpi_only)]
fn an_error_handler_of_the_caller_is_called_with_the_code(world: Communicator) {
    let (_, size, ..) = ring(&world);
    let comm = noting();
    let data = [0u8];
    // What the call returns once a handler has dealt with the error is the library's affair.
    // SAFETY: one byte of `data`; that there is no such rank is what the library finds.
    unsafe { MPI_Send(data.as_ptr().cast(), 1, MPI_BYTE, size, 0, comm.0) };
    assert_eq!(seen(), MPI_ERR_RANK);
}

unsafe extern "C" fn copy(
    comm: MPI_Comm,
    keyval: c_int,
    state: *mut c_void,
    value: *mut c_void,
    copied: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    assert_ne!(comm, MPI_COMM_NULL);
    // SAFETY: the state that `MPI_Comm_create_keyval` was given below; nobody else uses it during
    // the call.
    let calls = unsafe { &mut *state.cast::<[c_int; 3]>() };
    assert_eq!(keyval, calls[2]);
    calls[0] += 1;
    // SAFETY: the library gives a place for the copy.
    unsafe { *copied.cast::<*mut c_void>() = value.wrapping_byte_add(1) };
    // SAFETY: and one for the flag.
    unsafe { *flag = 1 };
    MPI_SUCCESS
}

unsafe extern "C" fn delete(_: MPI_Comm, _: c_int, _: *mut c_void, state: *mut c_void) -> c_int {
    // SAFETY: the state that `MPI_Comm_create_keyval` was given below.
    unsafe { (*state.cast::<[c_int; 3]>())[1] += 1 };
    MPI_SUCCESS
}

#[ranks_test::ranks(1, 2, mpi_only)]
fn attributes_are_copied_and_deleted_by_the_callers_functions(world: Communicator) {
    let _ = world;
    let mut calls = [0; 3];
    let state = ptr::from_mut(&mut calls).cast();
    let mut keyval = MPI_KEYVAL_INVALID;
    // SAFETY: functions of the types that the library calls, with a state that outlives the
    // attributes.
    ok(unsafe { MPI_Comm_create_keyval(Some(copy), Some(delete), &raw mut keyval, state) });
    assert_ne!(keyval, MPI_KEYVAL_INVALID);
    assert!(![MPI_TAG_UB, MPI_HOST, MPI_IO].contains(&keyval));
    // SAFETY: `calls`, which lives on.
    unsafe { (*state.cast::<[c_int; 3]>())[2] = keyval };

    let first = Comm::new();
    let value = ptr::without_provenance_mut(40);
    // SAFETY: the communicator or window is live; a value is a word, and places are for one.
    ok(unsafe { MPI_Comm_set_attr(first.0, keyval, value) });
    let mut second = MPI_COMM_NULL;
    // SAFETY: the communicators are live; a place for the answer.
    ok(unsafe { MPI_Comm_dup(first.0, &raw mut second) });
    let (mut found, mut flag) = (ptr::null_mut::<c_void>(), 0);
    // SAFETY: the communicator or window is live; a value is a word, and places are for one.
    ok(unsafe { MPI_Comm_get_attr(second, keyval, (&raw mut found).cast(), &raw mut flag) });
    assert_eq!((found.addr(), flag), (41, 1));
    // SAFETY: made above, and freed once.
    ok(unsafe { MPI_Comm_free(&raw mut second) });
    // SAFETY: `first` is live and has this attribute.
    ok(unsafe { MPI_Comm_delete_attr(first.0, keyval) });
    // SAFETY: the communicator or window is live; a value is a word, and places are for one.
    ok(unsafe { MPI_Comm_get_attr(first.0, keyval, (&raw mut found).cast(), &raw mut flag) });
    assert_eq!(flag, 0);
    // SAFETY: made above, and freed once.
    ok(unsafe { MPI_Comm_free_keyval(&raw mut keyval) });
    assert_eq!(keyval, MPI_KEYVAL_INVALID);
    // SAFETY: `calls`, which lives on.
    let calls = unsafe { *state.cast::<[c_int; 3]>() };
    assert_eq!(calls[..2], [1, 2]);
}

unsafe extern "C" fn query(state: *mut c_void, status: *mut MPI_Status) -> c_int {
    // SAFETY: the state that `MPI_Grequest_start` was given below, and a status of the library's to
    // fill.
    unsafe {
        *state.cast::<c_int>() += 1;
        MPI_Status_set_elements(status, MPI_INT32_T, 6);
        MPI_Status_set_cancelled(status, 0);
        (*status).MPI_SOURCE = MPI_PROC_NULL;
        (*status).MPI_TAG = 77;
    }
    MPI_SUCCESS
}

unsafe extern "C" fn free(state: *mut c_void) -> c_int {
    // SAFETY: the state that `MPI_Grequest_start` was given below.
    unsafe { *state.cast::<c_int>() += 10 };
    MPI_SUCCESS
}

unsafe extern "C" fn cancel(_: *mut c_void, _: c_int) -> c_int {
    MPI_SUCCESS
}

#[ranks_test::ranks(1, mpi_only)]
fn a_generalised_request_fills_the_standards_status(world: Communicator) {
    let _ = world;
    let mut calls: c_int = 0;
    let state = ptr::from_mut(&mut calls).cast();
    let mut request = MPI_REQUEST_NULL;
    // SAFETY: functions of the types that the library calls, with a state that outlives the
    // request.
    ok(unsafe {
        MPI_Grequest_start(
            Some(query),
            Some(free),
            Some(cancel),
            state,
            &raw mut request,
        )
    });
    // SAFETY: started above.
    ok(unsafe { MPI_Grequest_complete(request) });
    let mut status = MPI_Status::EMPTY;
    // SAFETY: a live request, whose buffers live on, and a place for its status.
    ok(unsafe { MPI_Wait(&raw mut request, &raw mut status) });
    assert_eq!(request, MPI_REQUEST_NULL);
    assert_eq!((status.MPI_SOURCE, status.MPI_TAG), (MPI_PROC_NULL, 77));
    let mut count = 0;
    // SAFETY: a status that was written above; a place for the answer.
    ok(unsafe { MPI_Get_count(&raw const status, MPI_INT32_T, &raw mut count) });
    assert_eq!(count, 6);
    // SAFETY: `calls`, which lives on.
    assert_eq!(unsafe { *state.cast::<c_int>() }, 11);
}
