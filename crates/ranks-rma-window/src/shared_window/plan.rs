//! Positions of the segments of a shared window in its memory.

use std::ops::Range;

use ranks_comm::{Error, ErrorKind, Result};

use super::steps::Mark;
use crate::page::page_size;

/// Spacing between the segments of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Spacing {
    /// Each begins at a multiple of 64 bytes: no line of the cache belongs to two ranks. The
    /// default.
    #[default]
    Lines,
    /// Each begins where the one before ends: one slice holds all of them.
    Packed,
    /// Each begins with a page of its own, whatever the size of pages, so that each can lie near
    /// its rank.
    #[doc(alias = "alloc_shared_noncontig")]
    Pages,
}

impl Spacing {
    /// Alignment of each segment, in bytes, with elements that are aligned to `align`.
    fn step(self, align: usize) -> usize {
        const LINE: usize = 64;
        match self {
            Self::Lines => LINE.max(align),
            Self::Packed => align,
            Self::Pages => page_size().max(align),
        }
    }
}

/// Positions in bytes from the begin of the memory; the same on every rank.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Begin of each segment, and its number of elements.
    pub(super) segments: Box<[(usize, usize)]>,
    /// Begin of the segments: with a page, behind the marks of the ranks.
    pub(super) data: usize,
    /// End of the segments.
    pub(super) bytes: usize,
    /// Number of elements in all, if nothing is between them and a slice may have so many.
    pub(super) packed: Option<usize>,
}

impl Plan {
    /// For segments of so many elements, of `size` bytes each.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if no address space holds them.
    pub(super) fn of(lens: &[usize], size: usize, align: usize, spacing: Spacing) -> Result<Self> {
        Self::checked(lens, size, spacing.step(align)).ok_or_else(|| {
            let most = lens.iter().max().copied().unwrap_or(0);
            let ranks = lens.len();
            let why = format_args!(
                "segments of {ranks} ranks, of up to {most} elements of {size} bytes, are more than the \
                 address space holds"
            );
            Error::new(ErrorKind::Length, "MPI_Win_allocate_shared", why)
        })
    }

    /// Range in bytes of the segment of a rank, of elements of that type.
    pub(super) fn segment<T>(&self, rank: usize) -> Range<usize> {
        let (start, len) = self.segments.get(rank).copied().unwrap_or_default();
        // No overflow: the end of each was computed when the plan was made.
        start..start + len * size_of::<T>()
    }

    fn checked(lens: &[usize], size: usize, step: usize) -> Option<Self> {
        let data = Mark::bytes(lens.len())?.checked_next_multiple_of(page_size())?;
        let (mut end, mut packed) = (data, Some(0usize));
        let mut segments = Vec::with_capacity(lens.len());
        for &len in lens {
            let start = end.checked_next_multiple_of(step)?;
            segments.push((start, len));
            // An empty segment is between nothing.
            if len > 0 {
                packed = packed.filter(|&total| start == end || total == 0);
                packed = packed.and_then(|total| total.checked_add(len));
                end = start.checked_add(len.checked_mul(size)?)?;
            }
        }
        isize::try_from(end).ok()?;
        Some(Self {
            segments: segments.into(),
            data,
            bytes: end,
            packed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(plan: &Plan) -> Vec<usize> {
        plan.segments
            .iter()
            .map(|(start, _)| start - plan.data)
            .collect()
    }

    #[test]
    fn segments_begin_where_the_spacing_says() {
        let page = page_size();
        let lens = [100, 13, 0, 100];
        let plan = |spacing| Plan::of(&lens, 8, 8, spacing).unwrap();
        let lines = plan(Spacing::Lines);
        assert_eq!(starts(&lines), [0, 832, 960, 960]);
        assert_eq!((lines.data, lines.packed), (page, None));
        let packed = plan(Spacing::Packed);
        assert_eq!(starts(&packed), [0, 800, 904, 904]);
        assert_eq!(packed.packed, Some(213));
        assert_eq!(packed.bytes, packed.data + 213 * 8);
        let pages = plan(Spacing::Pages);
        assert_eq!(starts(&pages), [0, page, 2 * page, 2 * page]);
        assert_eq!(pages.packed, None);
    }

    #[test]
    fn full_lines_leave_nothing_between_them_and_neither_do_empty_segments() {
        let packed = |lens: &[usize]| Plan::of(lens, 8, 8, Spacing::Lines).unwrap().packed;
        assert_eq!(packed(&[8, 16, 0, 24]), Some(48));
        assert_eq!(packed(&[8, 16, 0, 3]), Some(27));
        assert_eq!(packed(&[0, 0, 3, 0]), Some(3));
        assert_eq!(packed(&[0, 0]), Some(0));
        assert_eq!(packed(&[3, 1]), None);
        assert_eq!(
            Plan::of(&[7, 9], 0, 1, Spacing::Lines).unwrap().packed,
            Some(16)
        );
    }

    #[test]
    fn elements_with_a_large_alignment_get_it() {
        let plan = Plan::of(&[1, 1], 128, 128, Spacing::Lines).unwrap();
        assert!(plan.segments.iter().all(|(start, _)| start % 128 == 0));
    }

    #[test]
    fn elements_of_no_size_may_be_more_than_a_slice_has() {
        let plan = Plan::of(&[usize::MAX; 3], 0, 1, Spacing::Lines).unwrap();
        assert_eq!((starts(&plan), plan.packed), (vec![0; 3], None));
    }

    #[test]
    fn too_much_is_an_error() {
        for lens in [
            &[usize::MAX][..],
            &[usize::MAX / 16, usize::MAX / 16],
            &[1 << 60],
        ] {
            let error = Plan::of(lens, 8, 8, Spacing::Lines).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Length);
        }
    }
}
