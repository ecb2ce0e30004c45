//! What ranks are started over: a communicator.

use ranks_bootstrap::Bootstrap;
use ranks_comm::{Communicator, Result};

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_communicator_tells_all_what_each_passes(world: Communicator) -> Result<()> {
    let bootstrap: &dyn Bootstrap = &world;
    let (rank, size) = (bootstrap.rank(), bootstrap.size());
    assert_eq!((rank, size), (world.rank(), world.size()));
    // Of different lengths, that of rank 0 of none.
    let of = |rank: usize| vec![u8::try_from(rank).unwrap_or(u8::MAX); rank];
    let expected: Vec<Vec<u8>> = (0..size).map(of).collect();
    for _ in 0..2 {
        assert_eq!(bootstrap.exchange(&of(rank))?, expected);
    }
    Ok(())
}
