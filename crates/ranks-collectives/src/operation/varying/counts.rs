//! The exchange of the lengths of blocks, for operations that find them out.

use bytemuck::Pod;
use ranks_comm::{Communicator, Error, ErrorKind, Result};

use crate::agreement::{CallSignature, all_ready};
use crate::arguments::blocks::Blocks;
use crate::mpi::functions::Allgather;
use crate::operation::moves;

/// The blocks of all ranks, one after the other, where that of this rank has `own` elements.
/// Collective.
///
/// # Errors
/// As those of an allgather, and of [`read`].
pub(crate) fn of_all(comm: &Communicator, own: usize) -> Result<Blocks> {
    let mut all = vec![0; comm.size()];
    moves::transferred::<Allgather, u64>(comm, 1, &[own as u64], &mut all, ())?;
    read("MPI_Allgather", &all)
}

/// Counts as they travel.
pub(crate) fn write(blocks: &Blocks, travelling: &mut [u64]) {
    for (place, &count) in travelling.iter_mut().zip(blocks.counts()) {
        *place = count as u64;
    }
}

/// Counts that have come from other ranks.
///
/// # Errors
/// [`ErrorKind::Length`] if this machine cannot count so many elements.
pub(crate) fn read(operation: &'static str, travelled: &[u64]) -> Result<Blocks> {
    let counts: Option<Vec<usize>> = travelled
        .iter()
        .map(|&count| usize::try_from(count).ok())
        .collect();
    counts
        .and_then(|counts| Blocks::from_counts(&counts).ok())
        .ok_or_else(|| {
            let detail = "the ranks' blocks are more elements together than a usize can say";
            Error::new(ErrorKind::Length, operation, detail)
        })
}

/// Room for so many elements.
///
/// # Errors
/// [`ErrorKind::Length`] if there is no memory for them.
pub(crate) fn room<T: Pod>(operation: &'static str, elements: usize) -> Result<Vec<T>> {
    bytemuck::allocation::try_zeroed_vec(elements).map_err(|()| no_memory::<T>(operation, elements))
}

/// The same for what all ranks are about to receive by `operation`. Without memory this rank
/// refuses that call, so that those who compare their calls do not wait for it.
///
/// # Errors
/// As those of [`room`].
pub(crate) fn room_to_receive<T: Pod>(
    comm: &Communicator,
    operation: &'static str,
    elements: usize,
) -> Result<Vec<T>> {
    room(operation, elements).or_else(|error| {
        let call = CallSignature::of(operation);
        all_ready(comm, call, Err::<(), _>(error)).map(|()| Vec::new())
    })
}

#[cold]
pub(crate) fn no_memory<T>(operation: &'static str, elements: usize) -> Error {
    Error::new(
        ErrorKind::Length,
        operation,
        format_args!(
            "the ranks' blocks are {elements} elements of {} bytes, for which there is no memory",
            size_of::<T>()
        ),
    )
}

/// The error of something that is for a rank that there is not.
#[cold]
pub(crate) fn no_such_rank(operation: &'static str, comm: &Communicator, rank: usize) -> Error {
    let size = comm.size();
    Error::new(
        ErrorKind::Rank,
        operation,
        format_args!(
            "there is no rank {rank} to send to; ranks run from 0 to {}",
            size - 1
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ranks_comm::{Backend, Checks, Runtime};

    use super::*;
    use crate::Collectives;
    use crate::operation::varying::allgatherv::allgatherv_into;

    /// The others waited for it.
    #[test]
    fn a_rank_without_memory_refuses_the_call_that_others_have_come_to() {
        const SOON: Duration = Duration::from_secs(10);
        let runtime = Runtime::builder().backend(Backend::InProcess).ranks(3);
        let outcome = runtime.checks(Checks::Collective).run(|world| {
            let blocks = Blocks::from_counts(&[1; 3])?;
            let (is_short, mut recv) = (world.rank() == 1, [0; 3]);
            let refused = world.within(SOON, |world| match is_short {
                true => room_to_receive::<u64>(world, "MPI_Allgatherv", usize::MAX).map(drop),
                false => allgatherv_into(world, &[1_u64], &mut recv, &blocks),
            });
            let expected = match is_short {
                true => ErrorKind::Length,
                false => ErrorKind::Mismatch,
            };
            assert_eq!(refused.map_err(|error| error.kind()), Err(expected));
            world.barrier()
        });
        assert!(outcome.is_ok(), "{outcome:?}");
    }
}
