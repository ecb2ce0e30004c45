//! Gaussian pairs out of uniform ones (Marsaglia's polar method), and the tally of them.

use crate::nas::Random;

/// Sums of the Gaussian deviates, and how many pairs fell into each square ring round the origin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) sum_x: f64,
    pub(crate) sum_y: f64,
    /// `counts[l]`: pairs with l ≤ max(|x|, |y|) < l + 1; the last ring has no outer edge.
    pub(crate) counts: [u64; 10],
}

impl Tally {
    /// Pairs accepted in all.
    #[must_use]
    pub(crate) fn pairs(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Draws `pairs` pairs of uniform numbers and tallies those that become Gaussian.
    #[must_use]
    pub(crate) fn draw(mut random: Random, pairs: usize) -> Tally {
        let mut tally = Tally::default();
        for _ in 0..pairs {
            let x = 2.0 * random.uniform() - 1.0;
            let y = 2.0 * random.uniform() - 1.0;
            let square = x * x + y * y;
            if square > 1.0 {
                continue;
            }
            let stretch = (-2.0 * square.ln() / square).sqrt();
            let (x, y) = (x * stretch, y * stretch);
            tally.counts[ring(x, y)] += 1;
            tally.sum_x += x;
            tally.sum_y += y;
        }
        tally
    }
}

/// The ring of a point. No run has come near the last one, which is open to the outside.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "0 ≤ max(|x|, |y|) < 12"
)]
fn ring(x: f64, y: f64) -> usize {
    (x.abs().max(y.abs()) as usize).min(9)
}
