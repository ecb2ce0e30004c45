//! Messages that nobody receives and receives that nobody waits for are told when a program ends,
//! in builds with debug assertions.

use ranks_launch::Outcome;

use super::{assert_done, job, named, said};

const UNRECEIVED: &str = "ranks: rank 1 of 2 has not received what was sent to it: ";
const DROPPED: &str = "ranks: rank 1 of 2 has dropped receives before a message came: ";

/// In process and, if there are any, on each MPI that is named.
fn on_each(on_mpi: bool, how: &str, check: impl Fn(&str, &Outcome)) {
    let job = || job(&["unreceived", how]).ranks(2);
    if on_mpi {
        for installation in named() {
            let name = installation.name.clone();
            check(&name, &job().on(installation).run().unwrap());
        }
    } else {
        check("in process", &job().run().unwrap());
    }
}

/// The job said each of `expected`, or nothing at all.
fn says(name: &str, outcome: &Outcome, expected: &[&str]) {
    let said = said(outcome);
    for text in expected.iter().filter(|_| cfg!(debug_assertions)) {
        assert!(said.contains(text), "{name}: no {text:?} in {outcome}");
    }
    if expected.is_empty() || !cfg!(debug_assertions) {
        assert!(!said.contains("ranks: rank"), "{name}: {outcome}");
    }
}

fn what_is_left_is_told(on_mpi: bool) {
    // MPICH's `MPI_Finalize` is an error where messages are left on a communicator, told or not.
    on_each(on_mpi, "messages", |name, outcome| {
        let on_world = "24 bytes from rank 0 with tag 7 on MPI_COMM_WORLD";
        let on_ring = "2 bytes from rank 0 with tag 9 on ring";
        says(name, outcome, &[UNRECEIVED, on_world, on_ring]);
        if !on_mpi {
            assert_done(name, outcome);
            let other = "1 byte from rank 0 with tag 8 on MPI_COMM_WORLD";
            says(name, outcome, &[other]);
        }
    });
    on_each(on_mpi, "freed", |name, outcome| {
        let freed = "4 bytes from rank 0 with tag 4 on ring";
        assert_done(name, outcome);
        says(name, outcome, &[UNRECEIVED, freed]);
    });
    on_each(on_mpi, "receive", |name, outcome| {
        assert_done(name, outcome);
        says(name, outcome, &[DROPPED]);
    });
}

fn nothing_is_told_where_nothing_is_left(on_mpi: bool) {
    on_each(on_mpi, "all", |name, outcome| {
        assert_done(name, outcome);
        says(name, outcome, &[]);
    });
}

fn nothing_is_told_where_the_program_failed(on_mpi: bool) {
    on_each(on_mpi, "error", |name, outcome| {
        assert!(!outcome.success(), "{name}: {outcome}");
        let said = said(outcome);
        assert!(said.contains("no convergence"), "{name}: {outcome}");
        assert!(!said.contains("has not received"), "{name}: {outcome}");
    });
}

#[test]
fn what_is_left_is_told_in_process() {
    what_is_left_is_told(false);
}

#[test]
fn nothing_is_told_where_nothing_is_left_in_process() {
    nothing_is_told_where_nothing_is_left(false);
}

#[test]
fn nothing_is_told_where_the_program_failed_in_process() {
    nothing_is_told_where_the_program_failed(false);
}

#[test]
#[ignore = "needs an MPI"]
fn what_is_left_is_told_on_mpi() {
    what_is_left_is_told(true);
}

#[test]
#[ignore = "needs an MPI"]
fn nothing_is_told_where_nothing_is_left_on_mpi() {
    nothing_is_told_where_nothing_is_left(true);
}

#[test]
#[ignore = "needs an MPI"]
fn nothing_is_told_where_the_program_failed_on_mpi() {
    nothing_is_told_where_the_program_failed(true);
}
