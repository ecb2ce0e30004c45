//! Completion of several requests: arrays that are packed in place.

use std::array;

use ranks_comm::Communicator;
use ranks_mpi_sys::*;

use crate::{Comm, ok, ring};

const PAIRS: usize = 70; // more than stay on the stack

struct Messages {
    rooms: Box<[[i32; 4]; PAIRS]>,
    requests: Vec<MPI_Request>,
    comm: Comm,
    previous: i32,
}

/// A receive, a send and a null request for each tag.
fn start(world: &Communicator, data: &[i32; 2]) -> Messages {
    let (_, _, next, previous) = ring(world);
    let mut messages = Messages {
        rooms: Box::new([[0; 4]; PAIRS]),
        requests: Vec::new(),
        comm: Comm::new(),
        previous,
    };
    for (tag, room) in messages.rooms.iter_mut().enumerate() {
        let tag = i32::try_from(tag).unwrap();
        let mut request = [MPI_REQUEST_NULL; 3];
        let (room, data, comm) = (
            room.as_mut_ptr().cast(),
            data.as_ptr().cast(),
            messages.comm.0,
        );
        // SAFETY: `comm` is live, and the buffers, which are as long as is said, outlive the
        // request.
        ok(unsafe {
            MPI_Irecv(
                room,
                4,
                MPI_INT32_T,
                previous,
                tag,
                comm,
                &raw mut request[0],
            )
        });
        // SAFETY: `comm` is live, and the buffers, which are as long as is said, outlive the
        // request.
        ok(unsafe { MPI_Isend(data, 2, MPI_INT32_T, next, tag, comm, &raw mut request[1]) });
        messages.requests.extend(request);
    }
    messages
}

fn check(messages: &Messages) {
    assert!(
        messages
            .requests
            .iter()
            .all(|&request| request == MPI_REQUEST_NULL)
    );
    assert!(
        messages
            .rooms
            .iter()
            .all(|room| *room == [messages.previous, 5, 0, 0])
    );
}

fn count(messages: &Messages) -> i32 {
    i32::try_from(messages.requests.len()).unwrap()
}

#[ranks_test::ranks(1, 2, 3, 4, mpi_only)]
fn waitall_with_statuses(world: Communicator) {
    let mut messages = start(&world, &[ring(&world).0, 5]);
    let mut statuses = [MPI_Status::EMPTY; 3 * PAIRS];
    let (n, requests) = (count(&messages), messages.requests.as_mut_ptr());
    // SAFETY: as many live or null requests as are said, whose buffers live on, and places for the
    // answers.
    ok(unsafe { MPI_Waitall(n, requests, statuses.as_mut_ptr()) });
    check(&messages);
    for (tag, status) in statuses.chunks(3).enumerate() {
        let (from, under) = (status[0].MPI_SOURCE, status[0].MPI_TAG);
        assert_eq!(
            (from, under),
            (messages.previous, i32::try_from(tag).unwrap())
        );
        let mut count = 0;
        // SAFETY: a status that was written above; a place for the answer.
        ok(unsafe { MPI_Get_count(&raw const status[0], MPI_INT32_T, &raw mut count) });
        assert_eq!(count, 2);
        assert_eq!(
            (status[2].MPI_SOURCE, status[2].MPI_TAG),
            (MPI_ANY_SOURCE, MPI_ANY_TAG)
        );
    }
}

#[ranks_test::ranks(1, 2, 4, mpi_only)]
fn waitall_that_ignores_statuses(world: Communicator) {
    let mut messages = start(&world, &[ring(&world).0, 5]);
    let (n, requests) = (count(&messages), messages.requests.as_mut_ptr());
    // SAFETY: as many live or null requests as are said, whose buffers live on, and places for the
    // answers.
    ok(unsafe { MPI_Waitall(n, requests, MPI_STATUSES_IGNORE) });
    check(&messages);
}

#[ranks_test::ranks(1, 2, 3, mpi_only)]
fn waitany_and_testany_end_with_undefined(world: Communicator) {
    let mut messages = start(&world, &[ring(&world).0, 5]);
    let (n, requests) = (count(&messages), messages.requests.as_mut_ptr());
    let mut done = 0;
    loop {
        let (mut index, mut status) = (0, MPI_Status::EMPTY);
        // SAFETY: as many live or null requests as are said, whose buffers live on, and places for
        // the answers.
        ok(unsafe { MPI_Waitany(n, requests, &raw mut index, &raw mut status) });
        if index == MPI_UNDEFINED {
            break;
        }
        if index % 3 == 0 {
            assert_eq!(
                (status.MPI_SOURCE, status.MPI_TAG),
                (messages.previous, index / 3)
            );
        }
        done += 1;
    }
    assert_eq!(done, 2 * PAIRS);
    let (mut index, mut flag, mut status) = (0, 0, MPI_Status::EMPTY);
    // SAFETY: as many live or null requests as are said, whose buffers live on, and places for the
    // answers.
    ok(unsafe { MPI_Testany(n, requests, &raw mut index, &raw mut flag, &raw mut status) });
    assert_eq!((index, flag), (MPI_UNDEFINED, 1));
    check(&messages);
}

#[ranks_test::ranks(1, 2, 3, mpi_only)]
fn waitsome_testsome_and_testall(world: Communicator) {
    let mut messages = start(&world, &[ring(&world).0, 5]);
    let (n, requests) = (count(&messages), messages.requests.as_mut_ptr());
    let mut done = 0;
    loop {
        let (mut completed, mut indices) = (0, [0; 3 * PAIRS]);
        let mut statuses: [MPI_Status; 3 * PAIRS] = array::from_fn(|_| MPI_Status::EMPTY);
        let (indices_at, statuses_at) = (indices.as_mut_ptr(), statuses.as_mut_ptr());
        // SAFETY: as many live or null requests as are said, whose buffers live on, and places for
        // the answers.
        ok(unsafe { MPI_Waitsome(n, requests, &raw mut completed, indices_at, statuses_at) });
        if completed == MPI_UNDEFINED {
            break;
        }
        for (index, status) in indices
            .iter()
            .zip(&statuses)
            .take(usize::try_from(completed).unwrap())
        {
            if index % 3 == 0 {
                assert_eq!(
                    (status.MPI_SOURCE, status.MPI_TAG),
                    (messages.previous, index / 3)
                );
            }
            done += 1;
        }
    }
    assert_eq!(done, 2 * PAIRS);
    let (mut completed, mut indices) = (0, [0; 3 * PAIRS]);
    let indices = indices.as_mut_ptr();
    // SAFETY: as many live or null requests as are said, whose buffers live on, and places for the
    // answers.
    ok(unsafe {
        MPI_Testsome(
            n,
            requests,
            &raw mut completed,
            indices,
            MPI_STATUSES_IGNORE,
        )
    });
    assert_eq!(completed, MPI_UNDEFINED);
    let mut flag = 0;
    // SAFETY: as many live or null requests as are said, whose buffers live on, and places for the
    // answers.
    ok(unsafe { MPI_Testall(n, requests, &raw mut flag, MPI_STATUSES_IGNORE) });
    assert_eq!(flag, 1);
    check(&messages);
}

#[ranks_test::ranks(1, 2, mpi_only)]
fn persistent_requests_stay_what_they_are(world: Communicator) {
    let (rank, _, next, previous) = ring(&world);
    let comm = Comm::new();
    let (data, mut room) = ([rank], [-1]);
    let mut requests = [MPI_REQUEST_NULL; 2];
    let (from, to) = (data.as_ptr().cast(), room.as_mut_ptr().cast());
    // SAFETY: `comm` is live, and the buffers, which are as long as is said, outlive the request.
    ok(unsafe {
        MPI_Recv_init(
            to,
            1,
            MPI_INT32_T,
            previous,
            1,
            comm.0,
            &raw mut requests[0],
        )
    });
    // SAFETY: `comm` is live, and the buffers, which are as long as is said, outlive the request.
    ok(unsafe { MPI_Send_init(from, 1, MPI_INT32_T, next, 1, comm.0, &raw mut requests[1]) });
    let before = requests;
    for _ in 0..3 {
        // SAFETY: as many live or null requests as are said, whose buffers live on, and places for
        // the answers.
        ok(unsafe { MPI_Startall(2, requests.as_mut_ptr()) });
        // SAFETY: as above.
        ok(unsafe { MPI_Waitall(2, requests.as_mut_ptr(), MPI_STATUSES_IGNORE) });
        assert_eq!(requests, before);
    }
    assert_eq!(room, [previous]);
    for request in &mut requests {
        // SAFETY: made above, and freed once.
        ok(unsafe { MPI_Request_free(request) });
        assert_eq!(*request, MPI_REQUEST_NULL);
    }
}
