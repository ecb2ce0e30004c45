//! PEs that are the ranks of a job, and meet over its communicator.

use std::path::Path;

use ranks_comm::Runtime;
use ranks_launch::{Family, Installation, Job};

use crate::support::{ALONE, DONE, INSIDE, LONG, done, real};
use crate::without_a_gpu::{a_driver_is_missing, the_library_finds_none};

/// An MPI of that family: of those that were fetched, or of the machine.
fn one_of(family: Family) -> Installation {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mpi");
    let all = Installation::all(Some(&fetched));
    let mut of_family = all
        .into_iter()
        .filter(|installation| installation.family == family);
    of_family.next_back().unwrap_or_else(|| {
        panic!("no MPI of the family {family:?} is here: cargo xtask mpi install")
    })
}

/// What a rank does; the jobs that do it otherwise.
fn told(test: &str, family: Family) {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = Runtime::builder().init().unwrap();
        let world = runtime.world();
        a_driver_is_missing(&world, world.rank() != 1);
        the_library_finds_none(&world);
        drop(world);
        runtime.finalize().unwrap();
        return done();
    }
    let installation = one_of(family);
    for ranks in [2, 3, 4] {
        let mut job = Job::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--include-ignored", "--nocapture"])
            .args(["--test-threads=1"])
            .env(INSIDE, "")
            .env("RANKS_NVSHMEM", real())
            .on(installation.clone())
            .ranks(ranks)
            .timeout(2 * LONG);
        for (name, value) in ALONE {
            job = job.env(name, value);
        }
        let outcome = job.run().unwrap();
        assert!(outcome.success(), "{}: {outcome}", installation.name);
        for output in &outcome.output {
            let rank = output.rank;
            assert!(output.stdout.contains(DONE), "rank {rank}: {outcome}");
        }
    }
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn ranks_of_mpich_are_told() {
    told("over_mpi::ranks_of_mpich_are_told", Family::Mpich);
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn ranks_of_open_mpi_are_told() {
    told("over_mpi::ranks_of_open_mpi_are_told", Family::OpenMpi);
}
