use ranks_collectives::Collectives;
use ranks_comm::Communicator;

use crate::model::{Guarded, LENGTHS, Particle, Sample, block, case};

fn transposes<T: Sample>(world: &Communicator) {
    for len in LENGTHS {
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
    transposes::<i8>(&world);
    transposes::<u16>(&world);
    transposes::<i32>(&world);
    transposes::<u64>(&world);
    transposes::<f32>(&world);
    transposes::<f64>(&world);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn any_pod_changes_places(world: Communicator) {
    transposes::<Particle>(&world);
    transposes::<[u8; 3]>(&world);
    transposes::<()>(&world);
}
