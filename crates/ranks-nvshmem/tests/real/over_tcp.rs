//! PEs that are started by nobody's launcher, and meet over TCP.

use crate::support::{processes, store};
use crate::without_a_gpu::{a_driver_is_missing, the_library_finds_none};

fn each_is_told(test: &str, size: usize) {
    processes(test, size, |rank| {
        the_library_finds_none(&store(rank, size))
    });
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn a_pe_alone_is_told() {
    each_is_told("over_tcp::a_pe_alone_is_told", 1);
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn two_pes_are_told() {
    each_is_told("over_tcp::two_pes_are_told", 2);
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn three_pes_are_told() {
    each_is_told("over_tcp::three_pes_are_told", 3);
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn four_pes_are_told() {
    each_is_told("over_tcp::four_pes_are_told", 4);
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn without_a_driver_the_library_is_not_called() {
    let test = "over_tcp::without_a_driver_the_library_is_not_called";
    processes(test, 2, |rank| a_driver_is_missing(&store(rank, 2), false));
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn one_that_has_no_driver_keeps_the_others_from_waiting() {
    let test = "over_tcp::one_that_has_no_driver_keeps_the_others_from_waiting";
    processes(test, 3, |rank| {
        a_driver_is_missing(&store(rank, 3), rank != 1)
    });
}
