//! Tests that take gigabytes: once for each way to a library, where there is memory for them.
//!
//! MPICH has functions of large counts, and calls are carried out in pieces for Open MPI. The
//! standard ABI differs from MPICH's in its handles and statuses, not in how counts are passed: on
//! it run the tests of messages, whose statuses hold such counts.

use std::collections::BTreeMap;

use ranks_harness::place::Place;
use ranks_launch::Meminfo;
use ranks_test::driver::{Binary, Case};

use super::jobs;

/// The MPIs that they run on: the first of each ABI that is here.
const PLACES: [&str; 5] = [
    "mpich-5.0.2",
    "mpich-5.0.2-abi",
    "openmpi-5.0.11",
    "debian-mpich",
    "debian-openmpi",
];

/// The binary whose tests run on the standard ABI too.
const OF_MESSAGES: &str = "ranks-comm::huge";

/// The memory that the rest of the machine keeps, in gigabytes.
const SPARE: u64 = 3;

/// Such tests, and what was found of them.
#[derive(Debug, Default)]
pub(super) struct Huge {
    /// Those for which there is memory.
    pub(super) tests: Vec<(Binary, Vec<Case>)>,
    /// Those for which there is none, each with the reason.
    pub(super) left_out: Vec<String>,
    /// The MPIs that they run on.
    places: Vec<String>,
}

/// The reason with which such a test is ignored, and how many gigabytes it names.
pub(super) fn gigabytes(reason: &str) -> Option<u64> {
    let rest = reason.strip_prefix("needs ")?;
    rest.strip_suffix(" GB of memory")?.parse().ok()
}

/// Finds the tests in `needs`, names and gigabytes as libtest told them, in the binaries.
pub(super) fn tests(
    binaries: &[Binary],
    needs: &BTreeMap<String, u64>,
    places: &[Place],
) -> Result<Huge, String> {
    let mut huge = Huge {
        places: one_of_each_abi(places),
        ..Huge::default()
    };
    if needs.is_empty() {
        return Ok(huge);
    }
    let available = available();
    for binary in binaries {
        let mut cases = Vec::new();
        for name in jobs::ignored(binary)? {
            let (Some(case), Some(&need)) = (Case::parse(&name), needs.get(&name)) else {
                continue;
            };
            if need + SPARE <= available {
                cases.push(case);
            } else {
                huge.left_out.push(format!(
                    "{name} ({}) needs {need} GB of memory and some to spare; {available} GB are available",
                    binary.name
                ));
            }
        }
        if !cases.is_empty() {
            huge.tests.push((binary.clone(), cases));
        }
    }
    Ok(huge)
}

impl Huge {
    /// Those that run at a place.
    pub(super) fn at(&self, place: &Place) -> Vec<(Binary, Vec<Case>)> {
        if !self.places.contains(&place.name) {
            return Vec::new();
        }
        let all = place.abi != "standard";
        let tests = self.tests.iter();
        tests
            .filter(|(binary, _)| all || binary.name == OF_MESSAGES)
            .cloned()
            .collect()
    }
}

/// The names of the MPIs to run them on.
fn one_of_each_abi(places: &[Place]) -> Vec<String> {
    let mut chosen: Vec<&Place> = Vec::new();
    for name in PLACES {
        let here = |place: &&Place| place.name == name && place.installation.is_ok();
        if let Some(place) = places.iter().find(here)
            && chosen.iter().all(|other| other.abi != place.abi)
        {
            chosen.push(place);
        }
    }
    chosen.iter().map(|place| place.name.clone()).collect()
}

/// The memory that can be had without swapping, in gigabytes; none where nobody tells.
fn available() -> u64 {
    available_in(&Meminfo::read()).unwrap_or(0)
}

fn available_in(table: &Meminfo) -> Option<u64> {
    Some(table.bytes("MemAvailable")? / 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_need_is_in_the_reason_for_ignoring() {
        assert_eq!(gigabytes("needs 9 GB of memory"), Some(9));
        assert_eq!(gigabytes("needs an MPI"), None);
    }

    #[test]
    fn memory_is_counted_in_gigabytes() {
        let text = "MemTotal: 24000000 kB\nMemAvailable:   12000000 kB\n";
        assert_eq!(available_in(&Meminfo::of(text)), Some(12));
        assert_eq!(available_in(&Meminfo::of("MemFree: 1 kB\n")), None);
    }
}
