//! Reduction: the root combines the contributions in the order of ranks.

use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::{bytes, bytes_mut};
use super::call::{Call, Outcome};
use crate::number::Number;
use crate::ops::Op;
use crate::transfer::Transfer;

pub(crate) fn reduce<T: Number, O: Op<T>>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let call = Call {
        comm,
        operation: transfer.operation(),
        width: size_of::<T>(),
    };
    let root = transfer.root_rank();
    let (send, recv) = transfer.into_slices();
    reduce_slices::<T, O>(&call, send, recv, root)
}

/// `recv` is as long as `send` at the root, and not looked at elsewhere.
pub(super) fn reduce_slices<T: Number, O: Op<T>>(
    call: &Call<'_>,
    send: &[T],
    recv: &mut [T],
    root: usize,
) -> Result<()> {
    if call.rank() != root {
        return call.send(root, bytes(send));
    }
    let mut outcome = Outcome::default();
    let mut contribution = vec![T::zeroed(); send.len()];
    for rank in 0..call.size() {
        let next = if rank == root {
            send
        } else {
            outcome.note(call.receive(rank, bytes_mut(&mut contribution)));
            &contribution
        };
        if rank == 0 {
            recv.copy_from_slice(next);
        } else {
            for (left, &right) in recv.iter_mut().zip(next) {
                *left = O::combine(*left, right);
            }
        }
    }
    outcome.result()
}
