//! Tests of the real NCCL, without a GPU: they run once, on the library of the wheel that is pinned.

use std::collections::BTreeSet;

use ranks_test::driver::Binary;

use super::jobs;
use super::tally::{Cell, Failure, Row, Tally};
use crate::nccl::{WHEEL, library};

/// The reason with which such a test is ignored.
pub(super) const REASON: &str = "needs an NCCL library";

/// Runs the tests of these names, wherever they are, and adds a row to the table.
///
/// With `provision` the wheel is brought first. If it is not here in the end the tests are skipped, or have failed if they
/// are `required`.
pub(super) fn run(
    names: &BTreeSet<String>,
    binaries: &[Binary],
    provision: bool,
    required: bool,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut row = Row {
        name: WHEEL.to_owned(),
        library: "NCCL, no GPU".to_owned(),
        abi: String::new(),
        cells: Ok(Vec::new()),
    };
    let library = match library(provision) {
        Ok(library) => library,
        Err(why) => {
            println!("{WHEEL}: {why}");
            if required {
                tally.fail(failure("(all)", why.clone()));
            } else {
                tally.total.skipped += names.len();
            }
            row.cells = Err(why);
            tally.rows.push(row);
            return Ok(());
        }
    };
    let mut tests = Vec::new();
    for binary in binaries {
        let mut here = jobs::ignored(binary)?;
        here.retain(|name| names.contains(name));
        if !here.is_empty() {
            tests.push((binary.clone(), here));
        }
    }
    let mut cell = jobs::run(WHEEL, ("RANKS_NCCL", library.as_os_str()), &tests, tally);
    for lost in lost(names, &tests) {
        cell.failed += 1;
        let why = "it was to run with an NCCL, and no test binary has it";
        tally.fail(failure(lost, why.to_owned()));
    }
    // Beside the numbers of ranks, of which there are none here.
    let mut cells = vec![Cell::default(); tally.columns.len().saturating_sub(2)];
    cells.push(cell);
    row.cells = Ok(cells);
    tally.rows.push(row);
    Ok(())
}

fn failure(test: &str, why: String) -> Failure {
    Failure {
        place: WHEEL.to_owned(),
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
    fn a_test_that_no_binary_has_is_lost() {
        let names: BTreeSet<String> = ["a::b", "c"].map(str::to_owned).into();
        assert_eq!(lost(&names, &[]), ["a::b", "c"]);
    }
}
