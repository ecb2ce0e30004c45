use ranks_collectives::Collectives;
use ranks_comm::Communicator;

use crate::model::{Guarded, LENGTHS, Particle, Sample, block, case};

fn deals_out_in_rank_order<T: Sample>(world: &Communicator) {
    for len in LENGTHS {
        for root in 0..world.size() {
            let mut mine = Guarded::<T>::new(len);
            if world.rank() == root {
                let all = block::<T>(root, 0, len * world.size());
                world.scatter(&all, mine.buffer(), root).unwrap();
            } else {
                world.scatter(&[], mine.buffer(), root).unwrap();
            }
            let expected = block::<T>(root, len * world.rank(), len);
            mine.expect(&expected, &case::<T>("scatter", len));
        }
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn numbers_are_dealt_out_by_every_root(world: Communicator) {
    deals_out_in_rank_order::<u8>(&world);
    deals_out_in_rank_order::<i16>(&world);
    deals_out_in_rank_order::<u32>(&world);
    deals_out_in_rank_order::<i64>(&world);
    deals_out_in_rank_order::<f32>(&world);
    deals_out_in_rank_order::<f64>(&world);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn any_pod_is_dealt_out_by_every_root(world: Communicator) {
    deals_out_in_rank_order::<Particle>(&world);
    deals_out_in_rank_order::<[u8; 3]>(&world);
    deals_out_in_rank_order::<()>(&world);
}
