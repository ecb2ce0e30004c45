//! A sum over ranks.

use ranks::prelude::*;

#[ranks_test::ranks(1, 2, 3)]
fn all_ranks_have_the_sum(world: Communicator) -> Result<()> {
    let sum = world.allreduce_one(world.rank() + 1, Sum)?;
    assert_eq!(sum, world.size() * (world.size() + 1) / 2);
    Ok(())
}
