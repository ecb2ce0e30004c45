//! A check that what the ranks hold is in order, from one rank to the next as well.

use ranks::prelude::*;

/// Returns `true` on every rank if each rank's `keys` are in order, and none is larger than one of
/// a later rank.
///
/// # Errors
/// Errors of the communication.
pub fn is_sorted<T: Pod + Ord>(world: &Communicator, keys: &[T]) -> Result<bool> {
    let ends: Vec<T> = keys
        .first()
        .into_iter()
        .chain(keys.last())
        .copied()
        .collect();
    let in_order = world.allgatherv(&ends)?.is_sorted(); // two keys of each rank, or none
    Ok(world.allreduce_one(u8::from(in_order && keys.is_sorted()), Min)? == 1)
}
