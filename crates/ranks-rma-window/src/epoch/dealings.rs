//! Numbers of posts to each origin and of starts with each target on this rank.

/// State known on this rank alone; the counts of both sides must agree before a window is freed.
#[derive(Debug, Default)]
pub(crate) struct Dealings {
    posts: Numbers,
    starts: Numbers,
    exposed: bool,
}

impl Dealings {
    /// The part was posted to `origins`.
    pub(crate) fn post(&mut self, origins: &[usize]) {
        for &origin in origins {
            self.posts.count(origin);
        }
        self.exposed = true;
    }

    /// An epoch was started with `targets`.
    pub(crate) fn start(&mut self, targets: &[usize]) {
        for &target in targets {
            self.starts.count(target);
        }
    }

    /// All origins have completed.
    pub(crate) fn close(&mut self) {
        self.exposed = false;
    }

    pub(crate) fn posts_to(&self, origin: usize) -> u64 {
        self.posts.of(origin)
    }

    pub(crate) fn starts_with(&self, target: usize) -> u64 {
        self.starts.of(target)
    }

    /// Returns true if the part is posted and its origins have not been waited for.
    pub(crate) fn is_exposed(&self) -> bool {
        self.exposed
    }
}

/// Numbers by rank, in ascending order of these.
#[derive(Debug, Default)]
struct Numbers(Vec<(usize, u64)>);

impl Numbers {
    fn place(&self, rank: usize) -> Result<usize, usize> {
        self.0.binary_search_by_key(&rank, |(rank, _)| *rank)
    }

    fn count(&mut self, rank: usize) {
        match self.place(rank) {
            Ok(place) => self.0[place].1 += 1,
            Err(place) => self.0.insert(place, (rank, 1)),
        }
    }

    fn of(&self, rank: usize) -> u64 {
        self.place(rank).map_or(0, |place| self.0[place].1)
    }
}
