//! Handles, ranks, tags, enumerations, error classes.

use std::ptr;

use ranks_comm::Communicator;
use ranks_mpi_sys::*;

use crate::{Comm, class, ok, ring};

#[ranks_test::ranks(1, 2, 3, 4, mpi_only)]
fn what_a_user_made_comes_back_as_it_was_and_what_is_predefined_as_its_constant(
    world: Communicator,
) {
    let (_, size, ..) = ring(&world);
    let comm = Comm::new();
    let mut result = 0;
    // SAFETY: the communicators are live; a place for the answer.
    ok(unsafe { MPI_Comm_compare(MPI_COMM_WORLD, comm.0, &raw mut result) });
    assert_eq!(result, MPI_CONGRUENT);
    // SAFETY: the communicators are live; a place for the answer.
    ok(unsafe { MPI_Comm_compare(comm.0, comm.0, &raw mut result) });
    assert_eq!(result, MPI_IDENT);
    assert_ne!(comm.0, MPI_COMM_WORLD);
    // SAFETY: handles that there are.
    assert_eq!(unsafe { MPI_Comm_fromint(MPI_Comm_toint(comm.0)) }, comm.0);
    // SAFETY: as above.
    assert_eq!(unsafe { MPI_Comm_toint(MPI_COMM_WORLD) }, 0x101);
    // SAFETY: handles that there are.
    assert_eq!(unsafe { MPI_Type_fromint(0x214) }, MPI_DOUBLE);

    let mut group = MPI_GROUP_NULL;
    // SAFETY: the communicators are live; a place for the answer.
    ok(unsafe { MPI_Comm_group(comm.0, &raw mut group) });
    let mut empty = group;
    // SAFETY: groups of the library; arrays are as long as the counts say, and there is a place for
    // the answer.
    ok(unsafe { MPI_Group_incl(group, 0, ptr::null(), &raw mut empty) });
    assert_eq!(empty, MPI_GROUP_EMPTY);
    let mut members = 0;
    // SAFETY: groups of the library; arrays are as long as the counts say, and there is a place for
    // the answer.
    ok(unsafe { MPI_Group_size(group, &raw mut members) });
    assert_eq!(members, size);
    let (ranks, mut translated) = ([0, MPI_PROC_NULL], [7, 7]);
    // SAFETY: groups of the library; arrays are as long as the counts say, and there is a place for
    // the answer.
    ok(unsafe {
        MPI_Group_translate_ranks(group, 2, ranks.as_ptr(), group, translated.as_mut_ptr())
    });
    assert_eq!(translated, [0, MPI_PROC_NULL]);
    // SAFETY: groups of the library; arrays are as long as the counts say, and there is a place for
    // the answer.
    ok(unsafe {
        MPI_Group_translate_ranks(
            group,
            1,
            ranks.as_ptr(),
            MPI_GROUP_EMPTY,
            translated.as_mut_ptr(),
        )
    });
    assert_eq!(translated[0], MPI_UNDEFINED);
    // SAFETY: made above, and freed once.
    ok(unsafe { MPI_Group_free(&raw mut group) });
    assert_eq!(group, MPI_GROUP_NULL);
}

#[ranks_test::ranks(1, 2, 3, 4, mpi_only)]
fn those_left_out_of_a_split_get_the_null_communicator(world: Communicator) {
    let (rank, ..) = ring(&world);
    let mut half = MPI_COMM_WORLD;
    let color = if rank == 0 { MPI_UNDEFINED } else { 1 };
    // SAFETY: the communicators are live; a place for the answer.
    ok(unsafe { MPI_Comm_split(MPI_COMM_WORLD, color, 0, &raw mut half) });
    assert_eq!(half == MPI_COMM_NULL, rank == 0);
    if half != MPI_COMM_NULL {
        // SAFETY: made above, and freed once.
        ok(unsafe { MPI_Comm_free(&raw mut half) });
        assert_eq!(half, MPI_COMM_NULL);
    }
    let mut node = MPI_COMM_NULL;
    // SAFETY: the communicators are live; a place for the answer.
    ok(unsafe {
        MPI_Comm_split_type(
            MPI_COMM_WORLD,
            MPI_COMM_TYPE_SHARED,
            0,
            MPI_INFO_NULL,
            &raw mut node,
        )
    });
    assert_ne!(node, MPI_COMM_NULL);
    // SAFETY: made above, and freed once.
    ok(unsafe { MPI_Comm_free(&raw mut node) });
}

#[ranks_test::ranks(1, 2, 3, 4, mpi_only)]
fn statuses_have_the_standards_ranks_and_tags(world: Communicator) {
    let (rank, _, next, previous) = ring(&world);
    let comm = Comm::new();
    let (send, mut receive) = ([rank; 3], [-1; 8]);
    let mut status = MPI_Status::EMPTY;
    // SAFETY: `comm` is live, and arrays have as many elements as the counts say.
    ok(unsafe {
        MPI_Sendrecv(
            send.as_ptr().cast(),
            3,
            MPI_INT32_T,
            next,
            7,
            receive.as_mut_ptr().cast(),
            8,
            MPI_INT32_T,
            MPI_ANY_SOURCE,
            MPI_ANY_TAG,
            comm.0,
            &raw mut status,
        )
    });
    assert_eq!(
        (status.MPI_SOURCE, status.MPI_TAG, receive[2]),
        (previous, 7, previous)
    );
    let (mut count, mut cancelled) = (0, 1);
    // SAFETY: a status that was written above; a place for the answer.
    ok(unsafe { MPI_Get_count(&raw const status, MPI_INT32_T, &raw mut count) });
    assert_eq!(count, 3);
    // SAFETY: a status that was written above; a place for the answer.
    ok(unsafe { MPI_Test_cancelled(&raw const status, &raw mut cancelled) });
    assert_eq!(cancelled, 0);
    let receive = receive.as_mut_ptr().cast();
    // SAFETY: `comm` is live, and arrays have as many elements as the counts say.
    ok(unsafe {
        MPI_Recv(
            receive,
            8,
            MPI_INT32_T,
            MPI_PROC_NULL,
            MPI_ANY_TAG,
            comm.0,
            &raw mut status,
        )
    });
    assert_eq!(
        (status.MPI_SOURCE, status.MPI_TAG),
        (MPI_PROC_NULL, MPI_ANY_TAG)
    );
    // SAFETY: `comm` is live, and arrays have as many elements as the counts say.
    ok(unsafe {
        MPI_Recv(
            receive,
            8,
            MPI_INT32_T,
            MPI_PROC_NULL,
            0,
            comm.0,
            MPI_STATUS_IGNORE,
        )
    });
    let mut flag = 1;
    // SAFETY: `comm` is live, and arrays have as many elements as the counts say.
    ok(unsafe {
        MPI_Iprobe(
            MPI_ANY_SOURCE,
            MPI_ANY_TAG,
            comm.0,
            &raw mut flag,
            &raw mut status,
        )
    });
    assert_eq!(flag, 0);
}

#[ranks_test::ranks(1, 2, 4, mpi_only)]
fn a_status_of_native_is_decoded_into_the_standards_terms(world: Communicator) {
    let (rank, _, next, previous) = ring(&world);
    let comm = Comm::new();
    let (send, mut receive) = ([rank; 3], [-1; 8]);
    let mut status = native::Status::new();
    // SAFETY: `comm` is live, and the arrays have as many elements as the counts say.
    unsafe {
        let int = native::datatype(MPI_INT32_T);
        let (any_source, any_tag) = (native::any_source(), native::any_tag());
        let (from, to, comm) = (
            send.as_ptr().cast(),
            receive.as_mut_ptr().cast(),
            native::comm(comm.0),
        );
        ok(native::MPI_Sendrecv(
            from,
            3,
            int,
            next,
            9,
            to,
            8,
            int,
            any_source,
            any_tag,
            comm,
            &raw mut status,
        ));
        assert_eq!(
            (status.source(), status.tag(), status.bytes()),
            (previous, 9, Some(12))
        );
        ok(native::MPI_Recv(
            to,
            8,
            int,
            native::proc_null(),
            any_tag,
            comm,
            &raw mut status,
        ));
        assert_eq!(
            (status.source(), status.tag()),
            (MPI_PROC_NULL, MPI_ANY_TAG)
        );
        ok(native::MPI_Recv(
            to,
            8,
            int,
            native::proc_null(),
            any_tag,
            comm,
            native::status_ignore(),
        ));
    }
}

#[ranks_test::ranks(1, 2, 4, mpi_only)]
fn in_place_is_understood(world: Communicator) {
    let (_, size, ..) = ring(&world);
    let comm = Comm::new();
    let mut sum = [1.5];
    // SAFETY: `comm` is live, and arrays have as many elements as the counts say.
    ok(unsafe {
        MPI_Allreduce(
            MPI_IN_PLACE,
            sum.as_mut_ptr().cast(),
            1,
            MPI_DOUBLE,
            MPI_SUM,
            comm.0,
        )
    });
    assert_eq!(sum, [1.5 * f64::from(size)]);
}

#[ranks_test::ranks(1, 2, mpi_only)]
fn codes_become_the_standards_classes(world: Communicator) {
    let (_, size, ..) = ring(&world);
    let comm = Comm::new();
    // SAFETY: `comm` is live, and so is the handler, or there is a place for it.
    ok(unsafe { MPI_Comm_set_errhandler(comm.0, MPI_ERRORS_RETURN) });
    let mut handler = MPI_ERRHANDLER_NULL;
    // SAFETY: `comm` is live, and so is the handler, or there is a place for it.
    ok(unsafe { MPI_Comm_get_errhandler(comm.0, &raw mut handler) });
    assert_eq!(handler, MPI_ERRORS_RETURN);
    let data = [0u8];
    // SAFETY: `comm` is live, and `data` has the one element that is sent; what else is passed
    // below is refused.
    let send = |datatype, dest, tag, count| unsafe {
        class(MPI_Send(
            data.as_ptr().cast(),
            count,
            datatype,
            dest,
            tag,
            comm.0,
        ))
    };
    assert_eq!(send(MPI_BYTE, size, 0, 1), MPI_ERR_RANK);
    assert_eq!(send(MPI_BYTE, 0, -7, 1), MPI_ERR_TAG);
    assert_eq!(send(MPI_BYTE, 0, 0, -1), MPI_ERR_COUNT);
    assert_eq!(send(MPI_DATATYPE_NULL, 0, 0, 1), MPI_ERR_TYPE);
}

#[ranks_test::ranks(1, mpi_only)]
fn what_the_library_lacks_is_named_with_the_version_that_has_it(world: Communicator) {
    let _ = world;
    let mut session = MPI_SESSION_NULL;
    // SAFETY: places for the answer.
    let code = unsafe { MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &raw mut session) };
    let function = function("MPI_Session_init").unwrap();
    if function.is_in_library() {
        ok(code);
        // SAFETY: made above, and freed once.
        ok(unsafe { MPI_Session_finalize(&raw mut session) });
        assert_eq!(session, MPI_SESSION_NULL);
    } else {
        assert_eq!(
            missing(code).map(|f| (f.name(), f.since())),
            Some(("MPI_Session_init", "4.0"))
        );
    }
    assert!(self::function("MPI_Send").unwrap().is_in_library());
}

#[ranks_test::ranks(1, mpi_only)]
fn the_thread_level_and_the_versions_are_the_standards(world: Communicator) {
    let _ = world;
    let mut level = 0;
    // SAFETY: places for the answer.
    ok(unsafe { MPI_Query_thread(&raw mut level) });
    assert_eq!(level, MPI_THREAD_MULTIPLE);
    let (mut major, mut minor) = (0, 0);
    // SAFETY: places for the answer.
    ok(unsafe { MPI_Abi_get_version(&raw mut major, &raw mut minor) });
    assert_eq!((major, minor), (1, 0));
    // SAFETY: numbers alone.
    assert_eq!(unsafe { MPI_Aint_diff(MPI_Aint_add(40, 2), 2) }, 40);
    // SAFETY: the library is initialised.
    let earlier = unsafe { MPI_Wtime() };
    // SAFETY: as above.
    assert!(unsafe { MPI_Wtime() } >= earlier);
}

/// The library may write the handle long after the call has returned.
#[ranks_test::ranks(1, 2, 3, 4, mpi_only)]
fn a_duplicate_that_is_made_later_is_there_when_its_request_is_over(world: Communicator) {
    let (rank, size, ..) = ring(&world);
    let comm = Comm::new();
    let mut later = [MPI_COMM_NULL; 5];
    let mut requests = [MPI_REQUEST_NULL; 5];
    for (new, request) in later.iter_mut().zip(&mut requests) {
        // SAFETY: `comm` is live; both places are there until the request is over.
        ok(unsafe { MPI_Comm_idup(comm.0, &raw mut *new, &raw mut *request) });
    }
    for (new, request) in later.iter_mut().zip(&mut requests) {
        // SAFETY: a live request.
        ok(unsafe { MPI_Wait(&raw mut *request, MPI_STATUS_IGNORE) });
        let (mut found, mut result) = (-1, -1);
        // SAFETY: made above; a place for the answer.
        ok(unsafe { MPI_Comm_compare(comm.0, *new, &raw mut result) });
        assert_eq!(result, MPI_CONGRUENT);
        let mut sum = -1;
        // SAFETY: made above; places for the answers.
        ok(unsafe { MPI_Comm_rank(*new, &raw mut found) });
        // SAFETY: a number of each rank, and a place for the sum.
        ok(unsafe {
            MPI_Allreduce(
                (&raw const rank).cast(),
                (&raw mut sum).cast(),
                1,
                MPI_INT,
                MPI_SUM,
                *new,
            )
        });
        assert_eq!((found, sum), (rank, size * (size - 1) / 2));
        // SAFETY: made above, and freed once.
        ok(unsafe { MPI_Comm_free(&raw mut *new) });
    }
}
