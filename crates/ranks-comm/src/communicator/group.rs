//! Groups: ordered sets of processes, from which communicators are made.

use std::sync::Arc;

use crate::result::{Error, ErrorKind, Result};
use crate::transport::comparison::Comparison;

/// An ordered set of processes: rank *i* of the group is the *i*-th of them.
///
/// A group is plain data; all its operations are local, need no library and no free. It comes from
/// [`Communicator::group`](crate::Communicator::group) and becomes a communicator by
/// [`Communicator::create`](crate::Communicator::create) or
/// [`Communicator::create_group`](crate::Communicator::create_group). In process, where ranks are
/// threads, those of two runs are in no group together.
///
/// MPI 5.0 §7.3.
#[doc(alias = "MPI_Group")]
#[doc(alias = "MPI_Group_free")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The number of the world in this process; 0 over MPI.
    world: u64,
    /// Ranks of the world.
    members: Arc<[usize]>,
    /// My rank in the world.
    me: usize,
}

impl Group {
    /// The group of these ranks of a world; `index` is that of this process among them.
    pub(crate) fn new(world: u64, members: Vec<usize>, index: usize) -> Self {
        let me = members[index];
        Self {
            world,
            members: members.into(),
            me,
        }
    }

    /// Another group, for the same process.
    pub(crate) fn with(&self, members: impl IntoIterator<Item = usize>) -> Self {
        Self {
            world: self.world,
            members: members.into_iter().collect(),
            me: self.me,
        }
    }

    /// The world ranks of those processes of `other` that may be in this group: none of another
    /// world.
    fn those_here<'a>(&self, other: &'a Self) -> &'a [usize] {
        if self.world == other.world {
            &other.members
        } else {
            &[]
        }
    }

    pub(crate) fn world_ranks(&self) -> &[usize] {
        &self.members
    }

    /// The number of processes.
    #[doc(alias = "MPI_Group_size")]
    #[must_use]
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// This process's rank in the group, `None` if it is not in it.
    #[doc(alias = "MPI_Group_rank")]
    #[must_use]
    pub fn rank(&self) -> Option<usize> {
        self.members.iter().position(|&rank| rank == self.me)
    }

    /// The group of the processes with these ranks, in this order.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if a rank is not in the group or is named twice.
    ///
    /// MPI 5.0 §7.3.2 (`MPI_Group_incl`).
    #[doc(alias = "MPI_Group_incl")]
    pub fn include(&self, ranks: &[usize]) -> Result<Self> {
        self.check("MPI_Group_incl", ranks)?;
        Ok(self.with(ranks.iter().map(|&rank| self.members[rank])))
    }

    /// The group without the processes with these ranks, in the order of this group.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if a rank is not in the group or is named twice.
    ///
    /// MPI 5.0 §7.3.2 (`MPI_Group_excl`).
    #[doc(alias = "MPI_Group_excl")]
    pub fn exclude(&self, ranks: &[usize]) -> Result<Self> {
        let gone = self.check("MPI_Group_excl", ranks)?;
        let left = (0..self.size()).filter(|rank| gone.binary_search(rank).is_err());
        Ok(self.with(left.map(|rank| self.members[rank])))
    }

    /// The group of the processes with the ranks of these ranges, in this order.
    ///
    /// A range is `(first, last, stride)`: the ranks `first`, `first + stride` and so on, up to
    /// `last` or, if the stride is negative, down to `last`. A range whose `last` lies before its
    /// `first` has no ranks.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if a rank is not in the group or is named twice; [`ErrorKind::Argument`]
    /// if a stride is 0.
    ///
    /// MPI 5.0 §7.3.2 (`MPI_Group_range_incl`).
    #[doc(alias = "MPI_Group_range_incl")]
    pub fn range_include(&self, ranges: &[(usize, usize, isize)]) -> Result<Self> {
        const OPERATION: &str = "MPI_Group_range_incl";
        let ranks = self.expand(OPERATION, ranges)?;
        Ok(self.with(ranks.iter().map(|&rank| self.members[rank])))
    }

    /// The group without the processes with the ranks of these ranges, in the order of this group.
    ///
    /// Ranges are as in [`range_include`](Self::range_include).
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if a rank is not in the group or is named twice; [`ErrorKind::Argument`]
    /// if a stride is 0.
    ///
    /// MPI 5.0 §7.3.2 (`MPI_Group_range_excl`).
    #[doc(alias = "MPI_Group_range_excl")]
    pub fn range_exclude(&self, ranges: &[(usize, usize, isize)]) -> Result<Self> {
        self.exclude(&self.expand("MPI_Group_range_excl", ranges)?)
    }

    /// The empty group.
    ///
    /// MPI 5.0 §7.3 (`MPI_GROUP_EMPTY`).
    #[doc(alias = "MPI_GROUP_EMPTY")]
    #[must_use]
    pub fn empty(&self) -> Self {
        self.with([])
    }

    /// Returns `true` if the group is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The processes of this group, then those of `other` that are not in it.
    ///
    /// MPI 5.0 §7.3.2 (`MPI_Group_union`).
    #[doc(alias = "MPI_Group_union")]
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mine = sorted(&self.members);
        let theirs = self.those_here(other).iter();
        let new = theirs.filter(|rank| mine.binary_search(rank).is_err());
        self.with(self.members.iter().chain(new).copied())
    }

    /// The processes of this group that are in `other` too, in the order of this group.
    ///
    /// MPI 5.0 §7.3.2 (`MPI_Group_intersection`).
    #[doc(alias = "MPI_Group_intersection")]
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.those(other, true)
    }

    /// The processes of this group that are not in `other`, in the order of this group.
    ///
    /// MPI 5.0 §7.3.2 (`MPI_Group_difference`).
    #[doc(alias = "MPI_Group_difference")]
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.those(other, false)
    }

    /// The processes of this group that are in `other`, or are not.
    fn those(&self, other: &Self, are_in: bool) -> Self {
        let theirs = sorted(self.those_here(other));
        let mine = self.members.iter().copied();
        self.with(mine.filter(|rank| theirs.binary_search(rank).is_ok() == are_in))
    }

    /// Translates these ranks of this group to ranks in `other`; `None` where a process is not in
    /// it.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if a rank is not in this group.
    ///
    /// MPI 5.0 §7.3.1 (`MPI_Group_translate_ranks`).
    #[doc(alias = "MPI_Group_translate_ranks")]
    pub fn translate(&self, ranks: &[usize], other: &Self) -> Result<Vec<Option<usize>>> {
        let theirs = self.those_here(other);
        let translated = ranks.iter().map(|&rank| match self.members.get(rank) {
            Some(member) => Ok(theirs.iter().position(|theirs| theirs == member)),
            None => Err(self.no_rank("MPI_Group_translate_ranks", rank)),
        });
        translated.collect()
    }

    /// Compares two groups: [`Comparison::Identical`], [`Comparison::Similar`] or
    /// [`Comparison::Unequal`].
    ///
    /// MPI 5.0 §7.3.1 (`MPI_Group_compare`).
    #[doc(alias = "MPI_Group_compare")]
    #[must_use]
    pub fn compare(&self, other: &Self) -> Comparison {
        let theirs = self.those_here(other);
        if theirs.len() != other.size() {
            Comparison::Unequal
        } else if *self.members == *theirs {
            Comparison::Identical
        } else if sorted(&self.members) == sorted(theirs) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    /// The ranks of the ranges, each of them in the group and named once.
    fn expand(
        &self,
        operation: &'static str,
        ranges: &[(usize, usize, isize)],
    ) -> Result<Vec<usize>> {
        let mut ranks = Vec::new();
        for &(first, last, stride) in ranges {
            let step = stride.unsigned_abs();
            if step == 0 {
                let why = format_args!("the range from {first} to {last} has a stride of 0");
                return Err(Error::new(ErrorKind::Argument, operation, why));
            }
            // The ends are checked first, so that no range is longer than the group.
            let (low, high) = if stride > 0 {
                (first, last)
            } else {
                (last, first)
            };
            if low > high {
                continue;
            }
            if high >= self.size() {
                return Err(self.no_rank(operation, high));
            }
            let distances = (0..=high - low).step_by(step);
            if stride > 0 {
                ranks.extend(distances.map(|distance| low + distance));
            } else {
                ranks.extend(distances.map(|distance| high - distance));
            }
        }
        self.check(operation, &ranks)?;
        Ok(ranks)
    }

    /// Checks that these ranks are in the group, each named once; returns them in order.
    fn check(&self, operation: &'static str, ranks: &[usize]) -> Result<Vec<usize>> {
        if let Some(&outside) = ranks.iter().find(|&&rank| rank >= self.size()) {
            return Err(self.no_rank(operation, outside));
        }
        let sorted = sorted(ranks);
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let why = format_args!("rank {} is named twice", twice[0]);
            return Err(Error::new(ErrorKind::Rank, operation, why));
        }
        Ok(sorted)
    }

    fn no_rank(&self, operation: &'static str, rank: usize) -> Error {
        let why = format_args!("rank {rank} is not in this group of {}", self.size());
        Error::new(ErrorKind::Rank, operation, why)
    }
}

pub(crate) fn sorted(ranks: &[usize]) -> Vec<usize> {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(members: &[usize]) -> Group {
        Group::new(0, [members, &[2]].concat(), members.len()).with(members.iter().copied())
    }

    #[test]
    fn processes_of_another_world_are_others() {
        let here = group(&[1, 2]);
        let there = Group::new(7, vec![2, 1], 0);
        assert_eq!(here.compare(&there), Comparison::Unequal);
        assert_eq!(here.union(&there), here);
        assert_eq!(here.difference(&there), here);
        assert!(here.intersection(&there).is_empty());
        assert_eq!(here.translate(&[0], &there).unwrap(), [None]);
        assert_eq!(here.empty().compare(&there.empty()), Comparison::Identical);
    }

    #[test]
    fn include_keeps_the_order_given() {
        let some = group(&[4, 2, 9, 7]).include(&[3, 1]).unwrap();
        assert_eq!(some, group(&[7, 2]));
        assert_eq!(some.rank(), Some(1));
        assert_eq!(group(&[4, 5]).rank(), None);
    }

    #[test]
    fn exclude_keeps_the_order_it_had() {
        assert_eq!(group(&[4, 2, 9]).exclude(&[0]).unwrap(), group(&[2, 9]));
        assert_eq!(group(&[4]).exclude(&[0]).unwrap().size(), 0);
    }

    #[test]
    fn wrong_ranks_are_refused() {
        assert_eq!(
            group(&[4]).include(&[1]).unwrap_err().kind(),
            ErrorKind::Rank
        );
        assert_eq!(
            group(&[4, 5]).exclude(&[1, 1]).unwrap_err().kind(),
            ErrorKind::Rank
        );
    }

    #[test]
    fn ranges_go_up_and_down() {
        let all = group(&[10, 11, 12, 13, 14, 15, 16, 17]);
        let some = all.range_include(&[(0, 4, 2), (7, 5, -2)]).unwrap();
        assert_eq!(some, group(&[10, 12, 14, 17, 15]));
        let rest = all.range_exclude(&[(7, 0, -3)]).unwrap();
        assert_eq!(rest, group(&[10, 12, 13, 15, 16]));
        assert_eq!(all.range_include(&[(3, 2, 1)]).unwrap(), all.empty());
        assert_eq!(all.range_include(&[(2, 3, -1)]).unwrap(), all.empty());
        assert!(all.empty().is_empty() && !all.is_empty());
    }

    #[test]
    fn wrong_ranges_are_refused() {
        let all = group(&[10, 11, 12, 13]);
        let kind = |ranges: &[(usize, usize, isize)]| all.range_include(ranges).unwrap_err().kind();
        assert_eq!(kind(&[(0, 2, 0)]), ErrorKind::Argument);
        assert_eq!(kind(&[(0, 4, 1)]), ErrorKind::Rank);
        assert_eq!(kind(&[(usize::MAX, 0, -1)]), ErrorKind::Rank);
        assert_eq!(kind(&[(0, 2, 1), (2, 3, 1)]), ErrorKind::Rank);
        assert_eq!(kind(&[(0, usize::MAX, isize::MAX)]), ErrorKind::Rank);
        let one = all.range_include(&[(3, 0, isize::MIN)]).unwrap();
        assert_eq!(one, group(&[13]));
    }

    #[test]
    fn set_operations_follow_the_first_group() {
        let (a, b) = (group(&[3, 1, 2]), group(&[5, 2, 3]));
        assert_eq!(a.union(&b), group(&[3, 1, 2, 5]));
        assert_eq!(a.intersection(&b), group(&[3, 2]));
        assert_eq!(a.difference(&b), group(&[1]));
        assert_eq!(a.translate(&[0, 1], &b).unwrap(), [Some(2), None]);
    }

    #[test]
    fn comparison_sees_the_order() {
        assert_eq!(
            group(&[1, 2]).compare(&group(&[1, 2])),
            Comparison::Identical
        );
        assert_eq!(group(&[1, 2]).compare(&group(&[2, 1])), Comparison::Similar);
        assert_eq!(group(&[1, 2]).compare(&group(&[1, 3])), Comparison::Unequal);
    }
}
