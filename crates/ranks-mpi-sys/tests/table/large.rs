//! Large counts, on libraries that have them and on those that do not.

use ranks_comm::Communicator;
use ranks_mpi_sys::*;

use crate::{Comm, ok, ring};

#[ranks_test::ranks(1, 2, 3, mpi_only)]
fn small_counts_through_the_large_form(world: Communicator) {
    let (rank, _, next, previous) = ring(&world);
    let comm = Comm::new();
    let (data, mut room) = ([rank; 3], [-1; 5]);
    let mut request = MPI_REQUEST_NULL;
    ok(unsafe {
        MPI_Isend_c(
            data.as_ptr().cast(),
            3,
            MPI_INT32_T,
            next,
            1,
            comm.0,
            &raw mut request,
        )
    });
    let mut status = MPI_Status::EMPTY;
    let room_at = room.as_mut_ptr().cast();
    ok(unsafe {
        MPI_Recv_c(
            room_at,
            5,
            MPI_INT32_T,
            previous,
            1,
            comm.0,
            &raw mut status,
        )
    });
    ok(unsafe { MPI_Wait(&raw mut request, MPI_STATUS_IGNORE) });
    let mut count = 0;
    ok(unsafe { MPI_Get_count_c(&raw const status, MPI_INT32_T, &raw mut count) });
    assert_eq!((count, &room[..3]), (3, &[previous; 3][..]));
    ok(unsafe { MPI_Bcast_c(room_at, 5, MPI_INT32_T, 0, comm.0) });
}

#[ranks_test::ranks(1, mpi_only)]
fn a_datatype_of_more_bytes_than_an_int_counts(world: Communicator) {
    let _ = world;
    let bytes = (1i64 << 32) + 5;
    let mut made = MPI_DATATYPE_NULL;
    ok(unsafe { MPI_Type_contiguous_c(bytes, MPI_BYTE, &raw mut made) });
    let (mut size, mut lower, mut extent) = (0, -1, 0);
    ok(unsafe { MPI_Type_size_c(made, &raw mut size) });
    ok(unsafe { MPI_Type_get_extent_c(made, &raw mut lower, &raw mut extent) });
    assert_eq!((size, lower, extent), (bytes, 0, bytes));
    ok(unsafe { MPI_Type_free(&raw mut made) });
}
