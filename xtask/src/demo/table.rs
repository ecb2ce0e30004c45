//! The one table of the demo.

use std::fmt;

const HEADINGS: [&str; 6] = ["example", "library", "ABI", "ranks", "verified", "time"];

/// A table whose columns are as wide as their widest cell.
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
        let headings = HEADINGS.map(str::to_owned);
        let width = |column: usize| {
            let cells = self
                .rows
                .iter()
                .chain([&headings])
                .map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: [usize; HEADINGS.len()] = std::array::from_fn(width);
        let rules = widths.map(|width| "─".repeat(width));
        for row in [&headings, &rules].into_iter().chain(&self.rows) {
            let cells = row
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell:<width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}
