//! Arrays of which each node has one copy, on every backend, and on nodes that are made up so that
//! one machine has several.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a failure is a failed test, and samples are cut to their type on purpose"
)]

mod arena;
mod backends;
mod cosmoforge;
mod fill;
mod huge;
mod identity;
mod mistakes;
mod preflight;
mod threads;
mod update;

use ranks_collectives::Hierarchy;
use ranks_comm::{Communicator, Pod};

/// The ranks in nodes: all of a host in one; one by itself, amid those of another node; each by
/// itself, from the last to the first.
fn nodes(world: &Communicator) -> Vec<Hierarchy> {
    let (me, size) = (world.rank(), world.size());
    let colors = [0, usize::from(me == 1), size - me];
    // Ranks on two hosts are no node, whatever is made up.
    let host = Hierarchy::new(world).unwrap().node_id();
    let by =
        |&color: &usize| Hierarchy::by_color(world, (host * (size + 1) + color) as i32).unwrap();
    colors[..size.min(3)].iter().map(by).collect()
}

/// The value of element `index` of array `number`.
fn value(number: usize, index: usize) -> u64 {
    (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number as u64
}

fn fill_with(number: usize) -> impl Fn(&mut [u64]) {
    move |out| write(number, 0, out)
}

fn write(number: usize, first: usize, out: &mut [u64]) {
    for (index, place) in out.iter_mut().enumerate() {
        *place = value(number, first + index);
    }
}

#[track_caller]
fn expect(found: &[u64], number: usize, length: usize) {
    assert_eq!(found.len(), length);
    let wrong = (0..length).find(|&index| found[index] != value(number, index));
    assert_eq!(wrong, None, "array {number} of {length}");
}

/// Checks that its memory begins at a multiple of a line of the cache.
#[track_caller]
fn expect_aligned<T: Pod>(found: &[T]) {
    assert_eq!(found.as_ptr().addr() % 64, 0);
}
