use ranks_collectives::Collectives;
use ranks_comm::Communicator;

use crate::model::Depth::{self, All, EachOnce};
use crate::model::{Guarded, Particle, Sample, block, case, lengths};

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
    collects_everywhere::<i8>(&world, EachOnce);
    collects_everywhere::<u16>(&world, EachOnce);
    collects_everywhere::<i32>(&world, EachOnce);
    collects_everywhere::<u64>(&world, EachOnce);
    collects_everywhere::<f32>(&world, EachOnce);
    collects_everywhere::<f64>(&world, All);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn any_pod_is_collected_on_all_ranks(world: Communicator) {
    collects_everywhere::<Particle>(&world, EachOnce);
    collects_everywhere::<[u8; 3]>(&world, EachOnce);
    collects_everywhere::<()>(&world, EachOnce);
}
