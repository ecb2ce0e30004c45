//! Reductions over some of the ranks, and of blocks for each of them.

use ranks_collectives::ops::{Bxor, Max, Prod, Sum};
use ranks_collectives::{Blocks, Collectives, Number, Op, VaryingCollectives};
use ranks_comm::{Communicator, ErrorKind, Result};

use crate::model::Depth::{self, All, EachOnce};
use crate::model::{Guarded, LENGTHS, Sample, block, case, for_types, lengths, long};
use crate::reduce::folded;

fn scans<T: Sample + Number, O: Op<T>>(
    world: &Communicator,
    depth: Depth,
    op: O,
    fold: fn(T, T) -> T,
) {
    for len in lengths::<T>(depth) {
        let me = world.rank();
        let mine = block::<T>(me, 0, len);
        let mut up_to = Guarded::<T>::new(len);
        world.scan(&mine, up_to.buffer(), op).unwrap();
        up_to.expect(&folded(me + 1, len, fold), &case::<T>("scan", len));

        let mut before = Guarded::<T>::new(len);
        world.exscan(&mine, before.buffer(), op).unwrap();
        if me == 0 {
            before.expect_untouched("exscan on rank 0");
        } else {
            before.expect(&folded(me, len, fold), &case::<T>("exscan", len));
        }
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn scans_of_numbers(world: Communicator) {
    scans::<i32, _>(&world, EachOnce, Sum, i32::wrapping_add);
    scans::<u64, _>(&world, EachOnce, Prod, u64::wrapping_mul);
    scans::<i64, _>(&world, All, Max, i64::max);
    scans::<u8, _>(&world, EachOnce, Bxor, |a, b| a ^ b);
    scans::<f64, _>(&world, EachOnce, Sum, |a, b| a + b);
    scans::<f32, _>(&world, EachOnce, Max, f32::max);
}

fn shares<T: Sample + Number, O: Op<T>>(world: &Communicator, op: O, fold: fn(T, T) -> T) {
    let (me, size) = (world.rank(), world.size());
    for len in [0, 1, 17, long(4096), long(30_000)] {
        let mine = block::<T>(me, 0, len * size);
        let whole = folded(size, len * size, fold);
        let mut share = Guarded::<T>::new(len);
        world
            .reduce_scatter_block(&mine, share.buffer(), op)
            .unwrap();
        share.expect(
            &whole[me * len..(me + 1) * len],
            &case::<T>("reduce_scatter_block", len),
        );

        let counts: Vec<usize> = (0..size).map(|rank| rank * len / size).collect();
        let blocks = Blocks::from_counts(&counts).unwrap();
        let mut share = Guarded::<T>::new(counts[me]);
        world
            .reduce_scatter(&mine, share.buffer(), &blocks, op)
            .unwrap();
        share.expect(&whole[blocks.range(me)], &case::<T>("reduce_scatter", len));
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn shares_of_numbers(world: Communicator) {
    shares::<i32, _>(&world, Sum, i32::wrapping_add);
    shares::<f64, _>(&world, Sum, |a, b| a + b);
    shares::<i64, _>(&world, Max, i64::max);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn two_slices_of_one_rank(world: Communicator) {
    for len in LENGTHS {
        let (left, right) = (block::<i64>(0, 0, len), block::<i64>(1, 0, len));
        let mut both = Guarded::<i64>::new(len);
        both.buffer().copy_from_slice(&right);
        world.reduce_local(&left, both.buffer(), Sum).unwrap();
        both.expect(&folded(2, len, i64::wrapping_add), "reduce_local");
    }
}

/// As H1 and S3 of other bindings: the other slice's length is not taken for this one's.
#[ranks_test::ranks(1, 2, 3, 4)]
fn h1_lengths_that_differ(world: Communicator) {
    #[track_caller]
    fn refused(result: Result<()>, parts: &[&str]) {
        let error = result.expect_err("a mistake went through");
        assert_eq!(error.kind(), ErrorKind::Length, "{error}");
        assert_eq!(error.operation(), parts[0]);
        for part in parts {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
    }
    let mut recv = Guarded::<i64>::new(4);
    for len in [0, 3, 9] {
        let (send, length) = (vec![1; len], len.to_string());
        refused(
            world.scan(&send, recv.buffer(), Sum),
            &["MPI_Scan", &length, "4"],
        );
        refused(
            world.exscan(&send, recv.buffer(), Sum),
            &["MPI_Exscan", &length, "4"],
        );
        refused(
            world.reduce_scatter_block(&send, recv.buffer(), Sum),
            &["MPI_Reduce_scatter_block", &length, "4"],
        );
        refused(
            world.reduce_local(&send, recv.buffer(), Sum),
            &["MPI_Reduce_local", &length, "4"],
        );
    }
    recv.expect_untouched("calls with mistakes");
    let mut sum = [0];
    world.scan(&[1_usize], &mut sum, Sum).unwrap();
    assert_eq!(sum[0], world.rank() + 1);
}

/// COR-28 of another binding: empty slices, whose pointers are sentinels of MPI.
#[ranks_test::ranks(1, 2, 3, 4)]
fn cor_28_empty_slices(world: Communicator) {
    fn nothing<T: Number>(world: &Communicator) {
        let none = Blocks::from_counts(&vec![0; world.size()]).unwrap();
        world.scan::<T, _>(&[], &mut [], Sum).unwrap();
        world.exscan::<T, _>(&[], &mut [], Sum).unwrap();
        world
            .reduce_scatter_block::<T, _>(&[], &mut [], Sum)
            .unwrap();
        world
            .reduce_scatter::<T, _>(&[], &mut [], &none, Sum)
            .unwrap();
        world.reduce_local::<T, _>(&[], &mut [], Sum).unwrap();
    }
    for_types!(nothing(&world): u8, u16, f64);
}
