//! Error classes where codes stand: in arguments, in what is returned, in what functions of the
//! caller give and get.

use std::ffi::{c_int, c_void};
use std::ptr;

use ranks_comm::Communicator;
use ranks_mpi_sys::*;

use crate::callbacks::{noting, seen};
use crate::{class, ok};

/// Classes that every library has, and a word of what each says of them.
const CLASSES: [(c_int, &str); 10] = [
    (MPI_ERR_COUNT, "count"),
    (MPI_ERR_REQUEST, "request"),
    (MPI_ERR_ROOT, "root"),
    (MPI_ERR_GROUP, "group"),
    (MPI_ERR_TOPOLOGY, "topology"),
    (MPI_ERR_DIMS, "dimension"),
    (MPI_ERR_TRUNCATE, "truncate"),
    (MPI_ERR_NO_SUCH_FILE, "file"),
    (MPI_ERR_SPAWN, "spawn"),
    (MPI_ERR_WIN, "win"),
];

fn text(code: c_int) -> String {
    let mut text = [0u8; 8192];
    let mut length = 0;
    // SAFETY: more room than any library asks for, and a place for the length.
    ok(unsafe { MPI_Error_string(code, text.as_mut_ptr().cast(), &raw mut length) });
    let text = &text[..usize::try_from(length).unwrap()];
    String::from_utf8_lossy(text).to_ascii_lowercase()
}

#[ranks_test::ranks(1, 2, mpi_only)]
fn the_text_of_a_class_is_its_own(world: Communicator) {
    let _ = world;
    for (class, word) in CLASSES {
        let text = text(class);
        assert!(text.contains(word), "class {class} is {word}: {text}");
    }
}

#[ranks_test::ranks(1, 2, mpi_only)]
fn the_class_of_a_class_is_the_class_itself(world: Communicator) {
    let _ = world;
    for given in MPI_ERR_BUFFER..=MPI_ERR_RMA_FLAVOR {
        assert_eq!(class(given), given);
    }
    assert_eq!(class(MPI_SUCCESS), MPI_SUCCESS);
    // Where a library is older than such a class it does not say that it is another one.
    for given in MPI_ERR_PROC_ABORTED..=MPI_ERR_ABI {
        let found = class(given);
        let honest = [given, MPI_ERR_OTHER, MPI_ERR_UNKNOWN];
        assert!(honest.contains(&found), "{given}: {found}");
    }
}

#[ranks_test::ranks(1, 2, mpi_only)]
fn an_error_handler_that_is_called_with_a_class_gets_that_class(world: Communicator) {
    let _ = world;
    let comm = noting();
    for (given, _) in CLASSES {
        // SAFETY: `comm` is live.
        ok(unsafe { MPI_Comm_call_errhandler(comm.0, given) });
        assert_eq!(seen(), given);
    }
}

unsafe extern "C" fn refuse(_: *mut c_void, status: *mut MPI_Status) -> c_int {
    // SAFETY: a status of the library's to fill.
    ok(unsafe { MPI_Status_set_elements(status, MPI_BYTE, 0) });
    // SAFETY: as above.
    ok(unsafe { MPI_Status_set_cancelled(status, 0) });
    MPI_ERR_SPAWN
}

unsafe extern "C" fn release(_: *mut c_void) -> c_int {
    MPI_SUCCESS
}

unsafe extern "C" fn cancel(_: *mut c_void, _: c_int) -> c_int {
    MPI_SUCCESS
}

/// `MPI_Wait` returns what the query of a generalised request does (MPI 5.0 §13.2).
#[ranks_test::ranks(1, 2, mpi_only)]
fn the_class_that_a_function_of_the_caller_returns_is_that_of_the_call(world: Communicator) {
    let _ = world;
    // SAFETY: the world is there.
    ok(unsafe { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) });
    let mut request = MPI_REQUEST_NULL;
    // SAFETY: functions of the types that the library calls, which look at no state.
    ok(unsafe {
        MPI_Grequest_start(
            Some(refuse),
            Some(release),
            Some(cancel),
            ptr::null_mut(),
            &raw mut request,
        )
    });
    // SAFETY: started above.
    ok(unsafe { MPI_Grequest_complete(request) });
    let mut status = MPI_Status::EMPTY;
    // SAFETY: a live request, and a place for its status.
    let code = unsafe { MPI_Wait(&raw mut request, &raw mut status) };
    assert_eq!(class(code), MPI_ERR_SPAWN);
}

/// Which is a class or has one.
#[ranks_test::ranks(1, 2, mpi_only)]
fn the_tool_interface_returns_its_own_classes(world: Communicator) {
    let _ = world;
    let (mut name, mut about) = (0, 0);
    // SAFETY: texts of length zero, and null for all that is not wanted.
    let code = unsafe {
        MPI_T_category_get_info(
            1_000_000,
            ptr::null_mut(),
            &raw mut name,
            ptr::null_mut(),
            &raw mut about,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    assert!(
        [MPI_T_ERR_INVALID_INDEX, MPI_T_ERR_NOT_INITIALIZED].contains(&class(code)),
        "{code}"
    );
}
