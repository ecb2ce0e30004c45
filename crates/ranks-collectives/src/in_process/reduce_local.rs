//! Reduction of two blocks of this rank.

use bytemuck::Pod;
use ranks_comm::Result;

use crate::arguments::transfer::Transfer;
use crate::ops::Op;
use crate::ops::user_op::Panicked;

pub(crate) fn reduce_local<T: Pod, O: Op<T>>(op: &O, transfer: Transfer<'_, T>) -> Result<()> {
    let operation = transfer.operation();
    let (left, right) = transfer.into_copied(0..0);
    Panicked::caught(operation, || {
        for (&left, right) in left.iter().zip(right) {
            *right = op.combine(left, *right);
        }
    })
}
