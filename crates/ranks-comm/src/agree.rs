//! Agreement before a collective call whose arguments must be equal on all ranks.

use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};

/// The operator that joins the words of all ranks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Join {
    And,
    Sum,
}

impl Join {
    pub(crate) fn of(self, one: u64, other: u64) -> u64 {
        match self {
            Self::And => one & other,
            Self::Sum => one.wrapping_add(other),
        }
    }
}

impl Communicator {
    /// Joins the words of all ranks. Collective.
    pub(crate) fn join(
        &self,
        operation: &'static str,
        words: [u64; 2],
        join: Join,
    ) -> Result<[u64; 2]> {
        self.dispatch(
            operation,
            |comm| {
                self.all_call(operation, Ok(()))?;
                comm.join(words, join)
            },
            |comm| {
                self.all_call(operation, Ok(()))?;
                comm.join(words, join)
            },
        )
    }

    /// Returns the same error on every rank unless all of them pass the same words. Collective.
    pub(crate) fn agree_on(
        &self,
        operation: &'static str,
        words: impl IntoIterator<Item = u64>,
    ) -> Result<()> {
        let digest = digest(words);
        let [ones, zeros] = self.join(operation, [digest, !digest], Join::And)?;
        if ones == !zeros {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Argument,
            operation,
            "ranks passed different arguments; all must pass the same",
        ))
    }
}

/// A digest that differs, as a rule, between different sequences, and whose sums differ between different sets of them.
#[must_use]
pub fn digest(words: impl IntoIterator<Item = u64>) -> u64 {
    let bytes = words.into_iter().flat_map(u64::to_ne_bytes);
    // FNV-1a alone: two sequences that differ little have digests that differ by a number by which other pairs differ as well.
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // The end of MurmurHash3, which is not linear.
    let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_number_of_words_count() {
        let digests = [
            digest([]),
            digest([0]),
            digest([0, 0]),
            digest([1, 2]),
            digest([2, 1]),
        ];
        for (index, one) in digests.iter().enumerate() {
            assert!(!digests[index + 1..].contains(one));
        }
    }

    /// Words that differ in one way here and in the opposite way there.
    #[test]
    fn differences_do_not_cancel() {
        for first in 0..50 {
            for second in 0..first {
                let [a, b] =
                    [first, second].map(|word| digest([word, 2]).wrapping_sub(digest([word, 3])));
                assert_ne!(a, b, "{first} and {second}");
                assert_ne!(a, b.wrapping_neg(), "{first} and {second}");
            }
        }
    }
}
