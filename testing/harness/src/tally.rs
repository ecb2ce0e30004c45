//! What ran where, counted, and the table of it.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::ops::AddAssign;
use std::time::Duration;

use ranks_test::driver::KnownFault;

use crate::place::Place;
use crate::table::aligned;

/// The number of the slowest tests that are named.
const SLOWEST: usize = 12;

/// The tests of one MPI and one number of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// That ended well.
    pub passed: usize,
    /// That did not.
    pub failed: usize,
    /// Not run, because the library is known to fail them.
    pub known: usize,
    /// Not run for another reason.
    pub skipped: usize,
}

impl AddAssign for Cell {
    fn add_assign(&mut self, other: Cell) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.known += other.known;
        self.skipped += other.skipped;
    }
}

impl Cell {
    /// The counts that are not zero, in words.
    pub fn text(self) -> String {
        let parts = [
            (self.passed, "ok"),
            (self.failed, "FAILED"),
            (self.known, "known"),
            (self.skipped, "skipped"),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        if parts.is_empty() {
            "-".to_owned()
        } else {
            parts.join(", ")
        }
    }
}

/// A test that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// `openmpi-5.0.11, np 4`.
    pub place: String,
    /// Its name.
    pub test: String,
    /// In a sentence.
    pub why: String,
    /// What the ranks printed, where that is known.
    pub details: String,
}

/// A line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The MPI, or another place.
    pub name: String,
    /// What the library says it is.
    pub library: String,
    /// The ABI of the library.
    pub abi: String,
    /// A cell a column, or why nothing ran.
    pub cells: Result<Vec<Cell>, String>,
}

impl Row {
    /// That of an MPI on which nothing has run yet.
    pub fn of(place: &Place) -> Self {
        Self {
            name: place.name.clone(),
            library: String::new(),
            abi: place.abi.to_owned(),
            cells: Ok(Vec::new()),
        }
    }
}

/// The line above the failures, which are the last of the table; `.ci/run` looks for it.
const FAILURES: &str = "tests that failed:";

/// All that ran.
#[derive(Debug, Default)]
pub struct Tally {
    /// What stands above the cells.
    pub columns: Vec<String>,
    /// The lines of the table.
    pub rows: Vec<Row>,
    /// All tests that failed.
    pub failures: Vec<Failure>,
    /// Known faults that were met, each in a line.
    pub known: Vec<String>,
    /// Tests that this machine is too small for, each in a line.
    pub left_out: Vec<String>,
    /// The sum of all.
    pub total: Cell,
    /// How long each test took, and where it ran.
    pub times: Vec<(Duration, String)>,
}

impl Tally {
    /// Takes down how long a test took.
    pub fn took(&mut self, time: Duration, test: &str, place: &str) {
        self.times.push((time, format!("{test} ({place})")));
    }

    /// Takes down a fault that keeps a test from being run, or that it has met.
    pub fn known(&mut self, fault: &KnownFault, test: &str, place: &str) {
        let KnownFault { reason, link, .. } = fault;
        self.known
            .push(format!("{test} ({place}): {reason} {link}"));
    }

    /// What was found out elsewhere; its cells are added by who has them.
    pub fn append(&mut self, other: Tally) {
        self.failures.extend(other.failures);
        self.known.extend(other.known);
        self.left_out.extend(other.left_out);
        self.times.extend(other.times);
    }

    /// A failure that no cell counts.
    pub fn fail(&mut self, failure: Failure) {
        self.total.failed += 1;
        self.failures.push(failure);
    }

    /// The table, the known faults that were met, the slowest tests and the failures.
    pub fn table(&self) -> String {
        let mut lines = vec![vec![
            "MPI".to_owned(),
            "library".to_owned(),
            "ABI".to_owned(),
        ]];
        lines[0].extend(self.columns.iter().cloned());
        for row in &self.rows {
            let mut line = vec![row.name.clone(), row.library.clone(), row.abi.clone()];
            match &row.cells {
                Ok(cells) => line.extend(cells.iter().map(|cell| cell.text())),
                Err(why) => line.push(why.clone()),
            }
            lines.push(line);
        }
        let mut table = aligned(&lines);
        if !self.known.is_empty() {
            let _ = writeln!(table, "\nknown faults of libraries, not run or met:");
            for line in &self.known {
                let _ = writeln!(table, "  {line}");
            }
        }
        if !self.left_out.is_empty() {
            let _ = writeln!(table, "\nnot run here:");
            for line in &self.left_out {
                let _ = writeln!(table, "  {line}");
            }
        }
        let mut times: Vec<_> = self.times.iter().collect();
        times.sort_by_key(|(time, _)| Reverse(*time));
        if !times.is_empty() {
            let _ = writeln!(table, "\nthe slowest:");
        }
        for (time, test) in times.into_iter().take(SLOWEST) {
            let _ = writeln!(table, "  {:6.1} s  {test}", time.as_secs_f64());
        }
        if !self.failures.is_empty() {
            let _ = writeln!(table, "\n{FAILURES}");
        }
        for failure in &self.failures {
            let Failure {
                place,
                test,
                why,
                details,
            } = failure;
            let _ = writeln!(table, "\nFAILED {test} ({place})\n{why}");
            if !details.is_empty() {
                let _ = writeln!(table, "{}", details.trim_end());
            }
        }
        table
    }

    /// `12 passed, 0 failed`, and how many did not run if any did not.
    pub fn last_line(&self) -> String {
        let Cell {
            passed,
            failed,
            known,
            skipped,
        } = self.total;
        let mut line = format!("{passed} passed, {failed} failed");
        if known + skipped > 0 {
            let _ = write!(line, ", {} skipped", known + skipped);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, cells: Result<Vec<Cell>, String>) -> Row {
        Row {
            name: name.to_owned(),
            library: "Lib 1.0".to_owned(),
            abi: "mpich".to_owned(),
            cells,
        }
    }

    #[test]
    fn the_table_has_a_row_an_mpi_and_a_column_a_number_of_ranks() {
        let cell = |passed, failed, known| Cell {
            passed,
            failed,
            known,
            skipped: 0,
        };
        let tally = Tally {
            columns: vec!["np 1".to_owned(), "np 4".to_owned()],
            rows: vec![
                row("one", Ok(vec![cell(12, 0, 0), cell(9, 1, 2)])),
                row(
                    "another",
                    Err("not provisioned, for a reason that is rather long".to_owned()),
                ),
            ],
            ..Tally::default()
        };
        let table = tally.table();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "MPI      library  ABI    np 1   np 4");
        assert_eq!(
            lines[1],
            "one      Lib 1.0  mpich  12 ok  9 ok, 1 FAILED, 2 known"
        );
        assert_eq!(
            lines[2],
            "another  Lib 1.0  mpich  not provisioned, for a reason that is rather long"
        );
    }

    #[test]
    fn the_last_line_sums_all() {
        let mut tally = Tally::default();
        assert_eq!(tally.last_line(), "0 passed, 0 failed");
        tally.total = Cell {
            passed: 3,
            failed: 1,
            known: 2,
            skipped: 1,
        };
        assert_eq!(tally.last_line(), "3 passed, 1 failed, 3 skipped");
    }
}
