//! Tests once more on the fast path, which release builds take: in debug builds ranks compare their
//! collective calls first, and take the slow one.

use ranks_harness::place::Place;
use ranks_test::driver::{Binary, Case};

/// The MPIs that they run on: one whose functions are called as they are, and one whose handles are
/// converted.
const PLACES: [&str; 2] = ["mpich-5.0.2-abi", "openmpi-5.0.11"];

/// The binaries of collective operations.
const BINARIES: [&str; 4] = [
    "ranks-collectives::collectives",
    "ranks-collectives::nonblocking",
    "ranks-rma-window::shared",
    "ranks-rma-window::windows",
];

/// The tests of the comparison itself, or the module of such.
const OF_COMPARISON: [&str; 11] = [
    "agreement::",
    "average::an_average_is_no_sum",
    "hierarchy::mistakes_are_told_on_all_ranks",
    "layouts::parts_that_differ_between_two_ranks_are_told_to_all",
    "mistakes::ranks_out_of_step",
    "neighbors::lengths_that_differ_along_an_edge_are_told_to_all",
    "packed::ranks_compare_what_values_are_packed_into",
    "reproducible::ranks_that_call_differently_are_told",
    "sparse::a_rank_that_does_not_exist_is_told_before_anything_is_sent",
    "varying_mistakes::blocks_too_far_for_the_library_of_one_rank",
    "varying::parts_come_from_wherever_they_are",
];

/// The words behind the name of a binary whose tests run there.
pub(super) fn way(binary: &Binary) -> &'static str {
    let is_on_fast_path = binary.environment.iter().any(|set| *set == variable());
    if is_on_fast_path {
        " on the fast path"
    } else {
        ""
    }
}

/// The variable that turns the comparison off.
fn variable() -> (String, String) {
    ("RANKS_CHECK".to_owned(), "local".to_owned())
}

/// The tests on up to three ranks that run at a place.
pub(super) fn at(place: &Place, tests: &[(Binary, Vec<Case>)]) -> Vec<(Binary, Vec<Case>)> {
    if !PLACES.contains(&place.name.as_str()) {
        return Vec::new();
    }
    let chosen = tests
        .iter()
        .filter(|(binary, _)| BINARIES.contains(&binary.name.as_str()));
    chosen
        .map(|(binary, cases)| {
            let mut binary = binary.clone();
            binary.environment.push(variable());
            let is_of_comparison = |case: &Case| {
                OF_COMPARISON
                    .iter()
                    .any(|part| case.name().starts_with(part))
            };
            let cases = cases
                .iter()
                .filter(|case| case.ranks() <= 3 && !is_of_comparison(case));
            (binary, cases.cloned().collect())
        })
        .collect()
}
