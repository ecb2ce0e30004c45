//! Ranks of MPI, or of the threads that stand for it, are one communicator of NCCL as well.

use ranks_collectives::Topologies;
use ranks_collectives::topology::Domain;
use ranks_comm::{Communicator, Result};
use ranks_nccl::NcclCommunicator;

use crate::support::options;

#[ranks_test::ranks(2)]
fn a_communicator_starts_nccl(world: Communicator) -> Result<()> {
    // The double of NCCL knows memory that ranks share, and no network.
    let node = world.split_by(Domain::Node)?.unwrap();
    let comm = NcclCommunicator::new(&node, node.rank(), &options())?;
    assert_eq!((comm.rank(), comm.size()), (node.rank(), node.size()));
    let part = comm
        .split(Some(u32::try_from(comm.rank()).unwrap()), 0)?
        .unwrap();
    assert_eq!(part.size(), 1);
    part.finalize()?;
    comm.finalize()
}
