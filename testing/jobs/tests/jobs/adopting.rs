//! An MPI that another part of the program has initialised is used, and left running.

use super::succeeds_on_each;

#[test]
#[ignore = "needs an MPI"]
fn a_library_that_others_opened_is_adopted() {
    succeeds_on_each(2, &["adopting", "opened"]);
}

#[test]
#[ignore = "needs an MPI"]
fn handles_that_others_outlived_are_dropped_all_the_same() {
    succeeds_on_each(2, &["adopting", "finalized"]);
}

#[test]
#[ignore = "needs an MPI"]
fn a_library_that_others_initialised_is_adopted() {
    succeeds_on_each(2, &["adopting", "loaded"]);
}
