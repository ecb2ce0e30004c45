use ranks_collectives::Collectives;
use ranks_comm::Communicator;

use crate::model::Depth::{self, All, EachOnce};
use crate::model::{Guarded, Particle, Sample, block, case, for_types, lengths, roots};

fn copies_the_root<T: Sample>(world: &Communicator, depth: Depth) {
    for (call, len) in lengths::<T>(depth).into_iter().enumerate() {
        for root in roots(depth, world.size(), call) {
            let mut data = Guarded::<T>::new(len);
            let of_root = block::<T>(root, 0, len);
            if world.rank() == root {
                data.buffer().copy_from_slice(&of_root);
            }
            world.bcast(data.buffer(), root).unwrap();
            data.expect(&of_root, &case::<T>("bcast", len));
        }
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn numbers_arrive_from_every_root(world: Communicator) {
    for_types!(copies_the_root(&world, EachOnce): i8, u16, i32, u64, isize, f32);
    copies_the_root::<f64>(&world, All);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn any_pod_arrives_from_every_root(world: Communicator) {
    for_types!(copies_the_root(&world, EachOnce): Particle, [u8; 3], ());
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn one_element_goes_to_all_and_comes_from_all(world: Communicator) {
    for root in 0..world.size() {
        assert_eq!(world.bcast_one([world.rank(), 7], root).unwrap(), [root, 7]);
    }
    let of_all: Vec<usize> = (0..world.size()).collect();
    assert_eq!(world.allgather_one(world.rank()).unwrap(), of_all);
    let nowhere = world.bcast_one(1, world.size()).unwrap_err();
    assert_eq!(nowhere.kind(), ranks_comm::ErrorKind::Root);
}
