use ranks_collectives::Collectives;
use ranks_comm::Communicator;

use crate::model::Depth::{self, All, EachOnce};
use crate::model::{Guarded, Particle, Sample, block, case, for_types, lengths, roots};

fn deals_out_in_rank_order<T: Sample>(world: &Communicator, depth: Depth) {
    for (call, len) in lengths::<T>(depth).into_iter().enumerate() {
        for root in roots(depth, world.size(), call) {
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
    for_types!(deals_out_in_rank_order(&world, EachOnce): u8, i16, u32, i64, f32);
    deals_out_in_rank_order::<f64>(&world, All);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn any_pod_is_dealt_out_by_every_root(world: Communicator) {
    for_types!(deals_out_in_rank_order(&world, EachOnce): Particle, [u8; 3], ());
}
