//! Each rank hears of the one before.

use ranks::prelude::*;

#[ranks_test::ranks(1, 2, 4)]
fn each_rank_hears_of_the_one_before(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut heard = [usize::MAX];
    world.sendrecv(&[rank], right, 7, &mut heard, left, 7)?;
    assert_eq!(heard, [left]);
    Ok(())
}
