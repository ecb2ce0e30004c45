//! A communicator with a topology is a communicator.

use ranks_collectives::{Collectives, ops::Sum};
use ranks_comm::{Communicator, Result};

#[ranks_test::ranks(1, 2, 3, 4)]
fn rows_of_a_grid_sum_up_and_pass_their_first(world: Communicator) -> Result<()> {
    let mut dims = [0, 0];
    world.dims_create(world.size(), &mut dims)?;
    let grid = world.cart_create(&dims, &[true, false], false)?.unwrap();
    let row = grid.sub(&[false, true])?;

    let mut sum = [0];
    row.allreduce(&[grid.rank()], &mut sum, Sum)?;
    let first = grid.my_coords()[0] * dims[1];
    assert_eq!(sum, [(first..first + dims[1]).sum::<usize>()]);

    let mut corner = [grid.rank() + 7];
    grid.bcast(&mut corner, 0)?;
    assert_eq!(corner, [7]);
    grid.barrier()
}
