//! Near which ranks the pages of a shared window lie.

use std::ops::Range;

use bytemuck::Pod;
use ranks_comm::Result;

use super::plan::Plan;
use super::segments::Segments;
use crate::page::page_size;

/// Near which ranks the memory of a window lies, where a node has several parts of memory, each
/// nearer to some of its ranks.
///
/// The system puts a page near whoever writes to it first. Memory that processes share is taken
/// from the system when the window is made, each page by the rank that it is to be near; that of
/// one process when it is used, unless another placement than [`Owner`](Self::Owner) is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Placement {
    /// Near the rank whose segment it is. The default. With
    /// [`Spacing::Pages`](super::Spacing::Pages) no page belongs to two ranks.
    #[default]
    Owner,
    /// All near rank 0.
    Leader,
    /// One page after the other near each of the ranks in turn: for memory that all read all over.
    Interleave,
    /// In as many equal pieces as there are ranks, each near one of them, whatever the lengths of
    /// segments: for memory that ranks share out by index.
    StripeByRank,
}

/// Number of bytes of a large page.
const LARGE: usize = 2 << 20;

impl Placement {
    /// Share of one of so many ranks, in the units into which the memory is divided: the first, the
    /// end, and the stride.
    fn share(self, units: usize, rank: usize, ranks: usize) -> (usize, usize, usize) {
        match self {
            Self::Owner => (0, 0, 1),
            Self::Leader if rank == 0 => (0, units, 1),
            Self::Leader => (0, 0, 1),
            Self::Interleave => (rank, units, ranks),
            Self::StripeByRank => {
                let part = units.div_ceil(ranks);
                let begin = (part * rank).min(units);
                (begin, (begin + part).min(units), 1)
            }
        }
    }

    /// The parts of so many bytes that one of so many ranks is to touch, each at most a page (or a
    /// large page) long, which begin where pages do if the bytes begin so.
    pub(crate) fn parts(
        self,
        bytes: usize,
        rank: usize,
        ranks: usize,
        large: bool,
    ) -> impl Iterator<Item = Range<usize>> {
        let page = page_size();
        let unit = if large { LARGE.max(page) } else { page };
        let (begin, end, step) = self.share(bytes.div_ceil(unit), rank, ranks);
        let parts = (begin..end).step_by(step).map(move |n| n * unit);
        parts.map(move |at| at..bytes.min(at + unit))
    }

    /// Takes from the system what this rank is to take, and touches it where it is on a heap. All
    /// ranks do, before any of them uses the memory.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`](ranks_comm::ErrorKind::Memory) if there is none.
    pub(super) fn take<T: Pod>(
        self,
        segments: &Segments<T>,
        plan: &Plan,
        large: bool,
    ) -> Result<()> {
        let rank = segments.rank();
        // The marks are near rank 0.
        let marks = (rank == 0).then_some(0..plan.data);
        let own = (self == Self::Owner).then(|| plan.segment::<T>(rank));
        for bytes in marks.into_iter().chain(own) {
            // SAFETY: the shares of ranks are apart, and each is taken before the first phase
            // begins.
            unsafe { segments.take(bytes, false) }?;
        }
        for part in self.parts(plan.bytes - plan.data, rank, segments.size(), large) {
            let part = plan.data + part.start..plan.data + part.end;
            // SAFETY: as above.
            unsafe { segments.take(part, true) }?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(placement: Placement, units: usize, ranks: usize) -> Vec<Vec<usize>> {
        let share = |rank| {
            let (begin, end, step) = placement.share(units, rank, ranks);
            (begin..end).step_by(step).collect()
        };
        (0..ranks).map(share).collect()
    }

    #[test]
    fn each_page_is_touched_by_the_rank_that_it_is_to_be_near() {
        assert_eq!(shares(Placement::Owner, 5, 2), [vec![], vec![]]);
        assert_eq!(shares(Placement::Leader, 3, 2), [vec![0, 1, 2], vec![]]);
        assert_eq!(
            shares(Placement::Interleave, 5, 2),
            [vec![0, 2, 4], vec![1, 3]]
        );
        assert_eq!(
            shares(Placement::StripeByRank, 5, 2),
            [vec![0, 1, 2], vec![3, 4]]
        );
        let four = shares(Placement::StripeByRank, 5, 4);
        assert_eq!(four, [vec![0, 1], vec![2, 3], vec![4], vec![]]);
        assert_eq!(shares(Placement::StripeByRank, 0, 2), [vec![], vec![]]);
    }
}
