//! Parts of an array, one for each rank of a node.

use std::ops::Range;

/// Stripes are cut where pages of this size begin, so that no two ranks touch one first.
const PAGE: usize = 4096;

/// The part of one rank: whole pages, where there are as many.
pub(crate) fn stripe<T>(length: usize, rank: usize, ranks: usize) -> Range<usize> {
    let unit = (PAGE / size_of::<T>().max(1)).max(1);
    let units = length.div_ceil(unit).div_ceil(ranks.max(1));
    let edge = |rank: usize| units.saturating_mul(unit).saturating_mul(rank).min(length);
    edge(rank)..edge(rank + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_cover_everything_once_and_end_with_pages() {
        for length in [0, 1, 511, 512, 513, 5000, 100_000] {
            for ranks in 1..6 {
                let mut end = 0;
                for rank in 0..ranks {
                    let stripe = stripe::<f64>(length, rank, ranks);
                    assert_eq!(stripe.start, end);
                    assert!(stripe.end == length || stripe.end.is_multiple_of(512));
                    end = stripe.end;
                }
                assert_eq!(end, length);
            }
        }
    }
}
