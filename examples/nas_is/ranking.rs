//! The ranks of all keys, each known to the rank of the program that has its bucket.

use ranks::prelude::*;

/// The number of buckets, the same for any number of ranks.
const LOG2_BUCKETS: u32 = 10;

/// The knowledge of one rank about the order of all keys.
#[derive(Debug, Default)]
pub(super) struct Ranking {
    /// The keys in its buckets, from whichever rank.
    keys: Vec<u32>,
    /// The smallest key that its buckets are for.
    first: usize,
    /// `below[k - first]`: how many keys of all ranks are smaller than k. One more than its buckets
    /// are for.
    below: Vec<usize>,
}

impl Ranking {
    /// Exchanges the `keys` of all ranks, which are below 2^`log2_limit`, and ranks them.
    pub(super) fn of(world: &Communicator, keys: &[u32], log2_limit: u32) -> Result<Ranking> {
        let shift = log2_limit - LOG2_BUCKETS;
        let bucket = |key: u32| (key >> shift) as usize;
        let mine = counts(keys, 1 << LOG2_BUCKETS, bucket);
        let mut all = mine.clone();
        world.allreduce_in_place(&mut all, Sum)?;

        // Buckets go to ranks in order, to the next rank as soon as one has had its share of the
        // keys.
        let before = running_sum(0, &all);
        let total = before[all.len()];
        let share = |rank| total * rank / world.size();
        let first_bucket = |rank| before.partition_point(|&keys| keys < share(rank));
        let starts: Vec<usize> = (0..=world.size()).map(first_bucket).collect();

        let places = running_sum(0, &mine);
        let in_buckets = placed(keys, places.clone(), bucket);
        let cuts: Vec<usize> = starts.iter().map(|&bucket| places[bucket]).collect();
        let blocks = Blocks::from_cuts(&cuts)?;
        let keys = world.alltoallv(&in_buckets, &blocks)?.into_vec();

        let (start, end) = (starts[world.rank()], starts[world.rank() + 1]);
        let first = start << shift;
        let found = counts(&keys, (end - start) << shift, |key| key as usize - first);
        Ok(Ranking {
            keys,
            first,
            below: running_sum(before[start], &found),
        })
    }

    /// The rank of `key`, if it is in a bucket of this rank of the program.
    pub(super) fn rank(&self, key: u32) -> Option<usize> {
        let index = (key as usize).checked_sub(self.first)?;
        (index + 1 < self.below.len()).then(|| self.below[index])
    }

    /// The keys in its buckets, each put where its rank says.
    pub(super) fn sorted(&self) -> Vec<u32> {
        let places = self.below.iter().map(|below| below - self.below[0]);
        placed(&self.keys, places.collect(), |key| {
            key as usize - self.first
        })
    }
}

/// The number of keys of each kind.
fn counts(keys: &[u32], kinds: usize, kind: impl Fn(u32) -> usize) -> Vec<usize> {
    let mut counts = vec![0; kinds];
    keys.iter().for_each(|&key| counts[kind(key)] += 1);
    counts
}

/// `start` and the sums of the first one, two, … of `counts` more.
fn running_sum(start: usize, counts: &[usize]) -> Vec<usize> {
    let sums = counts.iter().scan(start, |sum, count| {
        *sum += count;
        Some(*sum)
    });
    [start].into_iter().chain(sums).collect()
}

/// The keys kind by kind, where those of each kind begin at `places`.
fn placed(keys: &[u32], mut places: Vec<usize>, kind: impl Fn(u32) -> usize) -> Vec<u32> {
    let mut placed = vec![0; keys.len()];
    for &key in keys {
        let place = &mut places[kind(key)];
        placed[*place] = key;
        *place += 1;
    }
    placed
}
