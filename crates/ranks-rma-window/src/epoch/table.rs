//! Length of each rank's memory in a window: every access is checked against it before it begins.

use std::ffi::c_int;
use std::fmt::{self, Display};

use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;
use ranks_mpi_sys::MPI_Aint;

/// The part of one rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// In elements.
    pub(crate) len: usize,
    /// Offset of its first element, in bytes from where the library counts.
    pub(crate) start: usize,
}

/// The parts of all ranks, and the size of an element.
#[derive(Debug)]
pub(crate) struct Table {
    parts: Box<[Extent]>,
    width: usize,
}

/// Elements of one rank, known to be there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TargetRange {
    pub(crate) rank: usize,
    /// In bytes from where the library counts.
    pub(crate) at_bytes: usize,
}

impl TargetRange {
    #[inline(always)]
    pub(crate) fn rank(self) -> c_int {
        int(self.rank)
    }

    #[inline(always)]
    pub(crate) fn displacement(self) -> MPI_Aint {
        aint(self.at_bytes)
    }
}

#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a rank of a communicator, whose size is an int"
)]
pub(crate) fn int(rank: usize) -> c_int {
    rank as c_int
}

/// A number of bytes that is known to be one of memory.
#[inline(always)]
#[expect(
    clippy::cast_possible_wrap,
    reason = "no memory is larger than isize::MAX bytes, which creation has checked"
)]
pub(crate) fn aint(bytes: usize) -> MPI_Aint {
    bytes as MPI_Aint
}

/// The ranks whose memory an epoch opens.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Targets<'a> {
    All,
    One(usize),
    /// By one pointer, so that it takes two registers.
    Some(&'a &'a [usize]),
}

impl Targets<'_> {
    #[inline(always)]
    pub(crate) fn include(self, rank: usize) -> bool {
        match self {
            Self::All => true,
            Self::One(only) => rank == only,
            Self::Some(ranks) => among(ranks, rank),
        }
    }
}

/// Apart, since epochs of few ranks are few.
#[cold]
#[inline(never)]
fn among(ranks: &[usize], rank: usize) -> bool {
    ranks.contains(&rank)
}

impl Display for Targets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all ranks"),
            Self::One(rank) => write!(f, "rank {rank}"),
            Self::Some(ranks) => write!(f, "the ranks {ranks:?}"),
        }
    }
}

impl Table {
    /// `None` if a part is larger than memory can be.
    pub(crate) fn new(parts: Box<[Extent]>, width: usize) -> Option<Self> {
        let fits = parts.iter().all(|part| {
            let bytes = part.len.checked_mul(width);
            let end = bytes.and_then(|bytes| bytes.checked_add(part.start));
            end.is_some_and(|end| isize::try_from(end).is_ok())
        });
        fits.then_some(Self { parts, width })
    }

    pub(crate) fn part(&self, rank: usize) -> Option<Extent> {
        self.parts.get(rank).copied()
    }

    /// Range of `len` elements of `rank` from `at` on, if they are there and the epoch opens them.
    #[inline(always)]
    pub(crate) fn place(
        &self,
        operation: &'static str,
        targets: Targets<'_>,
        rank: usize,
        at: usize,
        len: usize,
    ) -> Result<TargetRange> {
        match self.parts.get(rank) {
            Some(part) if at <= part.len && len <= part.len - at && targets.include(rank) => {
                // No overflow: the end of each part was computed in `new`.
                let at_bytes = part.start + at * self.width;
                Ok(TargetRange { rank, at_bytes })
            }
            _ => Err(self.no_place(operation, targets, rank, at, len)),
        }
    }

    #[cold]
    #[inline(never)]
    fn no_place(
        &self,
        operation: &'static str,
        targets: Targets<'_>,
        rank: usize,
        at: usize,
        len: usize,
    ) -> Error {
        let Some(part) = self.parts.get(rank) else {
            return self.no_rank(operation, rank);
        };
        if !targets.include(rank) {
            return Error::new(
                ErrorKind::Argument,
                operation,
                format_args!("rank {rank} is accessed in an epoch that is open to {targets} only"),
            );
        }
        Error::new(
            ErrorKind::Length,
            operation,
            format_args!(
                "{} from {at} on: not in the part of rank {rank}, which has {} in this window",
                Count(len, "element"),
                Count(part.len, "element")
            ),
        )
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn no_rank(&self, operation: &'static str, rank: usize) -> Error {
        let size = self.parts.len();
        Error::new(
            ErrorKind::Rank,
            operation,
            format_args!(
                "rank {rank} is not in this window of {size}; ranks run from 0 to {}",
                size.saturating_sub(1)
            ),
        )
    }

    /// Returns true if there is such a rank, and an epoch is open to it.
    #[cold]
    pub(crate) fn opens(&self, targets: Targets<'_>, rank: usize) -> bool {
        rank < self.parts.len() && targets.include(rank)
    }

    /// # Errors
    /// [`ErrorKind::Rank`] if there is no such rank.
    #[inline]
    pub(crate) fn check_rank(&self, operation: &'static str, rank: usize) -> Result<()> {
        if rank < self.parts.len() {
            return Ok(());
        }
        Err(self.no_rank(operation, rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let parts = [(4, 8), (0, 0), (2, 0)].map(|(len, start)| Extent { len, start });
        Table::new(Box::new(parts), 8).unwrap()
    }

    fn kind(targets: Targets<'_>, rank: usize, at: usize, len: usize) -> Option<ErrorKind> {
        let place = table().place("MPI_Put", targets, rank, at, len);
        place.err().map(|error| error.kind())
    }

    #[test]
    fn places_are_in_bytes_from_the_start_of_the_part() {
        let place = table().place("MPI_Put", Targets::All, 0, 3, 1).unwrap();
        assert_eq!((place.rank(), place.displacement()), (0, 32));
    }

    #[test]
    fn what_is_not_there_is_told() {
        assert_eq!(kind(Targets::All, 0, 4, 0), None);
        assert_eq!(kind(Targets::All, 0, 4, 1), Some(ErrorKind::Length));
        assert_eq!(
            kind(Targets::All, 0, 1, usize::MAX),
            Some(ErrorKind::Length)
        );
        assert_eq!(
            kind(Targets::All, 0, usize::MAX, 1),
            Some(ErrorKind::Length)
        );
        assert_eq!(kind(Targets::All, 1, 0, 1), Some(ErrorKind::Length));
        assert_eq!(kind(Targets::All, 3, 0, 0), Some(ErrorKind::Rank));
        assert_eq!(kind(Targets::One(2), 0, 0, 1), Some(ErrorKind::Argument));
        assert_eq!(
            kind(Targets::Some(&&[0, 1][..]), 2, 0, 1),
            Some(ErrorKind::Argument)
        );
        assert_eq!(kind(Targets::Some(&&[0, 1][..]), 0, 0, 1), None);
    }

    #[test]
    fn what_no_memory_holds_is_no_part() {
        let part = |len, start| Box::new([Extent { len, start }]);
        assert!(Table::new(part(usize::MAX / 8, 0), 8).is_none());
        assert!(Table::new(part(usize::MAX / 8 + 1, 0), 8).is_none());
        assert!(Table::new(part(isize::MAX.unsigned_abs() / 8, 0), 8).is_some());
        assert!(Table::new(part(isize::MAX.unsigned_abs() / 8, 64), 8).is_none());
        assert!(Table::new(part(usize::MAX, 0), 0).is_some());
    }

    #[test]
    fn a_window_knows_two_words_of_each_rank() {
        ranks_scale::row(
            "a window, or what is attached to one",
            (16, 64),
            |ranks| vec![[64, 1 << 20]; ranks],
            |_, told: &Vec<[usize; 2]>| {
                let parts = told.iter().map(|&[start, len]| Extent { len, start });
                Table::new(parts.collect(), 8).unwrap()
            },
        );
    }
}
