//! Numbers of posts to each origin and of starts with each target on this rank.

use std::collections::BTreeMap;

/// State known on this rank alone; the counts of both sides must agree before a window is freed.
#[derive(Debug, Default)]
pub(crate) struct Dealings {
    posts: BTreeMap<usize, u64>,
    starts: BTreeMap<usize, u64>,
    exposed_to: Vec<usize>,
}

impl Dealings {
    /// The part was posted to `origins`.
    pub(crate) fn post(&mut self, origins: &[usize]) {
        for &origin in origins {
            *self.posts.entry(origin).or_default() += 1;
        }
        self.exposed_to.clear();
        self.exposed_to.extend_from_slice(origins);
    }

    /// An epoch was started with `targets`.
    pub(crate) fn start(&mut self, targets: &[usize]) {
        for &target in targets {
            *self.starts.entry(target).or_default() += 1;
        }
    }

    /// All origins have completed.
    pub(crate) fn close(&mut self) {
        self.exposed_to.clear();
    }

    pub(crate) fn posts_to(&self, origin: usize) -> u64 {
        self.posts.get(&origin).copied().unwrap_or(0)
    }

    pub(crate) fn starts_with(&self, target: usize) -> u64 {
        self.starts.get(&target).copied().unwrap_or(0)
    }

    /// The origins to whom the part is posted and that have not been waited for.
    pub(crate) fn exposed_to(&self) -> &[usize] {
        &self.exposed_to
    }
}
