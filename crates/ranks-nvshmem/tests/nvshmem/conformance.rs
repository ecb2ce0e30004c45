//! All cases, on heaps of one to four PEs.

use std::ops::RangeInclusive;

use nvshmem_conformance::run;
use ranks_nvshmem::Nvshmem;

use crate::support::{self, Release, processes, ranks, threads};

/// An interpreter takes its time.
const SIZES: RangeInclusive<usize> = if cfg!(miri) { 2..=2 } else { 1..=4 };

#[test]
fn in_process() {
    for size in SIZES {
        threads(size, |pe| {
            run(&pe).unwrap();
            pe.finalize().unwrap();
        });
    }
}

/// What is put is seen no sooner than it must be.
#[test]
fn in_process_and_late() {
    for size in SIZES {
        let late = support::in_process().late_delivery(true);
        ranks(size, |rank| {
            let pe = Nvshmem::init(rank, &late).unwrap();
            run(&pe).unwrap();
            pe.finalize().unwrap();
        });
    }
}

#[test]
fn over_the_double() {
    for size in 1..=4 {
        processes(
            "conformance::over_the_double",
            size,
            Release::New,
            &[],
            |pe| {
                run(&pe).unwrap();
                pe.finalize().unwrap();
            },
        );
    }
}

#[test]
fn over_the_double_of_an_old_release() {
    let test = "conformance::over_the_double_of_an_old_release";
    for size in 1..=4 {
        processes(test, size, Release::Old, &[], |pe| {
            run(&pe).unwrap();
            pe.finalize().unwrap();
        });
    }
}

/// Several PEs share a GPU.
#[test]
fn over_the_double_that_is_limited() {
    let test = "conformance::over_the_double_that_is_limited";
    let limited = &[("NVSHMEM_DOUBLE_LIMITED", "1")];
    for release in [Release::New, Release::Old] {
        processes(test, 2, release, limited, |pe| {
            assert!(pe.limited());
            run(&pe).unwrap();
            pe.finalize().unwrap();
        });
    }
}
