//! All to all, with blocks of different lengths.

use bytemuck::Pod;
use ranks_comm::backend::TypeOf;
use ranks_comm::{Communicator, Result};

use crate::agreement::{CallSignature, all_ready};
use crate::arguments::blocks::Blocks;
use crate::mpi;
use crate::mpi::functions::{Alltoall, Alltoallv};
use crate::operation::moves;
use crate::operation::varying::counts;
use crate::operation::varying::gathered::Gathered;

const NAME: &str = "MPI_Alltoallv";

pub(crate) fn alltoallv<T: Pod>(
    comm: &Communicator,
    send: &[T],
    blocks: &Blocks,
) -> Result<Gathered<T>> {
    let mut gathered = Gathered::default();
    alltoallv_again(comm, send, blocks, &mut gathered)?;
    Ok(gathered)
}

pub(crate) fn alltoallv_again<T: Pod>(
    comm: &Communicator,
    send: &[T],
    blocks: &Blocks,
    gathered: &mut Gathered<T>,
) -> Result<()> {
    let ready = blocks.fit(NAME, comm, "send", send.len());
    found_out(comm, ready.map(|()| (send, blocks)), gathered)
}

pub(crate) fn alltoallv_from<T: Pod, S: AsRef<[T]>>(
    comm: &Communicator,
    parts: impl IntoIterator<Item = (usize, S)>,
) -> Result<Gathered<T>> {
    let mut parts: Vec<(usize, S)> = parts.into_iter().collect();
    let mut gathered = Gathered::default();
    match packed(comm, &mut parts) {
        Ok((send, blocks)) => found_out(comm, Ok((&send, &blocks)), &mut gathered),
        Err(error) => found_out(comm, Err::<(&[T], _), _>(error), &mut gathered),
    }?;
    Ok(gathered)
}

/// The parts one after the other, in the order of the ranks that they are for.
///
/// # Errors
/// [`Rank`](ranks_comm::ErrorKind::Rank) if one is for no rank,
/// [`Length`](ranks_comm::ErrorKind::Length) if all of them are too long.
fn packed<T: Pod, S: AsRef<[T]>>(
    comm: &Communicator,
    parts: &mut [(usize, S)],
) -> Result<(Vec<T>, Blocks)> {
    let mut counts = vec![0; comm.size()];
    for (dest, part) in &*parts {
        let count = counts
            .get_mut(*dest)
            .ok_or_else(|| counts::no_such_rank(NAME, comm, *dest))?;
        // Slices that exist are not so long, unless one is passed again and again.
        *count = part.as_ref().len().saturating_add(*count);
    }
    let blocks = Blocks::from_counts(&counts)?;
    let mut send = Vec::new();
    if send.try_reserve_exact(blocks.end()).is_err() {
        return Err(counts::no_memory::<T>(NAME, blocks.end()));
    }
    parts.sort_by_key(|&(dest, _)| dest);
    for (_, part) in &*parts {
        send.extend_from_slice(part.as_ref());
    }
    Ok((send, blocks))
}

/// `blocks` are those of `send`, then those of `recv`.
#[inline]
pub(crate) fn alltoallv_into<T: Pod>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    blocks: (&Blocks, &Blocks),
) -> Result<()> {
    let items = TypeOf::<T>::items();
    moves::transferred_by::<Alltoallv, T, _>(
        comm,
        send.len(),
        (send, recv),
        blocks,
        blocks.0.kept_ints(items).zip(blocks.1.kept_ints(items)),
        |comm, ints, exchange| mpi::exchanges::small::<T>(comm, ints, exchange),
    )
}

fn found_out<T: Pod>(
    comm: &Communicator,
    ready: Result<(&[T], &Blocks)>,
    gathered: &mut Gathered<T>,
) -> Result<()> {
    let (send, blocks) = all_ready(comm, CallSignature::moving::<T>(NAME), ready)?;
    let mut sent = vec![0; comm.size()];
    counts::write(blocks, &mut sent);
    let mut received = vec![0; comm.size()];
    moves::transferred::<Alltoall, u64>(comm, 1, &sent, &mut received, ())?;
    let theirs = counts::read(NAME, &received)?;
    let (recv, theirs) = gathered.make_room(comm, NAME, theirs)?;
    alltoallv_into(comm, send, recv, (blocks, theirs))
}
