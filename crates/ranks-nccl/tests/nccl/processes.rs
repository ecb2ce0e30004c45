//! Ranks that are processes.

use std::time::Duration;

use ranks_bootstrap::Bootstrap;
use ranks_collectives::ops::Sum;
use ranks_comm::ErrorKind;
use ranks_cuda::Stream;
use ranks_nccl::NcclCommunicator;

use crate::support::{done, live, options, processes};

/// No variables.
const NOTHING: &[(&str, &str)] = &[];

#[test]
fn processes_make_a_communicator_and_split_it() {
    let test = "processes::processes_make_a_communicator_and_split_it";
    processes(test, &[NOTHING; 4], |bootstrap| {
        let rank = bootstrap.rank();
        let comm = NcclCommunicator::new(bootstrap, rank, &options()).unwrap();
        assert_eq!((comm.rank(), comm.size()), (rank, 4));
        let part = comm
            .split(Some(u32::try_from(rank % 2).unwrap()), 0)
            .unwrap()
            .unwrap();
        assert_eq!((part.rank(), part.size()), (rank / 2, 2));
        part.finalize().unwrap();
        comm.finalize().unwrap();
        assert_eq!(live(), 0);
    });
}

#[test]
fn libraries_of_different_releases_are_an_error_for_all() {
    let test = "processes::libraries_of_different_releases_are_an_error_for_all";
    let old: &[(&str, &str)] = &[("NCCL_DOUBLE_VERSION", "2.27.3")];
    processes(test, &[NOTHING, old], |bootstrap| {
        let error = NcclCommunicator::new(bootstrap, bootstrap.rank(), &options()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(
            error
                .to_string()
                .contains("rank 0 has 2.32.3, rank 1 has 2.27.3"),
            "{error}"
        );
    });
}

/// The last of three dies while the others wait for it.
fn one_dies(test: &str, variables: &[(&str, &str)], kind: ErrorKind) {
    processes(test, &[variables; 3], |bootstrap| {
        let limit = match kind {
            ErrorKind::TimedOut => Duration::from_millis(300),
            _ => crate::support::LONG,
        };
        let options = options().time_limit(limit);
        let comm = NcclCommunicator::new(bootstrap, bootstrap.rank(), &options).unwrap();
        // All have a communicator before one of them goes.
        bootstrap.exchange(b"made").unwrap();
        if bootstrap.rank() == 2 {
            done();
            std::process::exit(1);
        }
        let context = comm.context();
        let (mine, stream) = (
            context.alloc::<u64>(1000).unwrap(),
            context.stream().unwrap(),
        );
        // The call itself tells it if that is noticed before.
        let sum = comm.allreduce_in_place(mine, Sum, &stream);
        let error = sum.and_then(|sum| sum.wait().map(drop)).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(comm.is_aborted());
        stream.synchronize().unwrap();
        assert_eq!(live(), 0);
    });
}

#[test]
fn a_rank_that_dies_is_waited_for_no_longer_than_the_limit() {
    let test = "processes::a_rank_that_dies_is_waited_for_no_longer_than_the_limit";
    one_dies(test, &[], ErrorKind::TimedOut);
}

#[test]
fn a_rank_that_dies_is_reported_where_the_library_notices() {
    let test = "processes::a_rank_that_dies_is_reported_where_the_library_notices";
    one_dies(
        test,
        &[("NCCL_DOUBLE_NOTICES_DEATH", "1")],
        ErrorKind::PeerFailed,
    );
}
