//! The rows are complete: each function that blocks and that a safe crate calls is counted, or
//! `gates.toml` says why it is not.

use std::collections::BTreeSet;

use super::gates::Gates;
use crate::coverage::aliases::aliases;
use crate::coverage::functions::functions;
use crate::tidy::tree::Tree;

const C: &str = include_str!("../../../benches/calls/c/calls.c");

/// The families of functions that communicate.
const FAMILIES: [&str; 4] = [
    "collective operations",
    "collective operations among neighbours",
    "point-to-point communication and its buffers",
    "windows and one-sided communication",
];

/// Returns `true` for a blocking call: not `MPI_Ibcast`, `MPI_Rput`, `MPI_Bcast_init`, nor another
/// form of one, `MPI_Bcast_c`.
fn is_blocking(name: &str) -> bool {
    let nonblocking = ["MPI_I", "MPI_Rput", "MPI_Rget", "MPI_Raccumulate"];
    let forms = ["_c", "_init"];
    !nonblocking.iter().any(|start| name.starts_with(start))
        && !forms.iter().any(|end| name.ends_with(end))
}

/// The functions that the rows of the C program call.
fn in_rows() -> BTreeSet<&'static str> {
    let (_, rows) = C.split_once("CALL(empty").unwrap();
    let (rows, _) = rows.split_once("static void count(").unwrap();
    let names = rows.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    names.filter(|name| name.starts_with("MPI_")).collect()
}

#[test]
fn each_call_that_blocks_has_a_row_or_a_reason() {
    let tree = Tree::of_workspace().unwrap();
    let safe: BTreeSet<String> = aliases(&tree).into_iter().map(|alias| alias.name).collect();
    let families = functions(&tree).into_iter();
    let communicating: BTreeSet<String> = families
        .filter(|function| FAMILIES.contains(&function.family.as_str()))
        .map(|function| function.name)
        .filter(|name| safe.contains(name) && is_blocking(name))
        .collect();
    assert!(communicating.len() > 40, "{communicating:?}");
    let (gates, rows) = (Gates::read().unwrap(), in_rows());
    let without: Vec<&str> = gates.without.iter().flat_map(names).collect();
    for name in &communicating {
        let (counted, excused) = (
            rows.contains(name.as_str()),
            without.contains(&name.as_str()),
        );
        assert!(
            counted != excused,
            "{name}: in a row {counted}, without one {excused}"
        );
    }
    for name in without {
        assert!(communicating.contains(name), "{name} is no such call");
    }
    assert!(gates.without.iter().all(|entry| !entry.reason.is_empty()));
}

fn names(entry: &super::gates::Without) -> impl Iterator<Item = &str> {
    entry.functions.iter().map(String::as_str)
}

#[test]
fn what_is_counted_in_c_has_a_gate() {
    let gates = Gates::read().unwrap();
    let counted = C.split("count(\"").skip(1);
    let counted: Vec<_> = counted.filter_map(|rest| rest.split('"').next()).collect();
    assert!(counted.len() > 40, "{counted:?}");
    for call in counted.into_iter().filter(|&call| call != "empty") {
        assert!(gates.calls().any(|gate| gate == call), "{call} has no gate");
    }
}
