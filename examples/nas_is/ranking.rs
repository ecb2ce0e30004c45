//! The ranks of all keys, each known to the rank of the program that has its bucket.

use ranks::prelude::*;

/// The number of buckets, the same for any number of ranks.
const BUCKETS: usize = 1 << LOG2_BUCKETS;
const LOG2_BUCKETS: u32 = 10;

/// The knowledge of one rank about the order of all keys.
#[derive(Debug, Default)]
pub(super) struct Ranking {
    /// This rank's keys, bucket by bucket.
    in_buckets: Vec<u32>,
    /// The keys in its buckets, from whichever rank.
    keys: Vec<u32>,
    /// The smallest key that its buckets are for.
    first: usize,
    /// `below[k - first]`: how many keys of all ranks are smaller than k. One more than its buckets
    /// are for.
    below: Vec<u32>,
}

impl Ranking {
    /// Exchanges the `keys` of all ranks, which are below 2^`log2_limit`, and ranks them.
    pub(super) fn update(
        &mut self,
        world: &Communicator,
        keys: &[u32],
        log2_limit: u32,
    ) -> Result<()> {
        let shift = log2_limit - LOG2_BUCKETS;
        // The remainder changes nothing, and spares the check of an index.
        let bucket = |key: u32| (key >> shift) as usize % BUCKETS;
        let (mut places, mut before) = ([0; BUCKETS + 1], [0; BUCKETS + 1]);
        count(keys, bucket, &mut places);
        world.allreduce(&places, &mut before, Sum)?;
        let total = add_up(0, &mut before) as usize;
        add_up(0, &mut places);

        // Buckets go to ranks in order, to the next rank as soon as one has had its share of the
        // keys.
        let share = |rank| total * rank / world.size();
        let first_bucket = |rank| before.partition_point(|&keys| (keys as usize) < share(rank));
        let starts: Vec<usize> = (0..=world.size()).map(first_bucket).collect();
        let cuts: Vec<usize> = starts.iter().map(|&start| places[start] as usize).collect();
        place(keys, &mut places, bucket, &mut self.in_buckets);
        self.exchange(world, &Blocks::from_cuts(&cuts)?)?;

        let (start, end) = (starts[world.rank()], starts[world.rank() + 1]);
        let first = start << shift;
        let of_bucket = |key: u32| key as usize - first;
        self.below.clear();
        self.below.resize(((end - start) << shift) + 1, 0);
        count(&self.keys, of_bucket, &mut self.below);
        add_up(before[start], &mut self.below);
        self.first = first;
        Ok(())
    }

    /// Sends each rank the keys in its buckets: one of the `blocks`.
    fn exchange(&mut self, world: &Communicator, blocks: &Blocks) -> Result<()> {
        let mut counts = vec![0; world.size()];
        world.alltoall(blocks.counts(), &mut counts)?;
        let received = Blocks::from_counts(&counts)?;
        self.keys.resize(received.end(), 0);
        world.alltoallv_into(&self.in_buckets, blocks, &mut self.keys, &received)
    }

    /// The rank of `key`, if it is in a bucket of this rank of the program.
    pub(super) fn rank(&self, key: u32) -> Option<usize> {
        let index = (key as usize).checked_sub(self.first)?;
        (index + 1 < self.below.len()).then(|| self.below[index] as usize)
    }

    /// The keys in its buckets, each put where its rank says.
    pub(super) fn sorted(&self) -> Vec<u32> {
        let mut places: Vec<u32> = self
            .below
            .iter()
            .map(|below| below - self.below[0])
            .collect();
        let mut sorted = Vec::new();
        let of_bucket = |key: u32| key as usize - self.first;
        place(&self.keys, &mut places, of_bucket, &mut sorted);
        sorted
    }
}

/// Adds the number of keys of each kind to `counts`.
fn count(keys: &[u32], kind: impl Fn(u32) -> usize, counts: &mut [u32]) {
    keys.iter().for_each(|&key| counts[kind(key)] += 1);
}

/// Makes of each count the sum of `start` and of those before it; the last of them.
fn add_up(start: u32, counts: &mut [u32]) -> u32 {
    counts.iter_mut().fold(start, |sum, count| {
        let next = sum + *count;
        *count = sum;
        next
    })
}

/// Writes the keys kind by kind, where those of each kind begin at `places`, which become where
/// they end.
fn place(keys: &[u32], places: &mut [u32], kind: impl Fn(u32) -> usize, placed: &mut Vec<u32>) {
    placed.resize(keys.len(), 0);
    let placed = placed.as_mut_slice();
    for &key in keys {
        let place = &mut places[kind(key)];
        placed[*place as usize] = key;
        *place += 1;
    }
}
