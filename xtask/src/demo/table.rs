//! The one table of the demo.

use std::fmt;

use ranks_harness::table::aligned;

const HEADINGS: [&str; 6] = ["example", "library", "ABI", "ranks", "verified", "time"];

/// The row of a job.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<[String; HEADINGS.len()]>,
}

impl Table {
    pub(super) fn push(&mut self, row: [String; HEADINGS.len()]) {
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = [HEADINGS.map(str::to_owned)];
        let lines = lines.iter().chain(&self.rows).map(|row| row.to_vec());
        f.write_str(&aligned(&lines.collect::<Vec<_>>()))
    }
}
