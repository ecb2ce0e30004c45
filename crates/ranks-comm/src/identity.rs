//! Numbers that identify objects shared by ranks.
//!
//! Rank 0 of those that make an object proposes a number that its process has given to nothing else. It travels with the data that
//! ranks exchange then, and each collective call on the object compares it: ranks that pass different objects get an error.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that this process has given to nothing yet; never 0.
#[must_use]
pub fn unused_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
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
}
