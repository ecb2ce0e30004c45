//! The clock of rank 0, as seen from another rank.
//!
//! One rank asks, another answers with its own time. That was read between the question and the
//! answer, so that half the time between those bounds the error. The quickest of several answers
//! counts. Where others are between a rank and rank 0, offsets and errors add up. A sample is taken
//! at the start and at the end: between the two, and beyond, clocks are taken to drift evenly.

/// The offset of this rank's clock from rank 0's, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The local time.
    pub at: i64,
    /// The local time minus that of rank 0.
    pub ahead: i64,
    /// The largest error of `ahead`.
    pub error: u64,
}

impl Reading {
    /// A reading from answers, each with the asking rank's time before, the other's, and the asking
    /// rank's after: the quickest one counts. It is one from rank 0's clock if that asks.
    pub fn of(answers: impl IntoIterator<Item = [i64; 3]>) -> Option<Self> {
        let valid = answers.into_iter().filter(|[asked, _, back]| back >= asked);
        let quickest = valid.min_by_key(|[asked, _, back]| back.abs_diff(*asked));
        quickest.map(|[asked, there, back]| {
            let between = back.abs_diff(asked);
            let half = i64::try_from(between / 2).unwrap_or(i64::MAX);
            Self {
                at: there,
                ahead: there.saturating_sub(asked.saturating_add(half)),
                error: between.div_ceil(2),
            }
        })
    }

    /// This reading of a clock from another, whose own reading from rank 0's is known: one from
    /// rank 0's.
    #[must_use]
    pub fn beyond(self, other: Self) -> Self {
        Self {
            at: self.at,
            ahead: self.ahead.saturating_add(other.ahead),
            error: self.error.saturating_add(other.error),
        }
    }

    /// The reading of rank 0's own clock.
    pub fn own() -> Self {
        Self {
            at: 0,
            ahead: 0,
            error: 0,
        }
    }
}

/// A rank's clock, by two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Clock {
    /// At the start.
    pub first: Option<Reading>,
    /// At the end.
    pub last: Option<Reading>,
}

impl Clock {
    /// The clock of rank 0.
    pub fn own() -> Self {
        Self {
            first: Some(Reading::own()),
            last: Some(Reading::own()),
        }
    }

    /// Rank 0's time when it is `here` on this rank; the local time if there is no reading.
    pub fn there(&self, here: i64) -> i64 {
        here.saturating_sub(self.ahead(here))
    }

    fn ahead(&self, here: i64) -> i64 {
        let (first, last) = match (self.first, self.last) {
            (Some(first), Some(last)) => (first, last),
            (Some(only), None) | (None, Some(only)) => return only.ahead,
            (None, None) => return 0,
        };
        let (from, to) = (i128::from(first.at), i128::from(last.at));
        if to <= from {
            return first.ahead;
        }
        let drift = i128::from(last.ahead) - i128::from(first.ahead);
        let so_far = drift * (i128::from(here) - from) / (to - from);
        i64::try_from(i128::from(first.ahead) + so_far).unwrap_or(first.ahead)
    }

    /// The largest error of [`there`](Self::there) between the readings; `None` if there is no
    /// reading.
    pub fn error(&self) -> Option<u64> {
        let errors = [self.first, self.last].map(|reading| reading.map(|reading| reading.error));
        errors.into_iter().flatten().max()
    }

    /// Returns `true` if the drift is known, and so corrected.
    pub fn knows_drift(&self) -> bool {
        self.first.is_some() && self.last.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quickest_answer_counts() {
        // The other clock is 1000 ahead. Answers may take longer on one way than on the other.
        let answers = [[0, 1090, 100], [200, 1204, 210], [300, 1302, 350]];
        let reading = Reading::of(answers).unwrap();
        assert_eq!(reading.at, 1204);
        assert!(reading.ahead.abs_diff(1000) <= reading.error, "{reading:?}");
        assert_eq!(reading.error, 5);
        assert_eq!(Reading::of([]), None);
        assert_eq!(Reading::of([[2, 5, 1]]), None);
    }

    #[test]
    fn a_clock_is_read_by_way_of_another() {
        // 1000 ahead of one that is 30 behind that of rank 0.
        let reading = |at, ahead, error| Reading { at, ahead, error };
        let there = Reading::of([[200, 1204, 210]]).unwrap();
        assert_eq!(there.beyond(reading(7, -30, 4)), reading(1204, 969, 9));
        assert_eq!(there.beyond(Reading::own()), there);
    }

    #[test]
    fn drift_is_even() {
        let reading = |at, ahead| {
            let error = 3;
            Some(Reading { at, ahead, error })
        };
        // One in ten thousand fast.
        let clock = Clock {
            first: reading(1_000_000, 500),
            last: reading(2_000_000, 600),
        };
        assert_eq!(clock.there(1_000_000), 999_500);
        assert_eq!(clock.there(1_500_000), 1_499_450);
        assert_eq!(clock.there(2_000_000), 1_999_400);
        assert_eq!(clock.there(3_000_000), 2_999_300);
        assert_eq!(clock.error(), Some(3));
        assert!(clock.knows_drift());
    }

    #[test]
    fn what_is_not_known_is_not_made_up() {
        assert_eq!(Clock::default().there(7), 7);
        assert_eq!(Clock::default().error(), None);
        let once = Clock {
            first: None,
            last: Some(Reading {
                at: 10,
                ahead: -5,
                error: 1,
            }),
        };
        assert_eq!(once.there(100), 105);
        assert!(!once.knows_drift());
        let nonsense = Clock {
            first: once.last,
            last: once.last,
        };
        assert_eq!(nonsense.there(i64::MAX), i64::MAX);
        assert_eq!(nonsense.there(i64::MIN), i64::MIN + 5);
    }
}
