//! Ranks as people write them: `0-3, 7`.

use std::fmt;

use serde::Serialize;

/// Ranks in ascending order, as first and last of each range: a dump may claim any size of its job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct RankList {
    ranges: Vec<(usize, usize)>,
}

impl RankList {
    /// Adds `from..until`, which is above all that is there.
    pub(super) fn push_range(&mut self, from: usize, until: usize) {
        let Some(to) = until.checked_sub(1).filter(|to| *to >= from) else {
            return;
        };
        match self.ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(from) => *last = to,
            _ => self.ranges.push((from, to)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn contains(&self, rank: usize) -> bool {
        self.ranges
            .iter()
            .any(|&(first, last)| (first..=last).contains(&rank))
    }

    pub(super) fn is_one(&self) -> bool {
        matches!(self.ranges[..], [(first, last)] if first == last)
    }

    /// `rank 3` or `ranks 0-2`, with the verb that belongs to it.
    pub(super) fn with(&self, one: &str, several: &str) -> String {
        let verb = if self.is_one() { one } else { several };
        format!("{self:#} {verb}")
    }
}

impl FromIterator<usize> for RankList {
    fn from_iter<I: IntoIterator<Item = usize>>(ranks: I) -> Self {
        let mut ranks: Vec<usize> = ranks.into_iter().collect();
        ranks.sort_unstable();
        ranks.dedup();
        let mut list = RankList::default();
        for rank in ranks {
            list.push_range(rank, rank.saturating_add(1));
        }
        list
    }
}

/// `0-3, 7`; `{:#}` has `rank` or `ranks` before it.
impl fmt::Display for RankList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            f.write_str(if self.is_one() { "rank " } else { "ranks " })?;
        }
        for (at, (first, last)) in self.ranges.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            match last - first {
                0 => write!(f, "{first}")?,
                1 => write!(f, "{first}, {last}")?,
                _ => write!(f, "{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_side_by_side_are_a_range() {
        let list: RankList = [7, 2, 0, 1, 3, 9, 10, 2].into_iter().collect();
        assert_eq!(list.to_string(), "0-3, 7, 9, 10");
        assert_eq!(list.with("is", "are"), "ranks 0-3, 7, 9, 10 are");
        let one: RankList = [4].into_iter().collect();
        assert_eq!(one.with("is", "are"), "rank 4 is");
        assert!(one.contains(4) && !list.contains(4));
        let mut most = RankList::default();
        most.push_range(0, usize::MAX);
        most.push_range(5, 5);
        assert_eq!(most.to_string(), format!("0-{}", usize::MAX - 1));
    }
}
