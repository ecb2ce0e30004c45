use ranks_collectives::Collectives;
use ranks_comm::Communicator;

use crate::model::Depth::{self, All, EachOnce};
use crate::model::{Guarded, Particle, Sample, block, case, for_types, lengths, roots};

fn collects_in_rank_order<T: Sample>(world: &Communicator, depth: Depth) {
    for (call, len) in lengths::<T>(depth).into_iter().enumerate() {
        let expected: Vec<T> = (0..world.size())
            .flat_map(|rank| block(rank, 0, len))
            .collect();
        let mine = block::<T>(world.rank(), 0, len);
        for root in roots(depth, world.size(), call) {
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
    for_types!(collects_in_rank_order(&world, EachOnce): u8, i16, u32, i64, usize, f32);
    collects_in_rank_order::<f64>(&world, All);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn any_pod_is_collected_at_every_root(world: Communicator) {
    for_types!(collects_in_rank_order(&world, EachOnce): Particle, [u8; 3], ());
}
