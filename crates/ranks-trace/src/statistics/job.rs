//! The statistics of all ranks as one table.

use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

use crate::statistics::part::{Name, Part, Row};
use crate::statistics::text::{self, Alignment, Column};
use crate::statistics::{Sum, sizes};

/// The statistics of a job's ranks.
#[derive(Debug)]
pub struct Job {
    size: usize,
    library: String,
    ranks: Part,
}

/// The number of lines in the summary at the end of a job.
const LINES: usize = 30;

impl Job {
    /// A job of so many ranks, with what they have counted.
    #[must_use]
    pub fn new(size: usize, library: &str, mut ranks: Part) -> Self {
        ranks.missing.sort_by_key(|(ranks, _)| *ranks.start());
        Self {
            size,
            library: library.to_owned(),
            ranks,
        }
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
        let mut rows: Vec<_> = self.ranks.rows.iter().collect();
        rows.sort_by_key(|(_, row)| Reverse(row.sum().time));
        rows
    }

    fn text(&self, most: usize) -> Result<String, fmt::Error> {
        use fmt::Write as _;
        let wall = self.ranks.elapsed;
        let mut all = Sum::default();
        for (_, row) in &self.ranks.rows {
            all.add(&row.sum());
        }
        let size = self.size;
        // Where ranks are threads there is no library.
        let on = match self.library.as_str() {
            "in process" => "in process".to_owned(),
            library => format!("on {library}"),
        };
        let mut out = String::new();
        writeln!(
            out,
            "ranks: {size} {} {on}, {}; {} of it in calls",
            if size == 1 { "rank" } else { "ranks" },
            text::time(self.ranks.longest),
            text::percent(all.time, wall),
        )?;
        let columns = [
            Column("operation", Alignment::Left),
            Column("communicator", Alignment::Left),
            Column("ranks", Alignment::Right),
            Column("calls", Alignment::Right),
            Column("bytes", Alignment::Right),
            Column("min", Alignment::Right),
            Column("avg", Alignment::Right),
            Column("max", Alignment::Right),
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
        for (ranks, why) in &self.ranks.missing {
            let (first, last) = (ranks.start(), ranks.end());
            if first == last {
                writeln!(out, "missing: rank {first}, {why}")?;
            } else {
                writeln!(out, "missing: ranks {first} to {last}, {why}")?;
            }
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
        let sum = self.sum();
        let (most, slowest) = self.most;
        let ranks = u32::try_from(self.ranks).unwrap_or(u32::MAX);
        vec![
            name.operation.clone(),
            text::printable(&name.communicator),
            self.ranks.to_string(),
            sum.calls.to_string(),
            text::bytes(sum.bytes),
            text::time(self.least),
            text::time(sum.time / ranks.max(1)),
            text::time(most),
            slowest.to_string(),
            text::percent(sum.time, wall),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(operation: &'static str, name: &str, millis: u64) -> (&'static str, String, u8, Sum) {
        let sum = Sum {
            calls: 2,
            failed: 0,
            bytes: 16,
            time: Duration::from_millis(millis),
            longest: Duration::from_millis(millis),
        };
        (operation, name.to_owned(), 4, sum)
    }

    fn part<const LINES: usize>(
        rank: usize,
        lines: [(&'static str, String, u8, Sum); LINES],
    ) -> Part {
        Part::of_rank(rank, Duration::from_secs(1), lines.into_iter())
    }

    #[test]
    fn ranks_are_one_table() {
        let mut ranks = part(0, [line("MPI_Send", "world", 100)]);
        ranks.miss(4..=7, "rank 4 has them");
        ranks.miss(2..=2, "it ended early");
        let lines = [
            line("MPI_Recv", "world", 200),
            line("MPI_Send", "world", 200),
        ];
        ranks.add(part(1, lines));
        let job = Job::new(8, "in process", ranks);
        assert_eq!(
            job.summary(),
            "\
ranks: 8 ranks in process, 1.000 s; 25.0 % of it in calls
operation  communicator  ranks  calls  bytes       min       avg       max  of rank    wall
MPI_Send   world             2      4   32 B  100.0 ms  150.0 ms  200.0 ms        1  15.0 %
MPI_Recv   world             1      2   16 B  200.0 ms  200.0 ms  200.0 ms        1  10.0 %
missing: rank 2, it ended early
missing: ranks 4 to 7, rank 4 has them
"
        );
        assert!(
            job.report()
                .contains("\nMPI_Send   world                  8 B      4")
        );
    }

    #[test]
    fn a_name_of_two_lines_was_two_rows() {
        let ranks = part(0, [line("MPI_Send", "two\nlines\u{1b}[2J", 100)]);
        let job = Job::new(1, "in process", ranks);
        assert!(
            job.summary().contains(r"MPI_Send   two\nlines\u{1b}[2J  "),
            "{}",
            job.summary()
        );
        assert!(job.report().lines().all(|line| !line.starts_with("lines")));
    }

    #[test]
    fn a_screen_is_not_filled() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let lines = names.iter().flat_map(|operation| {
            (0..5).map(move |number| line(operation, &format!("grid {number}"), 1))
        });
        let job = Job::new(
            1,
            "in process",
            Part::of_rank(0, Duration::from_secs(1), lines),
        );
        assert_eq!(job.summary().lines().count(), LINES + 3);
        assert!(
            job.summary()
                .ends_with("and 10 more lines: RANKS_STATS=FILE has them all\n")
        );
        assert!(job.report().lines().count() > 80);
    }
}
