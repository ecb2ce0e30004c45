//! Numbers of the channels of partitioned communication.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::call::lock::lock;

/// The number of channels that were made, by direction, rank and tag.
#[derive(Debug, Default)]
pub(crate) struct Channels(Mutex<HashMap<(Direction, usize, i32), u64>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Direction {
    Sender,
    Receiver,
}

impl Channels {
    /// The number of a new channel among those of that direction, rank and tag.
    pub(super) fn next(&self, direction: Direction, peer: usize, tag: i32) -> u64 {
        let mut made = lock(&self.0);
        let made = made.entry((direction, peer, tag)).or_default();
        let number = *made;
        *made += 1;
        number
    }
}
