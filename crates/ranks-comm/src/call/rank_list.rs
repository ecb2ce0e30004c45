//! Ranks in words, however many they are.

use std::fmt;

/// Ranks in ascending order, of which the first few runs are kept: `rank 3`, `ranks 0 and 2`,
/// `ranks 3, 7-9 and 412 more`.
#[derive(Debug, Clone, Default)]
pub struct RankList {
    /// The first and the last rank of each run.
    runs: Vec<(usize, usize)>,
    /// The number of ranks that are not in `runs`.
    more: usize,
}

/// The most runs that are kept.
const MOST: usize = 8;

impl RankList {
    /// Adds a rank behind all that are there.
    pub fn push(&mut self, rank: usize) {
        if self.more == 0 {
            if let Some((_, last)) = self.runs.last_mut()
                && last.checked_add(1) == Some(rank)
            {
                *last = rank;
                return;
            }
            if self.runs.len() < MOST {
                return self.runs.push((rank, rank));
            }
        }
        self.more += 1;
    }

    /// Counts ranks that are not known.
    pub fn and_more(&mut self, more: usize) {
        self.more += more;
    }

    /// The lowest.
    #[must_use]
    pub fn first(&self) -> Option<usize> {
        self.runs.first().map(|(first, _)| *first)
    }

    /// The number of ranks.
    #[must_use]
    pub fn count(&self) -> usize {
        let runs = self.runs.iter().map(|(first, last)| last - first + 1);
        runs.sum::<usize>() + self.more
    }
}

impl FromIterator<usize> for RankList {
    fn from_iter<I: IntoIterator<Item = usize>>(ranks: I) -> Self {
        let mut list = Self::default();
        ranks.into_iter().for_each(|rank| list.push(rank));
        list
    }
}

impl fmt::Display for RankList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = self.runs.iter().flat_map(|&(first, last)| {
            let (one, other) = match last - first {
                0 => (first.to_string(), None),
                1 => (first.to_string(), Some(last.to_string())),
                _ => (format!("{first}-{last}"), None),
            };
            [Some(one), other]
        });
        let mut items: Vec<String> = items.flatten().collect();
        let last = match self.more {
            0 => items.pop(),
            more => Some(format!("{more} more")),
        };
        let Some(last) = last else {
            return f.write_str("no rank");
        };
        f.write_str(if self.count() == 1 { "rank " } else { "ranks " })?;
        if !items.is_empty() {
            write!(f, "{} and ", items.join(", "))?;
        }
        f.write_str(&last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(ranks: impl IntoIterator<Item = usize>) -> String {
        RankList::from_iter(ranks).to_string()
    }

    #[test]
    fn few_ranks_are_listed_runs_are_drawn_together_and_many_are_counted() {
        assert_eq!(text([]), "no rank");
        assert_eq!(text([3]), "rank 3");
        assert_eq!(text([0, 2, 5]), "ranks 0, 2 and 5");
        assert_eq!(text([0, 1, 5, 6, 7]), "ranks 0, 1 and 5-7");
        assert_eq!(text(0..20), "ranks 0-19");
        assert_eq!(
            text((0..40).step_by(2)),
            "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 12 more"
        );
    }

    #[test]
    fn a_list_is_as_long_for_a_million_ranks_as_for_a_thousand() {
        for size in [1_000, 1_000_000] {
            let odd: RankList = (1..size).step_by(2).collect();
            assert_eq!((odd.count(), odd.first()), (size / 2, Some(1)));
            assert!(odd.runs.capacity() <= MOST && odd.to_string().len() < 64);
        }
    }
}
