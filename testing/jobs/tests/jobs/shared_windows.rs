//! Shared windows outlive what they were made from, and do not outlast a rank that is gone.

use super::failing::fails_on_each;
use super::succeeds_on_each;

#[test]
#[ignore = "needs an MPI"]
fn a_runtime_its_communicators_and_windows_go_in_any_order() {
    succeeds_on_each(3, &["shared-windows", "any-order"]);
}

#[test]
#[ignore = "needs an MPI"]
fn windows_that_live_when_the_runtime_ends_do_not_change_how_the_job_ends() {
    succeeds_on_each(2, &["shared-windows", "after-the-end"]);
}

/// Either the others find that its window is gone, or the job ends under them.
#[test]
#[ignore = "needs an MPI"]
fn a_panic_while_others_wait_at_a_window_ends_the_job() {
    fails_on_each(3, &["shared-windows", "panic"], &["out of luck"]);
}
