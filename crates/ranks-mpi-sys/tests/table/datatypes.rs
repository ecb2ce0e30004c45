//! Datatypes: how they were made is told in the standard's terms.

use ranks_comm::Communicator;
use ranks_mpi_sys::*;

use crate::{Comm, ok, ring};

fn combiner(datatype: MPI_Datatype) -> i32 {
    let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
    let places = (
        &raw mut integers,
        &raw mut addresses,
        &raw mut types,
        &raw mut combiner,
    );
    // SAFETY: a datatype of the library, and four places.
    ok(unsafe { MPI_Type_get_envelope(datatype, places.0, places.1, places.2, places.3) });
    combiner
}

#[ranks_test::ranks(1, mpi_only)]
fn every_predefined_datatype_of_c_is_named_and_has_its_size(world: Communicator) {
    let _ = world;
    let sizes = [
        (MPI_INT8_T, 1),
        (MPI_INT16_T, 2),
        (MPI_INT32_T, 4),
        (MPI_INT64_T, 8),
        (MPI_UINT8_T, 1),
        (MPI_UINT16_T, 2),
        (MPI_UINT32_T, 4),
        (MPI_UINT64_T, 8),
        (MPI_FLOAT, 4),
        (MPI_DOUBLE, 8),
        (MPI_C_FLOAT_COMPLEX, 8),
        (MPI_C_DOUBLE_COMPLEX, 16),
        (MPI_BYTE, 1),
        (MPI_C_BOOL, 1),
        (MPI_FLOAT_INT, 8),
        (MPI_DOUBLE_INT, 12),
        (MPI_2INT, 8),
        (MPI_AINT, 8),
        (MPI_COUNT, 8),
    ];
    for (datatype, expected) in sizes {
        let mut size = 0;
        // SAFETY: a datatype of the library, and places for the answer.
        ok(unsafe { MPI_Type_size(datatype, &raw mut size) });
        assert_eq!(size, expected, "{datatype:?}");
        assert_eq!(combiner(datatype), MPI_COMBINER_NAMED, "{datatype:?}");
    }
}

#[ranks_test::ranks(1, mpi_only)]
fn a_datatype_is_taken_apart_into_the_constants_it_was_made_of(world: Communicator) {
    let _ = world;
    for part in [
        MPI_FLOAT_INT,
        MPI_DOUBLE_INT,
        MPI_LONG_INT,
        MPI_SHORT_INT,
        MPI_DOUBLE,
        MPI_BYTE,
    ] {
        let mut made = MPI_DATATYPE_NULL;
        // SAFETY: a datatype of the library, arrays as long as the counts say, and a place for the
        // new one.
        ok(unsafe { MPI_Type_contiguous(3, part, &raw mut made) });
        assert_eq!(combiner(made), MPI_COMBINER_CONTIGUOUS);
        let (mut integers, mut addresses, mut types) = ([0], [0], [MPI_DATATYPE_NULL]);
        let places = (
            integers.as_mut_ptr(),
            addresses.as_mut_ptr(),
            types.as_mut_ptr(),
        );
        // SAFETY: a datatype that was made, and arrays of the lengths that are given.
        ok(unsafe { MPI_Type_get_contents(made, 1, 0, 1, places.0, places.1, places.2) });
        assert_eq!((integers, types), ([3], [part]));
        // SAFETY: made above, and freed once.
        ok(unsafe { MPI_Type_free(&raw mut made) });
        assert_eq!(made, MPI_DATATYPE_NULL);
    }
}

#[ranks_test::ranks(1, mpi_only)]
fn the_order_of_a_subarray_is_the_standards(world: Communicator) {
    let _ = world;
    for order in [MPI_ORDER_C, MPI_ORDER_FORTRAN] {
        let (sizes, subsizes, starts) = ([4, 6], [2, 3], [1, 2]);
        let mut made = MPI_DATATYPE_NULL;
        let (sizes_at, subsizes_at, starts_at) =
            (sizes.as_ptr(), subsizes.as_ptr(), starts.as_ptr());
        // SAFETY: a datatype of the library, arrays as long as the counts say, and a place for the
        // new one.
        ok(unsafe {
            MPI_Type_create_subarray(
                2,
                sizes_at,
                subsizes_at,
                starts_at,
                order,
                MPI_INT,
                &raw mut made,
            )
        });
        let (mut integers, mut addresses, mut types) = ([0; 8], [0], [MPI_DATATYPE_NULL]);
        let places = (
            integers.as_mut_ptr(),
            addresses.as_mut_ptr(),
            types.as_mut_ptr(),
        );
        // SAFETY: a datatype that was made, and arrays of the lengths that are given.
        ok(unsafe { MPI_Type_get_contents(made, 8, 0, 1, places.0, places.1, places.2) });
        assert_eq!(integers, [2, 4, 6, 2, 3, 1, 2, order]);
        assert_eq!(types, [MPI_INT]);
        // SAFETY: made above, and freed once.
        ok(unsafe { MPI_Type_free(&raw mut made) });
    }
}

#[ranks_test::ranks(1, mpi_only)]
fn the_distributions_of_an_array_are_the_standards(world: Communicator) {
    let _ = world;
    let (sizes, processes) = ([8, 8], [1, 1]);
    let (distributions, arguments) = (
        [MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC],
        [MPI_DISTRIBUTE_DFLT_DARG, 2],
    );
    let mut made = MPI_DATATYPE_NULL;
    // SAFETY: a datatype of the library, arrays as long as the counts say, and a place for the new
    // one.
    ok(unsafe {
        MPI_Type_create_darray(
            1,
            0,
            2,
            sizes.as_ptr(),
            distributions.as_ptr(),
            arguments.as_ptr(),
            processes.as_ptr(),
            MPI_ORDER_C,
            MPI_INT,
            &raw mut made,
        )
    });
    assert_eq!(combiner(made), MPI_COMBINER_DARRAY);
    let (mut integers, mut addresses, mut types) = ([0; 12], [0], [MPI_DATATYPE_NULL]);
    let places = (
        integers.as_mut_ptr(),
        addresses.as_mut_ptr(),
        types.as_mut_ptr(),
    );
    // SAFETY: a datatype that was made, and arrays of the lengths that are given.
    ok(unsafe { MPI_Type_get_contents(made, 12, 0, 1, places.0, places.1, places.2) });
    let [block, cyclic] = distributions;
    assert_eq!(
        integers,
        [
            1,
            0,
            2,
            8,
            8,
            block,
            cyclic,
            arguments[0],
            2,
            1,
            1,
            MPI_ORDER_C
        ]
    );
    // SAFETY: made above, and freed once.
    ok(unsafe { MPI_Type_free(&raw mut made) });
}

#[ranks_test::ranks(1, 2, 3, mpi_only)]
fn a_struct_and_a_datatype_for_each_process(world: Communicator) {
    let (rank, size, ..) = ring(&world);
    let comm = Comm::new();
    let (lengths, places, types) = ([1, 1], [0, 4], [MPI_INT32_T, MPI_FLOAT]);
    let mut pair = MPI_DATATYPE_NULL;
    // SAFETY: a datatype of the library, arrays as long as the counts say, and a place for the new
    // one.
    ok(unsafe {
        MPI_Type_create_struct(
            2,
            lengths.as_ptr(),
            places.as_ptr(),
            types.as_ptr(),
            &raw mut pair,
        )
    });
    // SAFETY: made just above.
    ok(unsafe { MPI_Type_commit(&raw mut pair) });

    let n = usize::try_from(size).unwrap();
    let send: Vec<(i32, f32)> = (0..size).map(|to| (rank, to as f32)).collect();
    let mut receive = vec![(-1, -1.0f32); n];
    let (ones, types) = (vec![1; n], vec![pair; n]);
    let displacements: Vec<i32> = (0..size).map(|i| 8 * i).collect();
    // SAFETY: `comm` is live, and arrays have as many elements as the counts say.
    ok(unsafe {
        MPI_Alltoallw(
            send.as_ptr().cast(),
            ones.as_ptr(),
            displacements.as_ptr(),
            types.as_ptr(),
            receive.as_mut_ptr().cast(),
            ones.as_ptr(),
            displacements.as_ptr(),
            types.as_ptr(),
            comm.0,
        )
    });
    let expected: Vec<(i32, f32)> = (0..size).map(|from| (from, rank as f32)).collect();
    assert_eq!(receive, expected);

    receive.fill((-1, -1.0));
    // SAFETY: the library is loaded.
    let kept = unsafe { native::Datatypes::new(&types) };
    let mut request = MPI_REQUEST_NULL;
    // SAFETY: `comm` is live, and the buffers, which are as long as is said, outlive the request.
    ok(unsafe {
        MPI_Ialltoallw(
            send.as_ptr().cast(),
            ones.as_ptr(),
            displacements.as_ptr(),
            kept.as_ptr(),
            receive.as_mut_ptr().cast(),
            ones.as_ptr(),
            displacements.as_ptr(),
            kept.as_ptr(),
            comm.0,
            &raw mut request,
        )
    });
    // SAFETY: a live request, whose buffers live on, and a place for its status.
    ok(unsafe { MPI_Wait(&raw mut request, MPI_STATUS_IGNORE) });
    assert_eq!(receive, expected);
    // SAFETY: made above, and freed once.
    ok(unsafe { MPI_Type_free(&raw mut pair) });
}
