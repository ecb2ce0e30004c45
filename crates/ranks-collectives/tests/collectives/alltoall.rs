use ranks_collectives::Collectives;
use ranks_comm::Communicator;

use crate::model::Depth::{self, All, EachOnce};
use crate::model::{Guarded, Particle, Sample, block, case, for_types, lengths};

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
    for_types!(transposes(&world, EachOnce): i8, u16, i32, u64, f32);
    transposes::<f64>(&world, All);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn any_pod_changes_places(world: Communicator) {
    for_types!(transposes(&world, EachOnce): Particle, [u8; 3], ());
}
