//! numr's operations on slices, each waited for.

use bytemuck::Pod;
use ranks_comm::Communicator as World;
use ranks_numr::{NumrCommunicator, NumrOptions};

use super::numr::dtype::DType;
use super::numr::error::Result;
use super::numr::runtime::{Communicator, ReduceOp};

/// What a case comes to.
pub(super) type Outcome = std::result::Result<(), Box<dyn std::error::Error + Send + Sync>>;

pub(super) const OPS: [ReduceOp; 4] = [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Min, ReduceOp::Max];

/// A communicator as most programs make it; ranks compare their calls as they do in the build at
/// hand.
pub(super) fn over(world: &World) -> ranks_comm::Result<NumrCommunicator> {
    NumrCommunicator::over(world, NumrOptions::new())
}

pub(super) fn all_reduce<T: Pod>(
    comm: &dyn Communicator,
    data: &mut [T],
    dtype: DType,
    op: ReduceOp,
) -> Result<()> {
    assert_eq!(size_of::<T>(), dtype.size_in_bytes());
    // SAFETY: the slice has as many elements, and is borrowed until `sync` is over.
    unsafe { comm.all_reduce(data.as_mut_ptr() as u64, data.len(), dtype, op)? };
    comm.sync()
}

pub(super) fn broadcast<T: Pod>(
    comm: &dyn Communicator,
    data: &mut [T],
    dtype: DType,
    root: usize,
) -> Result<()> {
    assert_eq!(size_of::<T>(), dtype.size_in_bytes());
    // SAFETY: as above.
    unsafe { comm.broadcast(data.as_mut_ptr() as u64, data.len(), dtype, root)? };
    comm.sync()
}

pub(super) fn all_gather<T: Pod>(
    comm: &dyn Communicator,
    send: &[T],
    recv: &mut [T],
    dtype: DType,
) -> Result<()> {
    assert_eq!(recv.len(), send.len() * comm.world_size());
    let (from, to) = (send.as_ptr() as u64, recv.as_mut_ptr() as u64);
    // SAFETY: as above, and the lengths fit.
    unsafe { comm.all_gather(from, to, send.len(), dtype)? };
    comm.sync()
}

pub(super) fn reduce_scatter<T: Pod>(
    comm: &dyn Communicator,
    send: &[T],
    recv: &mut [T],
    dtype: DType,
    op: ReduceOp,
) -> Result<()> {
    assert_eq!(send.len(), recv.len() * comm.world_size());
    let (from, to) = (send.as_ptr() as u64, recv.as_mut_ptr() as u64);
    // SAFETY: as above, and the lengths fit.
    unsafe { comm.reduce_scatter(from, to, recv.len(), dtype, op)? };
    comm.sync()
}
