//! Operations whose input lies where their output goes.

use ranks_collectives::ops::{Max, Prod, Sum};
use ranks_collectives::{Blocks, InPlaceCollectives, Number, Op, VaryingCollectives};
use ranks_comm::{Communicator, ErrorKind};

use crate::model::Depth::{self, All, EachOnce};
use crate::model::{Guarded, Particle, Sample, block, case, for_types, lengths, long, roots};
use crate::reduce::folded;

fn reductions<T: Sample + Number, O: Op<T>>(
    world: &Communicator,
    depth: Depth,
    op: O,
    fold: fn(T, T) -> T,
) {
    let (me, size) = (world.rank(), world.size());
    for (call, len) in lengths::<T>(depth).into_iter().enumerate() {
        let mine = block::<T>(me, 0, len);
        let whole = folded(size, len, fold);
        let mut data = Guarded::<T>::new(len);
        data.buffer().copy_from_slice(&mine);
        world.allreduce_in_place(data.buffer(), op).unwrap();
        data.expect(&whole, &case::<T>("allreduce_in_place", len));
        for root in roots(depth, size, call) {
            data.buffer().copy_from_slice(&mine);
            world.reduce_in_place(data.buffer(), op, root).unwrap();
            let expected = if me == root { &whole } else { &mine };
            data.expect(expected, &case::<T>("reduce_in_place", len));
        }
        data.buffer().copy_from_slice(&mine);
        world.scan_in_place(data.buffer(), op).unwrap();
        data.expect(&folded(me + 1, len, fold), &case::<T>("scan_in_place", len));

        data.buffer().copy_from_slice(&mine);
        world.exscan_in_place(data.buffer(), op).unwrap();
        let before = if me == 0 { mine } else { folded(me, len, fold) };
        data.expect(&before, &case::<T>("exscan_in_place", len));
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn reductions_of_numbers(world: Communicator) {
    reductions::<i32, _>(&world, EachOnce, Sum, i32::wrapping_add);
    reductions::<f64, _>(&world, All, Max, f64::max);
    reductions::<u16, _>(&world, EachOnce, Prod, u16::wrapping_mul);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn shares_are_at_the_beginning(world: Communicator) {
    let (me, size) = (world.rank(), world.size());
    for len in [0, 1, 5, long(20_000)] {
        let whole = folded::<i64>(size, len * size, i64::wrapping_add);
        let mut data = block::<i64>(me, 0, len * size);
        world.reduce_scatter_block_in_place(&mut data, Sum).unwrap();
        assert_eq!(data[..len], whole[me * len..(me + 1) * len]);

        let counts: Vec<usize> = (0..size).map(|rank| rank * len / size).collect();
        let blocks = Blocks::from_counts(&counts).unwrap();
        let mut data = block::<i64>(me, 0, blocks.end());
        world
            .reduce_scatter_in_place(&mut data, &blocks, Sum)
            .unwrap();
        let share = folded::<i64>(size, blocks.end(), i64::wrapping_add);
        assert_eq!(data[..counts[me]], share[blocks.range(me)]);
    }
}

fn moves<T: Sample>(world: &Communicator, depth: Depth) {
    let (me, size) = (world.rank(), world.size());
    for (call, len) in lengths::<T>(depth).into_iter().enumerate() {
        let own = me * len..(me + 1) * len;
        let mine = block::<T>(me, 0, len);
        let whole: Vec<T> = (0..size)
            .flat_map(|rank| block::<T>(rank, 0, len))
            .collect();
        let mut all = Guarded::<T>::new(len * size);
        all.buffer()[own.clone()].copy_from_slice(&mine);
        world.allgather_in_place(all.buffer()).unwrap();
        all.expect(&whole, &case::<T>("allgather_in_place", len));

        for root in roots(depth, size, call) {
            let at_root = me == root;
            let mut data = Guarded::<T>::new(if at_root { len * size } else { len });
            let place = if at_root { own.clone() } else { 0..len };
            data.buffer()[place].copy_from_slice(&mine);
            world.gather_in_place(data.buffer(), root).unwrap();
            let expected = if at_root { &whole } else { &mine };
            data.expect(expected, &case::<T>("gather_in_place", len));

            if !at_root {
                data.buffer().fill(T::zeroed());
            }
            world.scatter_in_place(data.buffer(), root).unwrap();
            data.expect(expected, &case::<T>("scatter_in_place", len));
        }

        let mut data = Guarded::<T>::new(len * size);
        data.buffer().copy_from_slice(&block(me, 0, len * size));
        world.alltoall_in_place(data.buffer()).unwrap();
        let crossed: Vec<T> = (0..size)
            .flat_map(|rank| block(rank, own.start, len))
            .collect();
        data.expect(&crossed, &case::<T>("alltoall_in_place", len));
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn moves_of_every_width(world: Communicator) {
    for_types!(moves(&world, EachOnce): u8, Particle, ());
    moves::<f64>(&world, All);
}

/// As S3 of another binding: a slice that cannot be cut into blocks.
#[ranks_test::ranks(2, 3, 4)]
fn s3_lengths_that_do_not_divide(world: Communicator) {
    let mut data = Guarded::<i32>::new(world.size() + 1);
    let me = world.rank();
    for result in [
        world.allgather_in_place(data.buffer()),
        world.alltoall_in_place(data.buffer()),
        world.gather_in_place(data.buffer(), me),
        world.scatter_in_place(data.buffer(), me),
        world.reduce_scatter_block_in_place(data.buffer(), Sum),
    ] {
        let error = result.expect_err("a mistake went through");
        assert_eq!(error.kind(), ErrorKind::Length, "{error}");
        assert!(error.to_string().contains("divided evenly"), "{error}");
    }
    for result in [
        world.gather_in_place(data.buffer(), world.size()),
        world.scatter_in_place(data.buffer(), usize::MAX),
        world.reduce_in_place(data.buffer(), Sum, world.size()),
    ] {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Root);
    }
    data.expect_untouched("calls with mistakes");
    world.allreduce_in_place(&mut [me], Sum).unwrap();
}

/// COR-28 of another binding: only what is in place is told to be so, not what is empty.
#[ranks_test::ranks(1, 2, 3, 4)]
fn cor_28_empty_slices(world: Communicator) {
    fn nothing<T: Number>(world: &Communicator, depth: Depth) {
        world.allreduce_in_place::<T, _>(&mut [], Sum).unwrap();
        world.scan_in_place::<T, _>(&mut [], Sum).unwrap();
        world.exscan_in_place::<T, _>(&mut [], Sum).unwrap();
        world
            .reduce_scatter_block_in_place::<T, _>(&mut [], Sum)
            .unwrap();
        world.allgather_in_place::<T>(&mut []).unwrap();
        world.alltoall_in_place::<T>(&mut []).unwrap();
        for root in roots(depth, world.size(), 1) {
            world.reduce_in_place::<T, _>(&mut [], Sum, root).unwrap();
            world.gather_in_place::<T>(&mut [], root).unwrap();
            world.scatter_in_place::<T>(&mut [], root).unwrap();
        }
    }
    nothing::<u8>(&world, All);
    nothing::<u16>(&world, EachOnce);
    nothing::<f64>(&world, EachOnce);
}
