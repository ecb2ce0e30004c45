use ranks_collectives::Collectives;
use ranks_comm::Communicator;

use crate::model::Depth::{self, All, EachOnce};
use crate::model::{Guarded, Particle, Sample, block, case, lengths};

fn transposes<T: Sample>(world: &Communicator, depth: Depth) {
    for len in lengths::<T>(depth) {
        let mine = block::<T>(world.rank(), 0, len * world.size());
        let mut theirs = Guarded::<T>::new(mine.len());
        world.alltoall(&mine, theirs.buffer()).unwrap();
        let expected: Vec<T> = (0..world.size())
            .flat_map(|rank| block(rank, len * world.rank(), len))
            .collect();
        theirs.expect(&expected, &case::<T>("alltoall", len));
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn numbers_change_places(world: Communicator) {
    transposes::<i8>(&world, EachOnce);
    transposes::<u16>(&world, EachOnce);
    transposes::<i32>(&world, EachOnce);
    transposes::<u64>(&world, EachOnce);
    transposes::<f32>(&world, EachOnce);
    transposes::<f64>(&world, All);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn any_pod_changes_places(world: Communicator) {
    transposes::<Particle>(&world, EachOnce);
    transposes::<[u8; 3]>(&world, EachOnce);
    transposes::<()>(&world, EachOnce);
}
