use ranks_collectives::Collectives;
use ranks_comm::Communicator;

use crate::model::{Guarded, LENGTHS, Particle, Sample, block, case};

fn collects_in_rank_order<T: Sample>(world: &Communicator) {
    for len in LENGTHS {
        let expected: Vec<T> = (0..world.size())
            .flat_map(|rank| block(rank, 0, len))
            .collect();
        let mine = block::<T>(world.rank(), 0, len);
        for root in 0..world.size() {
            let what = case::<T>("gather", len);
            if world.rank() == root {
                let mut all = Guarded::<T>::new(len * world.size());
                world.gather(&mine, all.buffer(), root).unwrap();
                all.expect(&expected, &what);
            } else {
                let mut spare = Guarded::<T>::new(3);
                world.gather(&mine, spare.buffer(), root).unwrap();
                spare.expect_untouched(&what);
            }
        }
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn numbers_are_collected_at_every_root(world: Communicator) {
    collects_in_rank_order::<u8>(&world);
    collects_in_rank_order::<i16>(&world);
    collects_in_rank_order::<u32>(&world);
    collects_in_rank_order::<i64>(&world);
    collects_in_rank_order::<usize>(&world);
    collects_in_rank_order::<f32>(&world);
    collects_in_rank_order::<f64>(&world);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn any_pod_is_collected_at_every_root(world: Communicator) {
    collects_in_rank_order::<Particle>(&world);
    collects_in_rank_order::<[u8; 3]>(&world);
    collects_in_rank_order::<()>(&world);
}
