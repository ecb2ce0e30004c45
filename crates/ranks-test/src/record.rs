//! The records that a rank writes while it tests and the driver reads: one event a line, in a file
//! a process.
//!
//! Each process of a job has two files in the folder `RANKS_TEST_REPORT`: `<pid>.<host>.events`,
//! and `<pid>.<host>.output` with all that it printed: on two hosts the same process number may be
//! given at the same time. A line is written immediately and whole, so records from before a crash
//! are there.

use std::fmt;

/// The folder for the records of a job; a process that finds it set is a rank of a job of the
/// driver.
pub(crate) const REPORT: &str = "RANKS_TEST_REPORT";

/// The number of ranks that the driver started.
pub(crate) const RANKS: &str = "RANKS_TEST_NP";

/// The MPIs that `cargo test` is to run on, by name or folder, separated by commas; or `all`.
pub(crate) const MPIS: &str = "RANKS_TEST_MPI";

/// The name of the files of this process, before `.events` and `.output`.
#[cfg(feature = "attribute")]
pub(crate) fn stem() -> String {
    format!("{}.{}", std::process::id(), ranks_comm::backend::host())
}

/// An event that a rank records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// MPI is up: I am this rank, on this library.
    Rank { rank: usize, library: String },
    /// A test begins.
    Started {
        test: String,
        /// Seconds after which it counts as timed out.
        limit: u64,
        /// The length of my output until now, in bytes.
        output: u64,
    },
    /// The test passed on this rank.
    Passed { test: String },
    /// The test failed on this rank.
    Failed { test: String, why: String },
    /// MPI is finalized and the process about to end.
    Finalized,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Rank { rank, library } => write!(f, "rank\t{rank}\t{}", escaped(library)),
            Event::Started {
                test,
                limit,
                output,
            } => write!(f, "started\t{test}\t{limit}\t{output}"),
            Event::Passed { test } => write!(f, "ok\t{test}"),
            Event::Failed { test, why } => write!(f, "failed\t{test}\t{}", escaped(why)),
            Event::Finalized => f.write_str("finalized"),
        }
    }
}

impl Event {
    /// Reads a line without its end; nothing if it is none of ours.
    pub(crate) fn parse(line: &str) -> Option<Event> {
        let mut fields = line.split('\t');
        let event = match fields.next()? {
            "rank" => Event::Rank {
                rank: fields.next()?.parse().ok()?,
                library: unescaped(fields.next()?),
            },
            "started" => Event::Started {
                test: fields.next()?.to_owned(),
                limit: fields.next()?.parse().ok()?,
                output: fields.next()?.parse().ok()?,
            },
            "ok" => Event::Passed {
                test: fields.next()?.to_owned(),
            },
            "failed" => Event::Failed {
                test: fields.next()?.to_owned(),
                why: unescaped(fields.next()?),
            },
            "finalized" => Event::Finalized,
            _ => return None,
        };
        fields.next().is_none().then_some(event)
    }
}

/// A text of several lines in one, without tabs.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\t', "\\t")
}

/// The inverse of [`escaped`].
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some(other) => plain.push(other),
            None => plain.push('\\'),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_reads_back_as_it_was_written() {
        let test = "ring::np4".to_owned();
        for event in [
            Event::Rank {
                rank: 3,
                library: "Open MPI 5.0.11".to_owned(),
            },
            Event::Started {
                test: test.clone(),
                limit: 60,
                output: 1 << 40,
            },
            Event::Passed { test: test.clone() },
            Event::Failed {
                test,
                why: "left\t!=\nright \\n \\".to_owned(),
            },
            Event::Finalized,
        ] {
            let line = event.to_string();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(Event::parse(&line).as_ref(), Some(&event), "{line}");
        }
    }

    #[test]
    fn a_line_cut_short_or_not_ours_is_no_event() {
        for line in [
            "",
            "started\tring",
            "rank\tx\tlib",
            "ok\ta\tb",
            "test ring ... ok",
        ] {
            assert_eq!(Event::parse(line), None, "{line}");
        }
    }
}
