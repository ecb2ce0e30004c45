//! Reduction: the root combines the contributions in the order of ranks.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::{bytes, bytes_mut};
use super::call::{Call, Outcome};
use crate::arguments::reducing::Reducing;
use crate::ops::Reduction;
use crate::ops::user_op::Panicked;

pub(crate) fn reduce<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    Reducing { transfer, .. }: Reducing<'_, T>,
) -> Result<()> {
    let call = Call::of::<T>(comm, transfer.operation());
    let root = transfer.root_rank();
    let own = 0..transfer.block();
    let (send, recv) = transfer.into_copied(own);
    reduce_slices(&call, op, &send, recv, root)
}

/// `recv` is as long as `send` at the root, and not looked at elsewhere.
pub(super) fn reduce_slices<T: Pod, O: Reduction<T>>(
    call: &Call<'_>,
    op: &O,
    send: &[T],
    recv: &mut [T],
    root: usize,
) -> Result<()> {
    if call.rank() != root {
        return call.send(root, bytes(send));
    }
    let mut outcome = Outcome::default();
    let mut contribution = bytemuck::zeroed_vec(send.len());
    for rank in 0..call.size() {
        let next = if rank == root {
            send
        } else {
            outcome.note(call.receive(rank, bytes_mut(&mut contribution)));
            &contribution
        };
        outcome.note(combine(call, op, rank == 0, recv, next));
    }
    outcome.result()
}

/// Combines what the lower ranks came to, in `sum`, with what the `next` rank passed, which is the
/// `first` or not.
///
/// # Errors
/// [`ErrorKind::Argument`](ranks_comm::ErrorKind::Argument) if the operation panics.
pub(super) fn combine<T: Pod, O: Reduction<T>>(
    call: &Call<'_>,
    op: &O,
    first: bool,
    sum: &mut [T],
    next: &[T],
) -> Result<()> {
    if first {
        sum.copy_from_slice(next);
        return Ok(());
    }
    Panicked::caught(call.operation, || {
        for (left, &right) in sum.iter_mut().zip(next) {
            *left = op.combine(*left, right);
        }
    })
}
