//! What a rank can see for itself is an `Err` before the call: nothing is sent, nothing is written.

use ranks_collectives::Collectives;
use ranks_collectives::ops::Sum;
use ranks_comm::{Communicator, Error, ErrorKind, Result};

use crate::model::Guarded;

/// An error of the kind that has these parts.
#[track_caller]
pub(crate) fn refused(result: Result<()>, kind: ErrorKind, parts: &[&str]) -> Error {
    let error = result.expect_err("a mistake went through");
    assert_eq!(error.kind(), kind, "{error}");
    for part in parts {
        assert!(
            error.to_string().contains(part),
            "`{part}` is not in: {error}"
        );
    }
    error
}

#[track_caller]
fn expect(result: Result<()>, kind: ErrorKind, parts: &[&str]) {
    assert_eq!(refused(result, kind, parts).operation(), parts[0]);
}

/// The communicator works as before.
pub(crate) fn still_works(world: &Communicator) {
    let mut sum = [0];
    world.allreduce(&[1_usize], &mut sum, Sum).unwrap();
    assert_eq!(sum[0], world.size());
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn lengths_that_differ(world: Communicator) {
    use ErrorKind::Length;
    let size = world.size();
    let me = world.rank();
    let mut recv = Guarded::<i64>::new(4);

    expect(
        world.allreduce(&[1; 7], recv.buffer(), Sum),
        Length,
        &["MPI_Allreduce", "7", "4"],
    );
    expect(
        world.allreduce(&[1; 3], recv.buffer(), Sum),
        Length,
        &["MPI_Allreduce", "3", "4"],
    );
    expect(
        world.allreduce(&[], recv.buffer(), Sum),
        Length,
        &["MPI_Allreduce", "0", "4"],
    );
    // Each rank is the root of a call of its own: none gets as far as communicating.
    expect(
        world.reduce(&[1; 5], recv.buffer(), Sum, me),
        Length,
        &["MPI_Reduce", "5", "4"],
    );
    expect(
        world.gather(&[1; 9], recv.buffer(), me),
        Length,
        &["MPI_Gather", "9", "4"],
    );
    expect(
        world.allgather(&[1; 9], recv.buffer()),
        Length,
        &["MPI_Allgather", "9", "4"],
    );
    expect(
        world.scatter(&[1; 3], recv.buffer(), me),
        Length,
        &["MPI_Scatter", "3", "4"],
    );
    expect(
        world.alltoall(&[1; 8], recv.buffer()),
        Length,
        &["MPI_Alltoall", "8", "4"],
    );
    if size == 3 {
        expect(
            world.alltoall(&[1; 4], recv.buffer()),
            Length,
            &["MPI_Alltoall", "4", "3"],
        );
    }
    recv.expect_untouched("calls with mistakes");
    still_works(&world);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn lengths_whose_product_overflows(world: Communicator) {
    // Elements of no size make slices of any length.
    let endless = &mut [(); usize::MAX / 2 + 1];
    let kind = ErrorKind::Length;
    if world.size() > 1 {
        expect(world.allgather(endless, &mut []), kind, &["MPI_Allgather"]);
        expect(
            world.gather(endless, &mut [], world.rank()),
            kind,
            &["MPI_Gather"],
        );
        expect(
            world.scatter(&[], endless, world.rank()),
            kind,
            &["MPI_Scatter"],
        );
    }
    still_works(&world);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn roots_that_do_not_exist(world: Communicator) {
    let mut recv = Guarded::<f64>::new(world.size());
    let send = vec![1.0; world.size()];
    for root in [world.size(), 1 << 31, usize::MAX] {
        let number = root.to_string();
        let kind = ErrorKind::Root;
        expect(
            world.bcast(recv.buffer(), root),
            kind,
            &["MPI_Bcast", &number],
        );
        expect(
            world.reduce(&send, recv.buffer(), Sum, root),
            kind,
            &["MPI_Reduce", &number],
        );
        expect(
            world.gather(&send[..1], recv.buffer(), root),
            kind,
            &["MPI_Gather", &number],
        );
        expect(
            world.scatter(&send, &mut recv.buffer()[..1], root),
            kind,
            &["MPI_Scatter", &number],
        );
    }
    recv.expect_untouched("calls with mistakes");
    still_works(&world);
}
