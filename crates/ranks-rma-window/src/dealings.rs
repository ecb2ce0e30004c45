//! How often this rank has posted its part of a window, and to whom, and with whom it has started.

use std::collections::BTreeMap;

/// What is known on this rank alone; what both sides know must agree before a window is freed.
#[derive(Debug, Default)]
pub(crate) struct Dealings {
    posts: BTreeMap<usize, u64>,
    starts: BTreeMap<usize, u64>,
    exposed: bool,
}

impl Dealings {
    /// The part was posted to `origins`.
    pub(crate) fn post(&mut self, origins: &[usize]) {
        for &origin in origins {
            *self.posts.entry(origin).or_default() += 1;
        }
        self.exposed = true;
    }

    /// An epoch was started with `targets`.
    pub(crate) fn start(&mut self, targets: &[usize]) {
        for &target in targets {
            *self.starts.entry(target).or_default() += 1;
        }
    }

    /// All origins have completed.
    pub(crate) fn close(&mut self) {
        self.exposed = false;
    }

    pub(crate) fn posts_to(&self, origin: usize) -> u64 {
        self.posts.get(&origin).copied().unwrap_or(0)
    }

    pub(crate) fn starts_with(&self, target: usize) -> u64 {
        self.starts.get(&target).copied().unwrap_or(0)
    }

    /// Whether the part is posted, and the origins were not waited for.
    pub(crate) fn is_exposed(&self) -> bool {
        self.exposed
    }
}
