//! Collective operations on values that are no plain data: on what they are packed into.

use ranks_comm::backend::arrived;
use ranks_comm::{Communicator, Pack, Result};

use crate::Collectives;

pub(crate) fn bcast<T: Pack>(comm: &Communicator, values: &mut [T], root: usize) -> Result<()> {
    let mut packed = T::pack_all(values);
    comm.bcast(&mut packed, root)?;
    if comm.rank() == root {
        return Ok(());
    }
    unpack("MPI_Bcast", &packed, [root], values)
}

pub(crate) fn gather<T: Pack>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    root: usize,
) -> Result<()> {
    let mut packed = T::pack_all(recv);
    comm.gather(&T::pack_all(send), &mut packed, root)?;
    if comm.rank() != root {
        return Ok(());
    }
    unpack("MPI_Gather", &packed, 0..comm.size(), recv)
}

pub(crate) fn allgather<T: Pack>(comm: &Communicator, send: &[T], recv: &mut [T]) -> Result<()> {
    let mut packed = T::pack_all(recv);
    comm.allgather(&T::pack_all(send), &mut packed)?;
    unpack("MPI_Allgather", &packed, 0..comm.size(), recv)
}

pub(crate) fn scatter<T: Pack>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    root: usize,
) -> Result<()> {
    let mut packed = T::pack_all(recv);
    comm.scatter(&T::pack_all(send), &mut packed, root)?;
    unpack("MPI_Scatter", &packed, [root], recv)
}

pub(crate) fn alltoall<T: Pack>(comm: &Communicator, send: &[T], recv: &mut [T]) -> Result<()> {
    let mut packed = T::pack_all(recv);
    comm.alltoall(&T::pack_all(send), &mut packed)?;
    unpack("MPI_Alltoall", &packed, 0..comm.size(), recv)
}

/// Unpacks the blocks of `sources`, which are of one length, into `recv`, if all are values.
fn unpack<T: Pack>(
    operation: &'static str,
    packed: &[T::Packed],
    sources: impl IntoIterator<Item = usize, IntoIter: ExactSizeIterator>,
    recv: &mut [T],
) -> Result<()> {
    let sources = sources.into_iter();
    let block = packed.len() / sources.len();
    let mut values = Vec::with_capacity(packed.len());
    for (block, source) in packed.chunks(block.max(1)).zip(sources) {
        values.append(&mut arrived(operation, block, source)?);
    }
    for (place, value) in recv.iter_mut().zip(values) {
        *place = value;
    }
    Ok(())
}
