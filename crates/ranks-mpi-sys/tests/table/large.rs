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
    // SAFETY: `comm` is live, and the buffers, which are as long as is said, outlive the request.
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
    // SAFETY: `comm` is live, and arrays have as many elements as the counts say.
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
    // SAFETY: a live request, whose buffers live on, and a place for its status.
    ok(unsafe { MPI_Wait(&raw mut request, MPI_STATUS_IGNORE) });
    let mut count = 0;
    // SAFETY: a status that was written above; a place for the answer.
    ok(unsafe { MPI_Get_count_c(&raw const status, MPI_INT32_T, &raw mut count) });
    assert_eq!((count, &room[..3]), (3, &[previous; 3][..]));
    // SAFETY: `comm` is live, and arrays have as many elements as the counts say.
    ok(unsafe { MPI_Bcast_c(room_at, 5, MPI_INT32_T, 0, comm.0) });
}

#[ranks_test::ranks(1, mpi_only)]
fn a_datatype_of_more_bytes_than_an_int_counts(world: Communicator) {
    let _ = world;
    let bytes = (1i64 << 32) + 5;
    let mut made = MPI_DATATYPE_NULL;
    // SAFETY: a datatype of the library, arrays as long as the counts say, and a place for the new
    // one.
    ok(unsafe { MPI_Type_contiguous_c(bytes, MPI_BYTE, &raw mut made) });
    let (mut size, mut lower, mut extent) = (0, -1, 0);
    // SAFETY: a datatype of the library, and places for the answer.
    ok(unsafe { MPI_Type_size_c(made, &raw mut size) });
    // SAFETY: as above.
    ok(unsafe { MPI_Type_get_extent_c(made, &raw mut lower, &raw mut extent) });
    assert_eq!((size, lower, extent), (bytes, 0, bytes));
    // SAFETY: made above, and freed once.
    ok(unsafe { MPI_Type_free(&raw mut made) });
}

/// The size and the extent of a datatype that was made, which is freed; or what was not in the
/// library.
fn measured(code: i32, mut made: MPI_Datatype) -> Result<(MPI_Count, MPI_Count), &'static str> {
    if let Some(absent) = missing(code) {
        return Err(absent.name());
    }
    ok(code);
    let (mut size, mut lower, mut extent) = (0, -1, 0);
    // SAFETY: a datatype of the library, and places for the answer.
    ok(unsafe { MPI_Type_size_c(made, &raw mut size) });
    // SAFETY: as above.
    ok(unsafe { MPI_Type_get_extent_c(made, &raw mut lower, &raw mut extent) });
    // SAFETY: made above, and freed once.
    ok(unsafe { MPI_Type_free(&raw mut made) });
    assert_eq!(lower, 0);
    Ok((size, extent))
}

/// A count of a vector is no number of its elements, so that a library either has the function or
/// refuses.
#[ranks_test::ranks(1, mpi_only)]
fn vectors_of_more_than_an_int_counts(world: Communicator) {
    let _ = world;
    let many = (1 << 31) + 3;
    for (count, length, stride) in [(2, 3, many), (2, many, many), (many, 1, 2)] {
        let mut made = MPI_DATATYPE_NULL;
        // SAFETY: a datatype of the library, arrays as long as the counts say, and a place for the
        // new one.
        let code = unsafe { MPI_Type_vector_c(count, length, stride, MPI_BYTE, &raw mut made) };
        let expected = (count * length, (count - 1) * stride + length);
        let found = measured(code, made);
        assert!(
            found == Ok(expected) || found == Err("MPI_Type_vector_c"),
            "{found:?} of {count} blocks of {length}, {stride} apart"
        );
    }
    for (count, length) in [(2, many), (many, 1)] {
        let mut made = MPI_DATATYPE_NULL;
        let code =
            // SAFETY: a datatype of the library, arrays as long as the counts say, and a place for
            // the new one.
            unsafe { MPI_Type_create_hvector_c(count, length, many, MPI_BYTE, &raw mut made) };
        let expected = (count * length, (count - 1) * many + length);
        let found = measured(code, made);
        assert!(
            found == Ok(expected) || found == Err("MPI_Type_create_hvector_c"),
            "{found:?} of {count} blocks of {length}, {many} bytes apart"
        );
    }
    let places = [0, 3 * many];
    let mut made = MPI_DATATYPE_NULL;
    // SAFETY: a datatype of the library, arrays as long as the counts say, and a place for the new
    // one.
    let code = unsafe {
        MPI_Type_create_hindexed_block_c(2, many, places.as_ptr(), MPI_BYTE, &raw mut made)
    };
    let found = measured(code, made);
    assert!(
        found == Ok((2 * many, 4 * many)) || found == Err("MPI_Type_create_hindexed_block_c"),
        "{found:?}"
    );
}

#[ranks_test::ranks(1, mpi_only)]
fn vectors_that_an_int_counts(world: Communicator) {
    let _ = world;
    let mut made = MPI_DATATYPE_NULL;
    // SAFETY: a datatype of the library, arrays as long as the counts say, and a place for the new
    // one.
    let code = unsafe { MPI_Type_vector_c(3, 2, 5, MPI_INT32_T, &raw mut made) };
    assert_eq!(measured(code, made), Ok((24, 48)));
    // What is apart by more bytes than an int counts is said by an address in both functions.
    // SAFETY: a datatype of the library, arrays as long as the counts say, and a place for the new
    // one.
    let code = unsafe { MPI_Type_create_hvector_c(2, 3, 1 << 32, MPI_INT32_T, &raw mut made) };
    assert_eq!(measured(code, made), Ok((24, (1 << 32) + 12)));
    let places = [0, 1 << 33];
    // SAFETY: a datatype of the library, arrays as long as the counts say, and a place for the new
    // one.
    let code = unsafe {
        MPI_Type_create_hindexed_block_c(2, 3, places.as_ptr(), MPI_INT32_T, &raw mut made)
    };
    assert_eq!(measured(code, made), Ok((24, (1 << 33) + 12)));
}

#[ranks_test::ranks(1, mpi_only)]
fn packing_goes_on_from_its_position(world: Communicator) {
    let _ = world;
    let comm = Comm::new();
    let mut size = 0;
    // SAFETY: `comm` is live, and arrays have as many elements as the counts say.
    ok(unsafe { MPI_Pack_size_c(3, MPI_INT32_T, comm.0, &raw mut size) });
    let mut packed = vec![0_u8; usize::try_from(2 * size).unwrap()];
    let (room, end) = (packed.as_mut_ptr().cast(), 2 * size);
    let mut position = 0;
    for part in [[1, 2, 3], [4, 5, 6]] {
        let data = part.as_ptr().cast();
        // SAFETY: `comm` is live, and arrays have as many elements as the counts say.
        ok(unsafe { MPI_Pack_c(data, 3, MPI_INT32_T, room, end, &raw mut position, comm.0) });
    }
    assert!((24..=end).contains(&position), "{position} of {end}");
    let (mut begin, mut parts) = (0, [[0; 3]; 2]);
    for part in &mut parts {
        let data = part.as_mut_ptr().cast();
        let from = room.cast_const();
        // SAFETY: `comm` is live, and arrays have as many elements as the counts say.
        let code = unsafe { MPI_Unpack_c(from, end, &raw mut begin, data, 3, MPI_INT32_T, comm.0) };
        ok(code);
    }
    assert_eq!((begin, parts), (position, [[1, 2, 3], [4, 5, 6]]));
}
