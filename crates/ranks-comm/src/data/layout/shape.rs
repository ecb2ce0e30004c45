//! The normal form of a layout: runs of elements, repeated, one after the other.
//!
//! A shape begins at 0, has at least one element and is as flat as possible, so that equal layouts
//! mostly have equal shapes, and no chain of calls makes one too deep to be walked: every `Repeat`
//! at least doubles the elements, and no `Parts` holds another.

use std::sync::Arc;

/// The selected elements, in the order in which they are transferred.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// That many contiguous elements.
    Run(usize),
    /// At least two equal shapes.
    Repeat {
        count: usize,
        stride: usize,
        of: Arc<Shape>,
    },
    /// At least two shapes with their starts, one of which is 0.
    Parts(Arc<[(usize, Shape)]>),
}

/// A shape with its start; `None` is empty.
pub(crate) type Placed = Option<(usize, Shape)>;

/// A layout that no memory can hold.
#[derive(Debug)]
pub(crate) struct TooLarge;

impl Shape {
    pub(crate) fn run(start: usize, length: usize) -> Placed {
        (length > 0).then_some((start, Self::Run(length)))
    }

    /// `count` equal shapes, `stride` elements apart.
    pub(crate) fn repeat(count: usize, stride: usize, of: Placed) -> Result<Placed, TooLarge> {
        let Some((start, of)) = of.filter(|_| count > 0) else {
            return Ok(None);
        };
        let all = match of {
            of if count == 1 => of,
            Self::Run(length) if length == stride => {
                Self::Run(length.checked_mul(count).ok_or(TooLarge)?)
            }
            Self::Repeat {
                count: inner,
                stride: step,
                of,
            } if step.checked_mul(inner) == Some(stride) => Self::Repeat {
                count: inner.checked_mul(count).ok_or(TooLarge)?,
                stride: step,
                of,
            },
            of => Self::Repeat {
                count,
                stride,
                of: Arc::new(of),
            },
        };
        all.measured(start)
    }

    /// A block of an array, of which each dimension has a size, a start and a subsize, the fastest
    /// first; and the size of the array. `None` if that is too large.
    pub(crate) fn block(
        dimensions: impl IntoIterator<Item = (usize, usize, usize)>,
    ) -> Option<(Placed, usize)> {
        let (mut block, mut stride) = (Self::run(0, 1), 1usize);
        let mut first = 0usize;
        for (size, start, subsize) in dimensions {
            block = Self::repeat(subsize, stride, block).ok()?;
            first = first.checked_add(stride.checked_mul(start)?)?;
            stride = stride.checked_mul(size)?;
        }
        Some((block.map(|(_, shape)| (first, shape)), stride))
    }

    /// The concatenation of shapes.
    pub(crate) fn parts(parts: impl IntoIterator<Item = Placed>) -> Result<Placed, TooLarge> {
        let mut flat: Vec<(usize, Self)> = Vec::new();
        for (start, shape) in parts.into_iter().flatten() {
            match shape {
                Self::Parts(inner) => {
                    for (offset, shape) in inner.iter() {
                        let start = start.checked_add(*offset).ok_or(TooLarge)?;
                        push(&mut flat, start, shape.clone())?;
                    }
                }
                shape => push(&mut flat, start, shape)?,
            }
        }
        let Some(first) = flat.iter().map(|(start, _)| *start).min() else {
            return Ok(None);
        };
        if flat.len() == 1 {
            return Ok(flat.pop());
        }
        for (start, _) in &mut flat {
            *start -= first;
        }
        Self::Parts(flat.into()).measured(first)
    }

    /// The shape at `start`, if its end and its number of elements fit a `usize`.
    fn measured(self, start: usize) -> Result<Placed, TooLarge> {
        let end = self.checked_end().and_then(|end| end.checked_add(start));
        match (self.checked_elements(), end) {
            (Some(_), Some(_)) => Ok(Some((start, self))),
            _ => Err(TooLarge),
        }
    }

    fn checked_elements(&self) -> Option<usize> {
        match self {
            Self::Run(length) => Some(*length),
            Self::Repeat { count, of, .. } => of.checked_elements()?.checked_mul(*count),
            Self::Parts(parts) => parts.iter().try_fold(0usize, |sum, (_, part)| {
                sum.checked_add(part.checked_elements()?)
            }),
        }
    }

    fn checked_end(&self) -> Option<usize> {
        match self {
            Self::Run(length) => Some(*length),
            Self::Repeat { count, stride, of } => stride
                .checked_mul(count - 1)?
                .checked_add(of.checked_end()?),
            Self::Parts(parts) => parts.iter().try_fold(0usize, |end, (start, part)| {
                Some(end.max(start.checked_add(part.checked_end()?)?))
            }),
        }
    }

    /// The number of elements.
    pub(crate) fn elements(&self) -> usize {
        // Checked when it was made.
        self.checked_elements().unwrap_or(usize::MAX)
    }

    /// The end of the last element, the first being at 0.
    pub(crate) fn end(&self) -> usize {
        // Checked when it was made.
        self.checked_end().unwrap_or(usize::MAX)
    }

    /// Calls `each` with start and length of every run, in order, until it returns `false`; returns
    /// `true` if it never did.
    pub(crate) fn for_each_run(
        &self,
        start: usize,
        each: &mut impl FnMut(usize, usize) -> bool,
    ) -> bool {
        self.for_each_line(start, &mut |start, (count, stride), length| {
            (0..count).all(|i| each(start + i * stride, length))
        })
    }

    /// Calls `each` with the start, the count and the stride, and the length of equal runs, in
    /// order, until it returns `false`; returns `true` if it never did.
    pub(crate) fn for_each_line(
        &self,
        start: usize,
        each: &mut impl FnMut(usize, (usize, usize), usize) -> bool,
    ) -> bool {
        match self {
            Self::Run(length) => each(start, (1, *length), *length),
            Self::Repeat { count, stride, of } => match **of {
                Self::Run(length) => each(start, (*count, *stride), length),
                ref of => (0..*count).all(|i| of.for_each_line(start + i * stride, each)),
            },
            Self::Parts(parts) => parts
                .iter()
                .all(|(offset, part)| part.for_each_line(start + offset, each)),
        }
    }

    /// Returns `true` if no element is selected twice.
    pub(crate) fn is_disjoint(&self) -> bool {
        match self {
            Self::Run(_) => true,
            Self::Repeat { stride, of, .. } => {
                self.is_nested()
                    || of.is_disjoint() && (of.end() <= *stride || self.runs_are_disjoint())
            }
            Self::Parts(parts) => {
                let ranges = parts.iter().map(|(start, part)| (*start, part.end()));
                parts.iter().all(|(_, part)| part.is_disjoint())
                    && (follow_each_other(&ranges.collect::<Vec<_>>()) || self.runs_are_disjoint())
            }
        }
    }

    /// Returns `true` if the repetitions, in the order of their strides, lie within each other, as
    /// rows and columns do in any order.
    fn is_nested(&self) -> bool {
        let (mut strides, mut innermost) = (Vec::new(), self);
        while let Self::Repeat { count, stride, of } = innermost {
            strides.push((*stride, *count));
            innermost = of;
        }
        strides.sort_unstable();
        let mut reach = innermost.end();
        let each_is_longer = strides.into_iter().all(|(stride, count)| {
            let longer = stride >= reach;
            reach += stride * (count - 1);
            longer
        });
        each_is_longer && innermost.is_disjoint()
    }

    fn runs_are_disjoint(&self) -> bool {
        // More elements than places; and so the list of runs is never longer than the slice.
        self.elements() <= self.end() && follow_each_other(&self.sorted_runs(0))
    }

    fn sorted_runs(&self, start: usize) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        self.for_each_run(start, &mut |start, length| {
            runs.push((start, length));
            true
        });
        runs.sort_unstable();
        runs
    }

    /// Returns `true` if this shape at `start` and the other one at `other_start` have no common
    /// element. If one of them selects elements twice, all between its ends counts as selected.
    pub(crate) fn is_apart(&self, start: usize, other: &Self, other_start: usize) -> bool {
        if start + self.end() <= other_start || other_start + other.end() <= start {
            return true;
        }
        if let (
            Self::Repeat { stride, of, .. },
            Self::Repeat {
                stride: other_stride,
                of: other_of,
                ..
            },
        ) = (self, other)
        {
            let end = (start + of.end()).max(other_start + other_of.end());
            // Within one period only repetitions of the same number can overlap.
            if stride == other_stride && end - start.min(other_start) <= *stride {
                return of.is_apart(start, other_of, other_start);
            }
        }
        if self.elements() > self.end() || other.elements() > other.end() {
            return false;
        }
        let (mine, others) = (self.sorted_runs(start), other.sorted_runs(other_start));
        let mut others = others.iter().peekable();
        mine.iter().all(|&(start, length)| {
            while others
                .next_if(|(other, long)| other + long <= start)
                .is_some()
            {}
            others
                .peek()
                .is_none_or(|(other, _)| start + length <= *other)
        })
    }
}

/// Appends a part, merged with the one before if it continues that.
fn push(parts: &mut Vec<(usize, Shape)>, start: usize, shape: Shape) -> Result<(), TooLarge> {
    if let (Some((before, Shape::Run(length))), Shape::Run(more)) = (parts.last_mut(), &shape)
        && before.checked_add(*length) == Some(start)
    {
        *length = length.checked_add(*more).ok_or(TooLarge)?;
        return Ok(());
    }
    parts.push((start, shape));
    Ok(())
}

/// Returns `true` if each range, with its start and its length, begins behind the one before.
pub(super) fn follow_each_other(ranges: &[(usize, usize)]) -> bool {
    ranges.is_sorted_by(|(start, length), (next, _)| start + length <= *next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(placed: &Placed) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        if let Some((start, shape)) = placed {
            shape.for_each_run(*start, &mut |start, length| {
                runs.push((start, length));
                true
            });
        }
        runs
    }

    fn shape(placed: &Placed) -> &Shape {
        &placed.as_ref().unwrap().1
    }

    fn vector(start: usize, count: usize, block: usize, stride: usize) -> Placed {
        Shape::repeat(count, stride, Shape::run(start, block)).unwrap()
    }

    #[test]
    fn what_is_side_by_side_is_one_run() {
        assert_eq!(vector(3, 4, 2, 2), Some((3, Shape::Run(8))));
        let parts = [Shape::run(5, 2), Shape::run(7, 1), None, Shape::run(8, 2)];
        assert_eq!(Shape::parts(parts).unwrap(), Some((5, Shape::Run(5))));
        let twice = Shape::repeat(3, 8, vector(0, 4, 1, 2)).unwrap();
        assert_eq!(twice, vector(0, 12, 1, 2));
    }

    #[test]
    fn the_order_is_kept_and_the_beginning_is_the_least() {
        let placed =
            Shape::parts([Shape::run(9, 1), vector(2, 2, 1, 3), Shape::run(4, 2)]).unwrap();
        assert_eq!(runs(&placed), [(9, 1), (2, 1), (5, 1), (4, 2)]);
        assert_eq!(placed.as_ref().unwrap().0, 2);
        assert_eq!((shape(&placed).elements(), shape(&placed).end()), (5, 8));
    }

    #[test]
    fn parts_of_parts_are_flat() {
        let mut placed = Shape::run(0, 1);
        for i in 1..20 {
            placed = Shape::parts([placed, Shape::run(3 * i, 1)]).unwrap();
        }
        let Shape::Parts(parts) = shape(&placed) else {
            panic!("{placed:?}")
        };
        assert!(parts.iter().all(|(_, part)| *part == Shape::Run(1)));
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(vector(7, 0, 3, 4), None);
        assert_eq!(vector(7, 3, 0, 4), None);
        assert_eq!(Shape::parts([None, None]).unwrap(), None);
    }

    #[test]
    fn what_no_number_can_tell_is_refused() {
        let most = usize::MAX;
        assert!(Shape::repeat(most, 2, Shape::run(0, 1)).is_err());
        assert!(Shape::repeat(2, most, Shape::run(0, 1)).is_err());
        assert!(Shape::repeat(most, 2, Shape::run(0, 2)).is_err());
        assert!(Shape::repeat(2, 1, Shape::run(most - 1, 1)).is_err());
        assert!(Shape::parts([Shape::run(0, most), Shape::run(0, 1)]).is_err());
    }

    #[test]
    fn overlaps_are_found() {
        let disjoint = |placed: &Placed| shape(placed).is_disjoint();
        assert!(disjoint(&vector(0, 5, 2, 3)));
        assert!(!disjoint(&vector(0, 5, 3, 2)));
        assert!(!disjoint(&vector(0, usize::MAX, 1, 0)));
        // Two combs, the teeth of one in the gaps of the other.
        let combs = |second| Shape::parts([vector(0, 4, 1, 2), vector(second, 4, 1, 2)]).unwrap();
        assert!(disjoint(&combs(1)));
        assert!(!disjoint(&combs(2)));
        let interleaved = Shape::repeat(2, 1, vector(0, 4, 1, 2)).unwrap();
        assert!(disjoint(&interleaved));
        // A transposed cube of 2⁶⁰ elements, whose runs nobody could list.
        let side = 1 << 20;
        let column = vector(0, side, 1, side);
        let plane = Shape::repeat(side, 1, column).unwrap();
        let cube = |apart| Shape::repeat(side, apart, plane.clone()).unwrap();
        assert!(disjoint(&cube(side * side)));
        assert!(!shape(&cube(side * side - 1)).is_nested());
        let unordered = Shape::parts([Shape::run(4, 2), Shape::run(0, 2)]).unwrap();
        assert!(disjoint(&unordered));
    }

    #[test]
    fn layouts_apart_from_each_other_are_found() {
        let apart = |a: &Placed, b: &Placed| {
            let ((a_start, a), (b_start, b)) = (a.as_ref().unwrap(), b.as_ref().unwrap());
            let answer = a.is_apart(*a_start, b, *b_start);
            assert_eq!(answer, b.is_apart(*b_start, a, *a_start));
            answer
        };
        // Columns of a matrix, whole or in part.
        assert!(apart(&vector(1, 5, 1, 6), &vector(0, 5, 1, 6)));
        assert!(apart(&vector(13, 2, 1, 6), &vector(0, 5, 1, 6)));
        assert!(!apart(&vector(13, 2, 1, 6), &vector(1, 5, 1, 6)));
        assert!(!apart(&vector(1, 5, 2, 6), &vector(2, 5, 1, 6)));
        assert!(apart(&vector(0, 5, 1, 6), &Shape::run(30, 6)));
        assert!(apart(&vector(0, 5, 1, 2), &vector(1, 3, 1, 4)));
        assert!(!apart(&vector(0, 5, 1, 2), &vector(0, 3, 1, 5)));
        assert!(!apart(&vector(0, usize::MAX, 1, 0), &Shape::run(0, 1)));
    }
}
