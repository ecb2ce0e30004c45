use ranks_collectives::Collectives;
use ranks_comm::Communicator;

use crate::model::Depth::{self, All, EachOnce};
use crate::model::{Guarded, Particle, Sample, block, case, for_types, lengths};

fn collects_everywhere<T: Sample>(world: &Communicator, depth: Depth) {
    for len in lengths::<T>(depth) {
        let expected: Vec<T> = (0..world.size())
            .flat_map(|rank| block(rank, 0, len))
            .collect();
        let mut all = Guarded::<T>::new(len * world.size());
        world
            .allgather(&block::<T>(world.rank(), 0, len), all.buffer())
            .unwrap();
        all.expect(&expected, &case::<T>("allgather", len));
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn numbers_are_collected_on_all_ranks(world: Communicator) {
    for_types!(collects_everywhere(&world, EachOnce): i8, u16, i32, u64, f32);
    collects_everywhere::<f64>(&world, All);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn any_pod_is_collected_on_all_ranks(world: Communicator) {
    for_types!(collects_everywhere(&world, EachOnce): Particle, [u8; 3], ());
}
