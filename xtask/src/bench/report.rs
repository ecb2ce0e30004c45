//! The table: what C needs, what ranks adds, what it may add.

use std::collections::BTreeMap;
use std::fmt;

use super::gates::{Gates, Limit, SINGLE, Verdict};
use super::profile::Counts;

/// One library at one thread level.
pub(super) struct Column {
    pub(super) mpi: String,
    pub(super) standard: bool,
    pub(super) level: &'static str,
    pub(super) c: Counts,
    pub(super) ranks: Counts,
}

/// All that was counted.
#[derive(Default)]
pub(super) struct Report {
    pub(super) columns: Vec<Column>,
    /// The counts that failed.
    pub(super) absent: Vec<String>,
}

/// C has no accessor: it asks the library, which is what the table does as well.
fn in_c(call: &str) -> &str {
    if call == "rank" { "rank_table" } else { call }
}

/// Above the costs of calls.
pub(super) const HEADINGS: &str = "  call                    C    ranks    added  gate";

/// Rounded as it is shown, and never a negative zero.
fn difference(ours: f64, c: f64) -> f64 {
    ((ours - c) * 10.0).round() / 10.0 + 0.0
}

impl Report {
    /// Shows the table; returns how many gates are missed.
    pub(super) fn show(
        &self,
        gates: &Gates,
        out: &mut impl fmt::Write,
    ) -> Result<usize, fmt::Error> {
        let mut missed = self.absent.len();
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for column in &self.columns {
            let kind = if column.standard {
                "standard ABI"
            } else {
                "shims"
            };
            writeln!(
                out,
                "\n{} ({kind}), MPI_THREAD_{}",
                column.mpi,
                column.level.to_uppercase()
            )?;
            writeln!(out, "{HEADINGS}")?;
            for call in gates.calls() {
                let Some(limit) = gates.limit(call, column.level, column.standard) else {
                    continue;
                };
                if gates.is_optional(call) && !column.c.contains_key(call) {
                    writeln!(out, "  {call:<16}  not in C")?;
                    continue;
                }
                let (Some(&c), Some(&ours)) = (column.c.get(in_c(call)), column.ranks.get(call))
                else {
                    missed += 1;
                    writeln!(out, "  {call:<16}  not counted")?;
                    continue;
                };
                let verdict = match gates.judge(call, &column.mpi, column.level, limit, c, ours) {
                    Verdict::Passed => "ok".to_owned(),
                    Verdict::Excepted(exception) => {
                        let next = reasons.len() + 1;
                        format!(
                            "known [{}]",
                            reasons.entry(exception.reason.as_str()).or_insert(next)
                        )
                    }
                    Verdict::Missed => {
                        missed += 1;
                        "MISSED".to_owned()
                    }
                };
                let limit = match limit {
                    Limit::Added(limit) => format!("+{limit}"),
                    Limit::Total(limit) => format!("{limit} in total"),
                };
                writeln!(
                    out,
                    "  {call:<16}{c:>9.1}{ours:>9.1}{:>+9.1}  {limit:<12} {verdict}",
                    difference(ours, c)
                )?;
            }
        }
        self.show_totals(gates, out)?;
        let mut reasons: Vec<(usize, &str)> = reasons
            .into_iter()
            .map(|(reason, number)| (number, reason))
            .collect();
        reasons.sort_unstable();
        if !reasons.is_empty() {
            writeln!(out)?;
        }
        for (number, reason) in reasons {
            writeln!(out, "[{number}] {reason}")?;
        }
        if self.columns.iter().any(|column| column.level == SINGLE) {
            writeln!(out)?;
            for single in &gates.single {
                writeln!(
                    out,
                    "MPI_THREAD_SINGLE may cost {} more in {}: {}",
                    single.more,
                    single.calls.join(", "),
                    single.reason
                )?;
            }
        }
        for absent in &self.absent {
            writeln!(out, "NOT COUNTED: {absent}")?;
        }
        Ok(missed)
    }

    /// Library and ranks together: which library of an installation is the faster one with ranks
    /// above it.
    fn show_totals(&self, gates: &Gates, out: &mut impl fmt::Write) -> fmt::Result {
        for level in ["single", "multiple"] {
            let columns: Vec<&Column> = self
                .columns
                .iter()
                .filter(|column| column.level == level)
                .collect();
            if columns.is_empty() {
                continue;
            }
            let width = columns
                .iter()
                .map(|column| column.mpi.len())
                .max()
                .unwrap_or(0)
                + 2;
            writeln!(
                out,
                "\nlibrary and ranks together, MPI_THREAD_{}",
                level.to_uppercase()
            )?;
            write!(out, "  {:<16}", "call")?;
            for column in &columns {
                write!(out, "{:>width$}", column.mpi)?;
            }
            writeln!(out)?;
            for call in gates.calls() {
                write!(out, "  {call:<16}")?;
                for column in &columns {
                    let count = column
                        .ranks
                        .get(call)
                        .map_or("-".to_owned(), |count| format!("{count:.0}"));
                    write!(out, "{count:>width$}")?;
                }
                writeln!(out)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(ours: f64) -> Report {
        let column = Column {
            mpi: "mpich-5.0.2-abi".into(),
            standard: true,
            level: "multiple",
            c: BTreeMap::from([("barrier".into(), 60.0), ("rank_table".into(), 60.0)]),
            ranks: BTreeMap::from([("barrier".into(), ours), ("rank".into(), 4.0)]),
        };
        Report {
            columns: vec![column],
            absent: Vec::new(),
        }
    }

    #[test]
    fn what_is_missed_and_what_was_not_counted_is_counted() {
        let gates = Gates::read().unwrap();
        let calls = gates.calls().count();
        let mut text = String::new();
        let missed = report(66.0).show(&gates, &mut text).unwrap();
        // Two are counted, and one is no call of every library.
        assert_eq!(missed, calls - 3, "{text}");
        assert!(text.contains("not counted"));
        let slower = report(1000.0).show(&gates, &mut String::new()).unwrap();
        assert_eq!(slower, missed + 1);
    }

    #[test]
    fn a_library_that_was_to_be_counted_and_was_not_is_a_miss() {
        let gates = Gates::read().unwrap();
        let report = Report {
            columns: Vec::new(),
            absent: vec!["impi".into()],
        };
        let mut text = String::new();
        assert_eq!(report.show(&gates, &mut text).unwrap(), 1);
        assert!(text.contains("NOT COUNTED: impi"));
    }
}
