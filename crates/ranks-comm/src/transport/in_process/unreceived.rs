//! The messages that are still there when the ranks of a run have ended, and the receives that were
//! dropped before theirs came.

use ranks_launch::Count;

use super::mailbox::Pattern;
use super::partitioned::as_sent;
use super::world::World;
use crate::call::lock::lock;
use crate::call::unreceived::{self, Left, MESSAGES, RECEIVES};

impl World {
    /// Tells of them, unless a rank has failed.
    pub(super) fn tell_of_unreceived(&self) {
        if self.failure().is_some() {
            return;
        }
        for rank in 0..self.size() {
            let queues = self.queues(rank);
            let messages = Left::of(queues.unreceived(), |(pattern, bytes)| {
                let (pattern, bytes, part) = as_sent(pattern, bytes);
                format!("{part}{} {}", Count(bytes, "byte"), self.origin(pattern))
            });
            let receives = Left::of(queues.abandoned(), |pattern| self.origin(pattern));
            unreceived::warn((rank, self.size()), MESSAGES, &messages);
            unreceived::warn((rank, self.size()), RECEIVES, &receives);
        }
    }

    fn origin(&self, pattern: Pattern) -> String {
        let names = lock(&self.names);
        let name = names.get(&pattern.context).map_or("", String::as_str);
        unreceived::origin(pattern.source, pattern.tag, name)
    }
}
