//! The statistics of all ranks as one table.

use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

use crate::statistics::part::Part;
use crate::statistics::text::{self, Alignment, Column};
use crate::statistics::{Sum, sizes};

/// The key of a row: an operation on communicators of one name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    operation: String,
    communicator: String,
}

/// The sums of all ranks that have made such calls.
#[derive(Debug, Default)]
struct Row {
    sum: Sum,
    /// The time of each rank.
    times: Sorted<usize, Duration>,
    /// The sums by the number of bits of a call's number of bytes.
    sizes: Sorted<u8, Sum>,
}

/// Values in the order of their keys.
type Sorted<K, V> = Vec<(K, V)>;

/// The value of a key, which is added where there is none.
fn entry<K: Ord, V: Default>(list: &mut Sorted<K, V>, key: K) -> &mut V {
    let at = match list.binary_search_by(|(other, _)| other.cmp(&key)) {
        Ok(at) => at,
        Err(at) => {
            list.insert(at, (key, V::default()));
            at
        }
    };
    &mut list[at].1
}

/// The statistics of a job's ranks.
#[derive(Debug)]
pub struct Job {
    size: usize,
    library: String,
    rows: Sorted<Name, Row>,
    /// The time for which each rank has counted.
    elapsed: Vec<Duration>,
    /// The reasons why ranks are missing.
    missing: Sorted<usize, String>,
}

/// The number of lines in the summary at the end of a job.
const LINES: usize = 30;

impl Job {
    /// A report without ranks.
    #[must_use]
    pub fn new(size: usize, library: &str) -> Self {
        Self {
            size,
            library: library.to_owned(),
            rows: Vec::new(),
            elapsed: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Adds the statistics of a rank.
    pub fn add(&mut self, rank: usize, part: Part) {
        self.elapsed.push(part.elapsed);
        for line in part.lines {
            let name = Name {
                operation: line.operation.into_owned(),
                communicator: line.communicator.into_owned(),
            };
            let row = entry(&mut self.rows, name);
            row.sum.add(&line.sum);
            let time = entry(&mut row.times, rank);
            *time = time.saturating_add(line.sum.time);
            entry(&mut row.sizes, line.class).add(&line.sum);
        }
    }

    /// Notes that a rank is missing, and the reason.
    pub fn miss(&mut self, rank: usize, why: impl Into<String>) {
        *entry(&mut self.missing, rank) = why.into();
    }

    /// The summary for a screen.
    pub fn summary(&self) -> String {
        self.text(LINES).unwrap_or_default()
    }

    /// The whole table, with the sizes.
    pub fn report(&self) -> String {
        let mut text = self.text(usize::MAX).unwrap_or_default();
        let _ = self.by_size(&mut text);
        text
    }

    /// The rows, the longest time first.
    fn sorted(&self) -> Vec<&(Name, Row)> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|(_, row)| Reverse(row.sum.time));
        rows
    }

    fn text(&self, most: usize) -> Result<String, fmt::Error> {
        use fmt::Write as _;
        let wall: Duration = self.elapsed.iter().sum();
        let longest = self.elapsed.iter().max().copied().unwrap_or_default();
        let mut all = Sum::default();
        for (_, row) in &self.rows {
            all.add(&row.sum);
        }
        let (size, library) = (self.size, &self.library);
        let mut out = String::new();
        writeln!(
            out,
            "ranks: {size} {} on {library}, {} s; {} of it in calls",
            if size == 1 { "rank" } else { "ranks" },
            text::seconds(longest),
            text::percent(all.time, wall),
        )?;
        let columns = [
            Column("operation", Alignment::Left),
            Column("communicator", Alignment::Left),
            Column("ranks", Alignment::Right),
            Column("calls", Alignment::Right),
            Column("bytes", Alignment::Right),
            Column("min s", Alignment::Right),
            Column("avg s", Alignment::Right),
            Column("max s", Alignment::Right),
            Column("of rank", Alignment::Right),
            Column("wall", Alignment::Right),
        ];
        let sorted = self.sorted();
        let mut rows = Vec::new();
        for (name, row) in sorted.iter().take(most) {
            rows.push(row.cells(name, wall));
        }
        text::table(&mut out, &columns, rows)?;
        if sorted.len() > most {
            writeln!(
                out,
                "and {} more lines: RANKS_STATS=FILE has them all",
                sorted.len() - most
            )?;
        }
        if all.failed > 0 {
            writeln!(out, "{} of the calls failed", all.failed)?;
        }
        for (rank, why) in &self.missing {
            writeln!(out, "missing: rank {rank}, {why}")?;
        }
        Ok(out)
    }

    fn by_size(&self, out: &mut String) -> fmt::Result {
        let mut rows = Vec::new();
        for (name, row) in self.sorted() {
            for (class, sum) in &row.sizes {
                let least = *sizes(*class).start();
                let row = text::row_by_size(&name.operation, &name.communicator, least, sum);
                rows.push(row);
            }
        }
        out.push('\n');
        text::table(out, &text::BY_SIZE, rows)
    }
}

impl Row {
    fn cells(&self, name: &Name, wall: Duration) -> Vec<String> {
        let (mut min, mut max, mut slowest) = (Duration::MAX, Duration::ZERO, 0);
        for (rank, time) in &self.times {
            min = min.min(*time);
            if *time >= max {
                (max, slowest) = (*time, *rank);
            }
        }
        let ranks = u32::try_from(self.times.len()).unwrap_or(u32::MAX);
        vec![
            name.operation.clone(),
            text::printable(&name.communicator),
            self.times.len().to_string(),
            self.sum.calls.to_string(),
            text::bytes(self.sum.bytes),
            text::seconds(min),
            text::seconds(self.sum.time / ranks.max(1)),
            text::seconds(max),
            slowest.to_string(),
            text::percent(self.sum.time, wall),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::part::Line;

    fn line(operation: &'static str, bytes: u64, millis: u64) -> Line {
        Line {
            operation: operation.into(),
            communicator: "world".into(),
            class: 4,
            sum: Sum {
                calls: 2,
                failed: 0,
                bytes,
                time: Duration::from_millis(millis),
                longest: Duration::from_millis(millis),
            },
        }
    }

    #[test]
    fn ranks_are_one_table() {
        let mut job = Job::new(3, "in process");
        let elapsed = Duration::from_secs(1);
        let lines = vec![line("MPI_Send", 16, 100)];
        job.add(0, Part { lines, elapsed });
        let lines = vec![line("MPI_Recv", 16, 200), line("MPI_Send", 16, 200)];
        job.add(1, Part { lines, elapsed });
        job.miss(2, "it ended early");
        assert_eq!(
            job.summary(),
            "\
ranks: 3 ranks on in process, 1.000 s; 25.0 % of it in calls
operation  communicator  ranks  calls  bytes  min s  avg s  max s  of rank    wall
MPI_Send   world             2      4   32 B  0.100  0.150  0.200        1  15.0 %
MPI_Recv   world             1      2   16 B  0.200  0.200  0.200        1  10.0 %
missing: rank 2, it ended early
"
        );
        assert!(
            job.report()
                .contains("\nMPI_Send   world                  8 B      4")
        );
    }

    #[test]
    fn a_name_of_two_lines_was_two_rows() {
        let mut job = Job::new(1, "in process");
        let mut line = line("MPI_Send", 16, 100);
        line.communicator = "two\nlines\u{1b}[2J".into();
        job.add(
            0,
            Part {
                lines: vec![line],
                elapsed: Duration::from_secs(1),
            },
        );
        assert!(
            job.summary().contains(r"MPI_Send   two\nlines\u{1b}[2J  "),
            "{}",
            job.summary()
        );
        assert!(job.report().lines().all(|line| !line.starts_with("lines")));
    }

    #[test]
    fn a_screen_is_not_filled() {
        let mut job = Job::new(1, "in process");
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let lines = names.iter().flat_map(|operation| {
            (0..5).map(move |number| Line {
                communicator: format!("grid {number}").into(),
                ..line(operation, 1, 1)
            })
        });
        let part = Part {
            lines: lines.collect(),
            elapsed: Duration::from_secs(1),
        };
        job.add(0, part);
        assert_eq!(job.summary().lines().count(), LINES + 3);
        assert!(
            job.summary()
                .ends_with("and 10 more lines: RANKS_STATS=FILE has them all\n")
        );
        assert!(job.report().lines().count() > 80);
    }
}
