//! Statistics: number, bytes and times of a rank's calls.

use std::collections::HashMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

pub use job::Job;
pub use part::Part;
pub use text::printable;

mod job;
pub(crate) mod part;
mod text;

/// The sums of the calls of one operation on one communicator, where each moved about as many
/// bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationStatistics {
    /// The C name, such as `MPI_Allreduce`.
    pub operation: &'static str,
    /// The communicator's name, `world`, or its number of ranks.
    pub communicator: String,
    /// The number of bytes that one of these calls moved: from a power of two up to the next.
    pub sizes: RangeInclusive<u64>,
    /// The number of calls.
    pub calls: u64,
    /// The number of calls that failed.
    pub failed: u64,
    /// The number of bytes that this rank passed to them, in total.
    pub bytes: u64,
    /// The total time.
    pub time: Duration,
    /// The time of the longest call.
    pub longest: Duration,
}

/// The sums of this rank's calls, since statistics are kept. It prints as a table.
///
/// They are kept if the environment has `RANKS_STATS`: `1`, or the name of a file. A call inside
/// another call is a part of that one, and is not counted itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    operations: Vec<OperationStatistics>,
    elapsed: Duration,
}

impl Statistics {
    /// The rows, one for each operation, communicator and size; the longest time comes first.
    #[must_use]
    pub fn operations(&self) -> &[OperationStatistics] {
        &self.operations
    }

    /// The time for which they have been kept.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    pub(crate) fn new(mut operations: Vec<OperationStatistics>, elapsed: Duration) -> Self {
        operations.sort_unstable_by(|one, other| {
            let time = other.time.cmp(&one.time);
            time.then_with(|| one.operation.cmp(other.operation))
                .then_with(|| one.communicator.cmp(&other.communicator))
                .then_with(|| one.sizes.start().cmp(other.sizes.start()))
        });
        Self {
            operations,
            elapsed,
        }
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = Vec::new();
        for line in &self.operations {
            let sum = Sum {
                calls: line.calls,
                failed: line.failed,
                bytes: line.bytes,
                time: line.time,
                longest: line.longest,
            };
            let least = *line.sizes.start();
            let row = text::row_by_size(line.operation, &line.communicator, least, &sum);
            rows.push(row);
        }
        text::table(f, &text::BY_SIZE, rows)
    }
}

/// The key of calls that are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// One of the rank's communicators.
    pub(crate) communicator: u64,
    pub(crate) operation: &'static str,
    /// The number of bits of the number of bytes.
    pub(crate) class: u8,
}

/// The sums of such calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) calls: u64,
    pub(crate) failed: u64,
    pub(crate) bytes: u64,
    pub(crate) time: Duration,
    pub(crate) longest: Duration,
}

impl Sum {
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.failed = self.failed.saturating_add(other.failed);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time = self.time.saturating_add(other.time);
        self.longest = self.longest.max(other.longest);
    }
}

/// The sums of a rank.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) sums: HashMap<Key, Sum>,
}

impl Table {
    pub(crate) fn count(
        &mut self,
        (communicator, operation): (u64, &'static str),
        bytes: u64,
        time: Duration,
        failed: bool,
    ) {
        let key = Key {
            communicator,
            operation,
            class: class(bytes),
        };
        self.sums.entry(key).or_default().add(&Sum {
            calls: 1,
            failed: u64::from(failed),
            bytes,
            time,
            longest: time,
        });
    }
}

/// The number of bits of a number of bytes: 0 of 0, 1 of 1, 2 of 2 and 3, and so on.
fn class(bytes: u64) -> u8 {
    u8::try_from(u64::BITS - bytes.leading_zeros()).unwrap_or(u8::MAX)
}

/// The numbers of bytes of a class.
pub(crate) fn sizes(class: u8) -> RangeInclusive<u64> {
    match class {
        0 => 0..=0,
        1..64 => 1 << (class - 1)..=(1 << class) - 1,
        64.. => 1 << 63..=u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_is_in_its_class() {
        for bytes in [
            0,
            1,
            2,
            3,
            4,
            1023,
            1024,
            u64::MAX / 2,
            u64::MAX / 2 + 1,
            u64::MAX,
        ] {
            assert!(sizes(class(bytes)).contains(&bytes), "{bytes}");
        }
        for class in 0..64 {
            assert_eq!(*sizes(class).end() + 1, *sizes(class + 1).start());
        }
    }

    #[test]
    fn calls_of_one_size_are_one_line() {
        let mut table = Table::default();
        let millis = Duration::from_millis;
        table.count((0, "MPI_Send"), 100, millis(2), false);
        table.count((0, "MPI_Send"), 127, millis(3), true);
        table.count((0, "MPI_Send"), 128, millis(1), false);
        table.count((1, "MPI_Send"), 128, millis(1), false);
        assert_eq!(table.sums.len(), 3);
        let first = Key {
            communicator: 0,
            operation: "MPI_Send",
            class: 7,
        };
        let sum = Sum {
            calls: 2,
            failed: 1,
            bytes: 227,
            time: millis(5),
            longest: millis(3),
        };
        assert_eq!(table.sums[&first], sum);
    }

    #[test]
    fn a_name_that_the_program_has_given_is_on_one_line() {
        let line = OperationStatistics {
            operation: "MPI_Send",
            communicator: "two\nlines\x1b[2J".to_owned(),
            sizes: sizes(4),
            calls: 1,
            failed: 0,
            bytes: 8,
            time: Duration::ZERO,
            longest: Duration::ZERO,
        };
        let text = Statistics::new(vec![line], Duration::ZERO).to_string();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains(r"two\nlines\u{1b}[2J"), "{text}");
    }

    #[test]
    fn what_took_longest_comes_first() {
        let line = |operation, millis| OperationStatistics {
            operation,
            communicator: "world".to_owned(),
            sizes: sizes(4),
            calls: 1,
            failed: 0,
            bytes: 8,
            time: Duration::from_millis(millis),
            longest: Duration::from_millis(millis),
        };
        let lines = vec![
            line("MPI_Send", 1),
            line("MPI_Recv", 20),
            line("MPI_Bcast", 1),
        ];
        let statistics = Statistics::new(lines, Duration::from_secs(1));
        let order: Vec<_> = statistics
            .operations()
            .iter()
            .map(|line| line.operation)
            .collect();
        assert_eq!(order, ["MPI_Recv", "MPI_Bcast", "MPI_Send"]);
        assert_eq!(
            statistics.to_string(),
            "\
operation  communicator  bytes a call  calls  failed  bytes     time  longest
MPI_Recv   world                  8 B      1       0    8 B  20.0 ms  20.0 ms
MPI_Bcast  world                  8 B      1       0    8 B   1.0 ms   1.0 ms
MPI_Send   world                  8 B      1       0    8 B   1.0 ms   1.0 ms
"
        );
    }
}
