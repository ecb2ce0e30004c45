//! Numbers that identify objects shared by ranks.
//!
//! Rank 0 of those that make an object proposes a number that its process has given to nothing
//! else. It travels with the data that ranks exchange then, and each collective call on the object
//! compares it: ranks that pass different objects get an error.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that this process has given to nothing yet; never 0.
#[must_use]
pub fn unused_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A digest that differs, as a rule, between different sequences, and whose sums differ between
/// different sets of them.
#[must_use]
pub fn digest(words: impl IntoIterator<Item = u64>) -> u64 {
    // FNV-1a alone: two sequences that differ little have digests that differ by a number by which
    // other pairs differ as well.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for word in words {
        for byte in word.to_ne_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    // The end of MurmurHash3, which is not linear.
    let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_given_twice() {
        let numbers = [unused_number(), unused_number(), unused_number()];
        assert!(
            numbers[0] > 0
                && numbers.is_sorted()
                && numbers[0] < numbers[1]
                && numbers[1] < numbers[2]
        );
    }

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
