//! Two ranks, of which the first panics while the other one waits for it.

use ranks_comm::{Communicator, Error};

fn main() -> Result<(), Error> {
    ranks_comm::run(|world: Communicator| {
        assert_ne!(world.rank(), 0, "out of luck");
        world.recv(&mut [0_u8], 0, 0).map(drop)
    })
}
