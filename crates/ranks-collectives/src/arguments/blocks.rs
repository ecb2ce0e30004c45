//! The division of a slice among ranks whose blocks are not all of the same length.

mod fitting;

use std::borrow::Cow;
use std::ffi::c_int;
use std::ops::Range;
use std::sync::OnceLock;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

/// The name of the operation in errors.
const NAME: &str = "Blocks";

/// A block of a slice for each rank: its length and where it begins, both counted in elements.
///
/// Made once, checked once, and used as often as the same division is needed: the integers of the
/// library's own width are kept, so that a call converts nothing.
///
/// ```
/// use ranks::collectives::Blocks;
///
/// let blocks = Blocks::from_counts(&[3, 0, 2])?;
/// assert_eq!(blocks.displacements(), [0, 3, 3]);
/// assert_eq!((blocks.range(2), blocks.end()), (3..5, 5));
///
/// // 10 elements for 4 ranks, the first ranks get one more.
/// assert_eq!(Blocks::even(10, 4).counts(), [3, 3, 2, 2]);
/// # Ok::<(), ranks::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Blocks {
    counts: Vec<usize>,
    displacements: Vec<usize>,
    end: usize,
    /// The sum of the counts, as far as a `usize` can say it.
    total: usize,
    shape: Shape,
    /// Counts and then displacements, if an `int` can say them all, and the sum of the counts.
    ints: Option<Box<[c_int]>>,
    /// The same for elements that are so many items of a datatype.
    scaled: OnceLock<(usize, Option<Box<[c_int]>>)>,
}

/// The order in which blocks lie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Shape {
    /// One after the other from 0 on, in the order of ranks.
    #[default]
    Packed,
    /// No element is in two blocks, and there are several.
    Disjoint,
    /// There is one block, which does not begin at 0.
    Lonely,
    Overlapping,
}

impl Blocks {
    /// Blocks of these lengths, one after the other. Local.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if their sum is more than a `usize` can say.
    pub fn from_counts(counts: &[usize]) -> Result<Self> {
        let mut displacements = Vec::with_capacity(counts.len());
        let mut end = 0_usize;
        for (rank, &count) in counts.iter().enumerate() {
            displacements.push(end);
            end = end
                .checked_add(count)
                .ok_or_else(|| too_far(rank, count, end))?;
        }
        Ok(Self::checked(
            counts.to_vec(),
            displacements,
            end,
            Shape::Packed,
        ))
    }

    /// Blocks of these lengths that begin at these places, in any order and with any gaps. Local.
    ///
    /// Blocks that overlap can be sent, but not received into; a scatter refuses them.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if there are not as many displacements as counts, or a block ends
    /// beyond what a `usize` can say.
    pub fn new(counts: &[usize], displacements: &[usize]) -> Result<Self> {
        if counts.len() != displacements.len() {
            return Err(Error::new(
                ErrorKind::Length,
                NAME,
                format_args!(
                    "{} and {}; each rank has one of each",
                    Count(counts.len(), "count"),
                    Count(displacements.len(), "displacement")
                ),
            ));
        }
        let mut end = 0;
        for (rank, (&count, &start)) in counts.iter().zip(displacements).enumerate() {
            let last = start
                .checked_add(count)
                .ok_or_else(|| too_far(rank, count, start))?;
            if count > 0 {
                end = end.max(last);
            }
        }
        let shape = Shape::of(counts, displacements);
        Ok(Self::checked(
            counts.to_vec(),
            displacements.to_vec(),
            end,
            shape,
        ))
    }

    /// Blocks between each of these places and the next: one less than there are places. Local.
    ///
    /// ```
    /// use ranks::collectives::Blocks;
    ///
    /// let sorted = [1, 1, 4, 5, 9];
    /// let cuts = [0, 4, 5, 10].map(|limit| sorted.partition_point(|&key| key < limit));
    /// assert_eq!(Blocks::from_cuts(&cuts)?.counts(), [2, 1, 2]);
    /// # Ok::<(), ranks::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if a place lies before the one that precedes it.
    pub fn from_cuts(cuts: &[usize]) -> Result<Self> {
        let counts: Result<Vec<usize>> = cuts
            .windows(2)
            .enumerate()
            .map(|(rank, cut)| {
                cut[1]
                    .checked_sub(cut[0])
                    .ok_or_else(|| goes_back(rank, cut))
            })
            .collect();
        let counts = counts?;
        Self::new(&counts, &cuts[..counts.len()])
    }

    /// `total` elements divided among `ranks` as evenly as can be, in order: the first ones get one
    /// more. Local.
    ///
    /// With no ranks there are no blocks, whatever the total.
    #[must_use]
    pub fn even(total: usize, ranks: usize) -> Self {
        if ranks == 0 {
            return Self::default();
        }
        let (least, more) = (total / ranks, total % ranks);
        let start = |rank: usize| rank * least + rank.min(more);
        let counts = (0..ranks).map(|rank| least + usize::from(rank < more));
        Self::checked(
            counts.collect(),
            (0..ranks).map(start).collect(),
            total,
            Shape::Packed,
        )
    }

    fn checked(counts: Vec<usize>, displacements: Vec<usize>, end: usize, shape: Shape) -> Self {
        let ints = ints(&counts, &displacements, 1);
        let total = total(&counts);
        Self {
            counts,
            displacements,
            end,
            total,
            shape,
            ints,
            scaled: OnceLock::new(),
        }
    }

    /// The number of blocks: one for each rank.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Returns `true` if there are no blocks at all, as in `Blocks::default()`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The length of each block.
    #[must_use]
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// The beginning of each block.
    #[must_use]
    pub fn displacements(&self) -> &[usize] {
        &self.displacements
    }

    /// The end of the last block: a slice that is divided so has at least this many elements.
    /// Blocks of length zero do not count, wherever they are.
    #[inline]
    #[must_use]
    pub fn end(&self) -> usize {
        self.end
    }

    /// The place of the block of `rank`, to index the slice with. A block of no elements is taken
    /// to be no farther than [`end`](Self::end), wherever it is said to begin.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn range(&self, rank: usize) -> Range<usize> {
        let start = self.displacements[rank].min(self.end);
        // No overflow, and no more than `end`: the ends were computed when this was made.
        start..start + self.counts[rank]
    }

    /// Returns `true` if no element is in two blocks.
    #[inline]
    #[must_use]
    pub fn is_disjoint(&self) -> bool {
        self.shape != Shape::Overlapping
    }

    /// Returns `true` if the blocks lie one after the other, from 0 on and in the order of ranks.
    #[inline]
    #[must_use]
    pub fn is_packed(&self) -> bool {
        self.shape == Shape::Packed
    }

    /// Returns `true` if a slice that is divided so has elements that are in no block, and more of
    /// them than are in several.
    pub(crate) fn leave_gaps(&self) -> bool {
        self.total < self.end
    }

    /// Returns `true` if libraries put received blocks where they belong, and none into another
    /// one. The only block of one rank goes to the beginning on MPICH from 4.0 to 4.1
    /// (<https://github.com/pmodels/mpich/pull/6374>).
    #[inline(always)]
    pub(crate) fn are_received_well(&self) -> bool {
        matches!(self.shape, Shape::Packed | Shape::Disjoint)
    }

    /// Returns `true` if an `int` cannot say how many items all blocks are, if an element is
    /// `items`. It is so on all ranks or on none where ranks have the same counts, wherever their
    /// blocks are.
    pub(crate) fn are_large(&self, items: usize) -> bool {
        let all = self.total.checked_mul(items);
        all.is_none_or(|all| c_int::try_from(all).is_err())
    }

    /// Counts and then displacements in items, of which an element is `items`; `None` if an `int`
    /// cannot say one, or how many items all blocks are.
    pub(crate) fn ints(&self, items: usize) -> Option<Cow<'_, [c_int]>> {
        match self.kept_ints(items) {
            Some(kept) => Some(Cow::Borrowed(kept)),
            None => self.scaled(items),
        }
    }

    /// The same if nothing stands in the way of receiving these blocks with them at once.
    #[inline(always)]
    pub(crate) fn ready_ints(&self, items: usize) -> Option<&[c_int]> {
        if self.are_received_well() {
            self.kept_ints(items)
        } else {
            None
        }
    }

    /// The same if it need not be made first.
    #[inline(always)]
    pub(crate) fn kept_ints(&self, items: usize) -> Option<&[c_int]> {
        if items == 1 {
            return self.ints.as_deref();
        }
        match self.scaled.get() {
            Some((of, kept)) if *of == items => kept.as_deref(),
            _ => None,
        }
    }

    fn scaled(&self, items: usize) -> Option<Cow<'_, [c_int]>> {
        let make = || ints(&self.counts, &self.displacements, items);
        let (of, kept) = self.scaled.get_or_init(|| (items, make()));
        if *of == items {
            return kept.as_deref().map(Cow::Borrowed);
        }
        make().map(|made| Cow::Owned(made.into_vec()))
    }
}

impl PartialEq for Blocks {
    fn eq(&self, other: &Self) -> bool {
        self.counts == other.counts && self.displacements == other.displacements
    }
}

impl Eq for Blocks {}

impl Shape {
    fn of(counts: &[usize], displacements: &[usize]) -> Self {
        let blocks = || counts.iter().zip(displacements);
        let mut end = 0;
        let packed =
            blocks().all(|(&count, &start)| start == std::mem::replace(&mut end, start + count));
        if packed {
            return Self::Packed;
        }
        let mut filled: Vec<(usize, usize)> = blocks()
            .filter(|&(&count, _)| count > 0)
            .map(|(&count, &start)| (start, start + count))
            .collect();
        filled.sort_unstable();
        if counts.len() == 1 {
            Self::Lonely
        } else if filled.windows(2).all(|pair| pair[0].1 <= pair[1].0) {
            Self::Disjoint
        } else {
            Self::Overlapping
        }
    }
}

/// Counts and displacements of elements that are `items` of a datatype each. The place of a block
/// without elements says nothing, and may be beyond what an `int` counts.
fn ints(counts: &[usize], displacements: &[usize], items: usize) -> Option<Box<[c_int]>> {
    c_int::try_from(total(counts).checked_mul(items)?).ok()?;
    let int = |elements: &usize| c_int::try_from(elements.checked_mul(items)?).ok();
    let places = counts.iter().zip(displacements);
    counts
        .iter()
        .map(int)
        .chain(places.map(|(&count, start)| if count == 0 { Some(0) } else { int(start) }))
        .collect()
}

fn total(counts: &[usize]) -> usize {
    counts
        .iter()
        .fold(0, |sum: usize, &count| sum.saturating_add(count))
}

#[cold]
fn too_far(rank: usize, count: usize, start: usize) -> Error {
    Error::new(
        ErrorKind::Length,
        NAME,
        format_args!(
            "the block of rank {rank}, {count} elements from {start} on, ends beyond the largest usize"
        ),
    )
}

#[cold]
fn goes_back(rank: usize, cut: &[usize]) -> Error {
    Error::new(
        ErrorKind::Argument,
        NAME,
        format_args!(
            "the block of rank {rank} begins at {} and ends at {}, before that",
            cut[0], cut[1]
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_ends_are_checked() {
        let error = Blocks::from_counts(&[usize::MAX, 1]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Length);
        let error = Blocks::new(&[1, 2], &[0, usize::MAX - 1]).unwrap_err();
        assert!(error.to_string().contains("rank 1"), "{error}");
        let error = Blocks::new(&[1, 2], &[0]).unwrap_err();
        assert!(error.to_string().contains("2 counts and 1"), "{error}");
    }

    #[test]
    fn cuts_go_forward() {
        let blocks = Blocks::from_cuts(&[2, 5, 5, 6]).unwrap();
        assert_eq!(
            (blocks.counts(), blocks.displacements()),
            (&[3, 0, 1][..], &[2, 5, 5][..])
        );
        assert!(
            Blocks::from_cuts(&[]).unwrap().is_empty()
                && Blocks::from_cuts(&[3]).unwrap().is_empty()
        );
        let error = Blocks::from_cuts(&[0, 3, 2]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("rank 1 begins at 3 and ends at 2"),
            "{error}"
        );
    }

    #[test]
    fn shapes() {
        let shape = |counts: &[usize], places: &[usize]| {
            let blocks = Blocks::new(counts, places).unwrap();
            (blocks.is_packed(), blocks.is_disjoint(), blocks.end())
        };
        assert_eq!(shape(&[2, 3], &[0, 2]), (true, true, 5));
        assert_eq!(shape(&[2, 3], &[3, 0]), (false, true, 5));
        assert_eq!(shape(&[2, 3], &[0, 1]), (false, false, 4));
        assert_eq!(shape(&[4, 1], &[0, 1]), (false, false, 4));
        assert_eq!(shape(&[4, 0], &[0, 1]), (false, true, 4));
        assert_eq!(shape(&[0, 1], &[900, 0]), (false, true, 1));
        assert_eq!(shape(&[2], &[3]), (false, true, 5));
        assert_eq!(shape(&[], &[]), (true, true, 0));
    }

    #[test]
    fn even_blocks_are_the_whole_in_order() {
        for (total, ranks) in [(0, 3), (2, 3), (3, 3), (17, 4), (usize::MAX, 7)] {
            let blocks = Blocks::even(total, ranks);
            assert_eq!(blocks, Blocks::from_counts(blocks.counts()).unwrap());
            assert_eq!(blocks.end(), total);
            let (least, most) = (blocks.counts()[ranks - 1], blocks.counts()[0]);
            assert!(most - least <= 1);
        }
        assert!(Blocks::even(5, 0).is_empty());
    }

    #[test]
    fn a_range_is_in_the_slice() {
        let blocks = Blocks::new(&[0, 2, 0], &[900, 1, 0]).unwrap();
        assert_eq!(blocks.displacements(), [900, 1, 0]);
        assert_eq!([0, 1, 2].map(|rank| blocks.range(rank)), [3..3, 1..3, 0..0]);
    }

    #[test]
    fn integers_are_kept_for_two_widths_and_made_for_others() {
        let blocks = Blocks::new(&[2, 3], &[3, 0]).unwrap();
        assert_eq!(&*blocks.ints(1).unwrap(), [2, 3, 3, 0]);
        assert!(matches!(
            blocks.ints(8),
            Some(Cow::Borrowed([16, 24, 24, 0]))
        ));
        assert!(matches!(blocks.ints(8), Some(Cow::Borrowed(_))));
        assert!(matches!(blocks.ints(2), Some(Cow::Owned(made)) if made == [4, 6, 6, 0]));
    }

    #[test]
    fn how_much_it_is_does_not_depend_on_where_it_is() {
        let half = 1 << 30;
        assert!(Blocks::new(&[half, half], &[0, half]).unwrap().are_large(1));
        assert!(
            !Blocks::new(&[half, half - 1], &[1 << 40, 0])
                .unwrap()
                .are_large(1)
        );
        assert_eq!(Blocks::from_counts(&[half, half]).unwrap().ints(1), None);
        assert!(Blocks::new(&[usize::MAX; 2], &[0; 2]).unwrap().are_large(1));
        assert!(!Blocks::new(&[usize::MAX; 1], &[0; 1]).unwrap().are_large(0));
    }

    #[test]
    fn what_an_int_cannot_say_is_seen() {
        let far = Blocks::new(&[1, 1], &[0, 1 << 31]).unwrap();
        assert_eq!(far.ints(1), None);
        let nothing_far = Blocks::new(&[1, 0], &[0, 1 << 31]).unwrap();
        assert_eq!(&*nothing_far.ints(1).unwrap(), [1, 0, 0, 0]);
        let wide = Blocks::even(1 << 30, 1);
        assert!(wide.ints(1).is_some() && wide.ints(8).is_none());
    }
}
