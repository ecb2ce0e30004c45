//! Gaussian pairs out of uniform ones (Marsaglia's polar method), and the tally of them.

use crate::nas::Random;

/// The pairs that are drawn before those of them that are accepted are looked at.
const BATCH: usize = 512;

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
    pub(crate) fn draw(random: Random, pairs: usize) -> Tally {
        let mut tally = Tally::default();
        let mut uniform = random.pairs();
        let mut accepted = [(0.0, 0.0, 0.0); BATCH];
        for first in (0..pairs).step_by(BATCH) {
            // One that is not accepted is written over: there is no branch to be guessed wrong.
            let mut count = 0;
            for (x, y) in uniform.by_ref().take(BATCH.min(pairs - first)) {
                let (x, y) = (2.0 * x - 1.0, 2.0 * y - 1.0);
                let square = x * x + y * y;
                accepted[count] = (x, y, square);
                count += usize::from(square <= 1.0);
            }
            for &(x, y, square) in &accepted[..count] {
                tally.add(x, y, square);
            }
        }
        tally
    }

    /// Adds the Gaussian pair that becomes of a uniform one.
    fn add(&mut self, x: f64, y: f64, square: f64) {
        let stretch = (-2.0 * square.ln() / square).sqrt();
        let (x, y) = (x * stretch, y * stretch);
        self.counts[ring(x, y)] += 1;
        self.sum_x += x;
        self.sum_y += y;
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
