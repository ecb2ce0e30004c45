//! Empty slices: their pointers have the values of MPI's sentinels, which must not reach the
//! library.

use ranks_collectives::{
    Collectives, Ordered,
    ops::{Max, Sum},
};
use ranks_comm::Communicator;

fn every_collective<T: Ordered>(world: &Communicator) {
    for root in 0..world.size() {
        world.bcast::<T>(&mut [], root).unwrap();
        world.reduce::<T, _>(&[], &mut [], Sum, root).unwrap();
        world.gather::<T>(&[], &mut [], root).unwrap();
        world.scatter::<T>(&[], &mut [], root).unwrap();
    }
    world.allreduce::<T, _>(&[], &mut [], Max).unwrap();
    world.allgather::<T>(&[], &mut []).unwrap();
    world.alltoall::<T>(&[], &mut []).unwrap();
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn empty_u8(world: Communicator) {
    every_collective::<u8>(&world);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn empty_u16(world: Communicator) {
    every_collective::<u16>(&world);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn empty_f64(world: Communicator) {
    every_collective::<f64>(&world);
}

#[ranks_test::ranks(2, 3, 4)]
fn slices_that_are_not_significant_may_be_empty_where_others_are_not(world: Communicator) {
    let root = world.size() - 1;
    let at_root = world.rank() == root;
    let mut all = vec![0_u8; if at_root { world.size() } else { 0 }];
    world.gather(&[world.rank() as u8], &mut all, root).unwrap();
    let mut mine = [99_u8];
    world.scatter(&all, &mut mine, root).unwrap();
    assert_eq!(usize::from(mine[0]), world.rank());
    let mut sum = vec![0_u8; usize::from(at_root)];
    world.reduce(&mine, &mut sum, Sum, root).unwrap();
    if at_root {
        assert_eq!(usize::from(sum[0]), world.size() * (world.size() - 1) / 2);
    }
}
