//! Tests of the real libraries for GPUs, without a GPU: they run once on each of the wheels that
//! are pinned.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::PathBuf;

use ranks_harness::tally::{Cell, Failure, Row, Tally};
use ranks_test::driver::Binary;

use super::jobs;
use crate::gpu::libraries::{NCCL, NVSHMEM, nccl, nvshmem};

/// A library that tests need.
struct Kind {
    /// The reason with which such a test is ignored.
    reason: &'static str,
    /// Its name in the table.
    about: &'static str,
    /// The variable by which tests find it.
    variable: &'static str,
    /// The wheels that have one.
    wheels: &'static [&'static str],
    /// Its file in one of these, brought first if that is asked for.
    file: fn(&str, bool) -> Result<PathBuf, String>,
}

const KINDS: [Kind; 2] = [
    Kind {
        reason: "needs an NCCL library",
        about: "NCCL, no GPU",
        variable: "RANKS_NCCL",
        wheels: &[NCCL],
        file: |_, provision| nccl(provision),
    },
    Kind {
        reason: "needs an NVSHMEM library",
        about: "NVSHMEM, no GPU",
        variable: "RANKS_NVSHMEM",
        wheels: &NVSHMEM,
        file: nvshmem,
    },
];

/// Tests that need a library, by the reason with which they are ignored.
pub(super) type Needing = BTreeMap<&'static str, BTreeSet<String>>;

/// The reason of that text, if it is one.
pub(super) fn reason(text: &str) -> Option<&'static str> {
    let kind = KINDS.iter().find(|kind| kind.reason == text)?;
    Some(kind.reason)
}

/// Runs them, wherever they are, and adds a row to the table for each library.
///
/// With `provision` the wheels are brought first. If one is not here in the end its tests are
/// skipped, or have failed if they are `required`.
pub(super) fn run(
    needing: &Needing,
    binaries: &[Binary],
    provision: bool,
    required: bool,
    tally: &mut Tally,
) -> Result<(), String> {
    for kind in &KINDS {
        let Some(names) = needing.get(kind.reason) else {
            continue;
        };
        let mut tests = Vec::new();
        for binary in binaries {
            let mut here = jobs::ignored(binary)?;
            here.retain(|name| names.contains(name));
            if !here.is_empty() {
                tests.push((binary.clone(), here));
            }
        }
        for wheel in kind.wheels {
            let row = Row {
                name: (*wheel).to_owned(),
                library: kind.about.to_owned(),
                abi: String::new(),
                cells: match (kind.file)(wheel, provision) {
                    Ok(file) => {
                        let variable = (kind.variable, file.as_os_str());
                        Ok(on_one(wheel, variable, names, &tests, tally))
                    }
                    Err(why) => {
                        println!("{wheel}: {why}");
                        if required {
                            tally.fail(failure(wheel, "(all)", why.clone()));
                        } else {
                            tally.total.skipped += names.len();
                        }
                        Err(why)
                    }
                },
            };
            tally.rows.push(row);
        }
    }
    Ok(())
}

/// Those of one library, on one of its wheels.
fn on_one(
    wheel: &str,
    variable: (&str, &OsStr),
    names: &BTreeSet<String>,
    tests: &[(Binary, Vec<String>)],
    tally: &mut Tally,
) -> Vec<Cell> {
    let mut cell = jobs::run(wheel, &[variable], tests, tally);
    for lost in lost(names, tests) {
        cell.failed += 1;
        let why = "it was to run with a library, and no test binary has it";
        tally.fail(failure(wheel, lost, why.to_owned()));
    }
    // Beside the numbers of ranks, of which there are none here.
    let mut cells = vec![Cell::default(); tally.columns.len().saturating_sub(2)];
    cells.push(cell);
    cells
}

fn failure(wheel: &str, test: &str, why: String) -> Failure {
    Failure {
        place: wheel.to_owned(),
        test: test.to_owned(),
        why,
        details: String::new(),
    }
}

/// Tests that are in none of the binaries.
fn lost<'names>(
    names: &'names BTreeSet<String>,
    tests: &[(Binary, Vec<String>)],
) -> Vec<&'names str> {
    let found = |name: &&String| tests.iter().any(|(_, here)| here.contains(name));
    names
        .iter()
        .filter(|name| !found(name))
        .map(String::as_str)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_known_word_by_word() {
        assert_eq!(reason("needs an NCCL library"), Some(KINDS[0].reason));
        assert_eq!(reason("needs an NVSHMEM library"), Some(KINDS[1].reason));
        assert_eq!(reason("needs an NCCL"), None);
    }

    #[test]
    fn a_test_that_no_binary_has_is_lost() {
        let names: BTreeSet<String> = ["a::b", "c"].map(str::to_owned).into();
        assert_eq!(lost(&names, &[]), ["a::b", "c"]);
    }
}
