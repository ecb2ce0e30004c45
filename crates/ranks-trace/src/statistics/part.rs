//! The statistics of some ranks of a job as one, and their encoding for the rank that joins them.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::statistics::Sum;

/// The statistics of some ranks. It is as long for many as for one, but for the reasons why others
/// are missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    pub(crate) rows: Sorted<Name, Row>,
    /// The time for which they have counted, in total and of the rank that counted longest.
    pub(crate) elapsed: Duration,
    pub(crate) longest: Duration,
    /// Ranks that are missing, and the reason.
    pub(crate) missing: Vec<(RangeInclusive<usize>, String)>,
}

/// The key of a row: an operation on communicators of one name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) operation: String,
    pub(crate) communicator: String,
}

/// The calls of the ranks that have made such.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The number of these ranks.
    pub(crate) ranks: usize,
    /// The least time of one of them.
    pub(crate) least: Duration,
    /// The most, and the last of the ranks with it.
    pub(crate) most: (Duration, usize),
    /// The sums by the number of bits of a call's number of bytes.
    pub(crate) sizes: Sorted<u8, Sum>,
}

/// Values in the order of their keys.
pub(crate) type Sorted<K, V> = Vec<(K, V)>;

/// Joins a value with that of its key, if there is one.
fn join<K: Ord, V>(list: &mut Sorted<K, V>, key: K, value: V, join: impl FnOnce(&mut V, V)) {
    match list.binary_search_by(|(other, _)| other.cmp(&key)) {
        Ok(at) => join(&mut list[at].1, value),
        Err(at) => list.insert(at, (key, value)),
    }
}

/// The first byte: the version of the encoding.
const FORM: u8 = 2;

impl Part {
    /// The statistics of a rank: the operation, the communicator's name, the number of bits of the
    /// number of bytes, and the sum of each of its lines.
    pub(crate) fn of_rank(
        rank: usize,
        elapsed: Duration,
        lines: impl Iterator<Item = (&'static str, String, u8, Sum)>,
    ) -> Self {
        let mut rows = Vec::new();
        for (operation, communicator, class, sum) in lines {
            let operation = operation.to_owned();
            let name = Name {
                operation,
                communicator,
            };
            join(&mut rows, name, vec![(class, sum)], join_sizes);
        }
        let rows = rows.into_iter().map(|(name, sizes)| {
            let time = total(&sizes).time;
            let row = Row {
                ranks: 1,
                least: time,
                most: (time, rank),
                sizes,
            };
            (name, row)
        });
        Self {
            rows: rows.collect(),
            elapsed,
            longest: elapsed,
            missing: Vec::new(),
        }
    }

    /// Adds the statistics of other ranks.
    pub fn add(&mut self, other: Self) {
        for (name, row) in other.rows {
            join(&mut self.rows, name, row, Row::add);
        }
        self.elapsed = self.elapsed.saturating_add(other.elapsed);
        self.longest = self.longest.max(other.longest);
        self.missing.extend(other.missing);
    }

    /// Notes that ranks are missing, and the reason.
    pub fn miss(&mut self, ranks: RangeInclusive<usize>, why: impl Into<String>) {
        self.missing.push((ranks, why.into()));
    }

    /// Returns `true` if a rank is noted as missing.
    #[must_use]
    pub fn misses(&self, rank: usize) -> bool {
        self.missing.iter().any(|(ranks, _)| ranks.contains(&rank))
    }

    /// Encodes it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![FORM];
        put_time(&mut out, self.elapsed);
        put_time(&mut out, self.longest);
        put_number(&mut out, self.rows.len());
        for (name, row) in &self.rows {
            put_text(&mut out, &name.operation);
            put_text(&mut out, &name.communicator);
            put_number(&mut out, row.ranks);
            put_time(&mut out, row.least);
            let (most, rank) = row.most;
            put_time(&mut out, most);
            put_number(&mut out, rank);
            put_number(&mut out, row.sizes.len());
            for (class, sum) in &row.sizes {
                out.push(*class);
                for number in [sum.calls, sum.failed, sum.bytes] {
                    out.extend(number.to_le_bytes());
                }
                put_time(&mut out, sum.time);
                put_time(&mut out, sum.longest);
            }
        }
        for (ranks, why) in &self.missing {
            put_number(&mut out, *ranks.start());
            put_number(&mut out, *ranks.end());
            put_text(&mut out, why);
        }
        out
    }

    /// Decodes the bytes of [`to_bytes`](Self::to_bytes); `None` if they are not such.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        if reader.byte()? != FORM {
            return None;
        }
        let mut part = Self {
            elapsed: reader.time()?,
            longest: reader.time()?,
            ..Self::default()
        };
        for _ in 0..reader.number()? {
            let name = Name {
                operation: reader.text()?,
                communicator: reader.text()?,
            };
            let mut row = Row {
                ranks: reader.size()?,
                least: reader.time()?,
                most: (reader.time()?, reader.size()?),
                sizes: Vec::new(),
            };
            for _ in 0..reader.number()? {
                let class = reader.byte()?;
                let sum = Sum {
                    calls: reader.number()?,
                    failed: reader.number()?,
                    bytes: reader.number()?,
                    time: reader.time()?,
                    longest: reader.time()?,
                };
                join_sizes(&mut row.sizes, vec![(class, sum)]);
            }
            join(&mut part.rows, name, row, Row::add);
        }
        while !reader.0.is_empty() {
            let ranks = reader.size()?..=reader.size()?;
            part.miss(ranks, reader.text()?);
        }
        Some(part)
    }
}

impl Row {
    fn add(&mut self, other: Self) {
        self.ranks = self.ranks.saturating_add(other.ranks);
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        join_sizes(&mut self.sizes, other.sizes);
    }

    /// The sum of all sizes.
    pub(crate) fn sum(&self) -> Sum {
        total(&self.sizes)
    }
}

fn join_sizes(sizes: &mut Sorted<u8, Sum>, others: Sorted<u8, Sum>) {
    for (class, sum) in others {
        join(sizes, class, sum, |all, sum| all.add(&sum));
    }
}

fn total(sizes: &Sorted<u8, Sum>) -> Sum {
    let mut all = Sum::default();
    for (_, sum) in sizes {
        all.add(sum);
    }
    all
}

/// Appends a time: of many ranks it may be more nanoseconds than 64 bits can count.
fn put_time(out: &mut Vec<u8>, time: Duration) {
    out.extend(time.as_secs().to_le_bytes());
    out.extend(time.subsec_nanos().to_le_bytes());
}

fn put_number(out: &mut Vec<u8>, number: usize) {
    out.extend(u64::try_from(number).unwrap_or(u64::MAX).to_le_bytes());
}

/// Appends a text of up to 255 bytes; a longer one is cut.
fn put_text(out: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(usize::from(u8::MAX));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    out.push(u8::try_from(end).unwrap_or(0));
    out.extend(&text.as_bytes()[..end]);
}

/// The bytes that are left to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn size(&mut self) -> Option<usize> {
        self.number()?.try_into().ok()
    }

    fn time(&mut self) -> Option<Duration> {
        let seconds = Duration::from_secs(self.number()?);
        let nanos = u32::from_le_bytes(self.take(4)?.try_into().ok()?);
        seconds.checked_add(Duration::from_nanos(nanos.into()))
    }

    fn text(&mut self) -> Option<String> {
        let length = self.byte()?;
        let bytes = self.take(usize::from(length))?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use ranks_scale::row;

    use super::*;

    fn sum(calls: u64, millis: u64) -> Sum {
        Sum {
            calls,
            failed: 1,
            bytes: u64::MAX,
            time: Duration::from_millis(millis),
            longest: Duration::from_millis(1),
        }
    }

    fn part(rank: usize) -> Part {
        let millis = 10 + rank as u64;
        let lines = [
            ("MPI_Send", "world".to_owned(), 0, sum(3, millis)),
            ("MPI_Recv", "Größe".to_owned(), 64, sum(1, 100 - millis)),
            ("MPI_Send", "world".to_owned(), 5, sum(4, millis)),
        ];
        Part::of_rank(rank, Duration::new(u64::MAX / 2, 7), lines.into_iter())
    }

    #[test]
    fn bytes_come_back_as_they_went() {
        let mut whole = part(0);
        whole.miss(3..=3, "it is late");
        whole.add(part(1));
        whole.miss(4..=7, "they are lost");
        assert_eq!(Part::from_bytes(&whole.to_bytes()), Some(whole));
        assert_eq!(
            Part::from_bytes(&Part::default().to_bytes()),
            Some(Part::default())
        );
    }

    #[test]
    fn a_long_name_is_cut() {
        let name = "ä".repeat(200);
        let lines = [("MPI_Send", name.clone(), 0, sum(1, 1))];
        let long = Part::of_rank(0, Duration::ZERO, lines.into_iter());
        let back = Part::from_bytes(&long.to_bytes()).unwrap();
        assert_eq!(back.rows[0].0.communicator, name[..254]);
    }

    /// The order in which ranks are joined is that of a tree, or of their arrival.
    #[test]
    fn parts_are_the_same_in_any_order() {
        let of = |order: &[usize]| {
            let mut whole = Part::default();
            order.iter().for_each(|&rank| whole.add(part(rank)));
            whole
        };
        let mut tree = of(&[0, 1]);
        tree.add(of(&[3, 2]));
        assert_eq!(tree, of(&[0, 1, 2, 3]));
        assert_eq!(tree, of(&[3, 1, 2, 0]));
        let [(_, recv), (_, send)] = &tree.rows[..] else {
            panic!("{tree:?}");
        };
        let millis = Duration::from_millis;
        assert_eq!(
            (recv.ranks, recv.least, recv.most),
            (4, millis(87), (millis(90), 0))
        );
        assert_eq!((send.least, send.most), (millis(20), (millis(26), 3)));
        assert_eq!((send.sum().calls, send.sum().time), (28, millis(92)));
    }

    /// As docs/scale.md has it: rank 0 had one of each rank.
    #[test]
    fn a_part_of_many_is_as_long_as_that_of_one() {
        let mut many = part(0);
        (1..1000).for_each(|rank| many.add(part(rank % 8)));
        assert_eq!(many.to_bytes().len(), part(0).to_bytes().len());
        let sent = |rank| {
            let lines = (0..100u8).map(|line| {
                let name = format!("communicator {}", line / 4);
                ("MPI_Allreduce", name, line, sum(1, 1))
            });
            Part::of_rank(rank, Duration::from_secs(1), lines).to_bytes()
        };
        row(
            "statistics of all ranks, with 100 lines of each",
            (0, 64 << 10),
            |ranks| (0..=ranks.ilog2() as usize).map(sent).collect(),
            |_, sent: &Vec<Vec<u8>>| {
                let parts = sent.iter().filter_map(|bytes| Part::from_bytes(bytes));
                parts.fold(Part::default(), |mut all, part| {
                    all.add(part);
                    all
                })
            },
        );
    }

    #[test]
    fn what_was_cut_or_changed_is_no_reason_to_panic() {
        let mut part = part(0);
        part.miss(1..=2, "lost");
        let whole = part.to_bytes();
        let ends: Vec<usize> = (0..whole.len())
            .filter(|&end| Part::from_bytes(&whole[..end]).is_some())
            .collect();
        // Only where none is missing.
        assert_eq!(ends.len(), 1, "{ends:?}");
        for at in 0..whole.len() {
            for byte in [0, 1, 127, 255] {
                let mut changed = whole.clone();
                changed[at] = byte;
                let _ = Part::from_bytes(&changed);
            }
        }
        assert_eq!(Part::from_bytes(&[]), None);
        assert_eq!(Part::from_bytes(&[9; 100]), None);
    }
}
