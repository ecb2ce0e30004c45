//! What goes wrong while a communicator works: each is an error in time, nothing waits for ever,
//! and nothing is left behind.

use std::panic::catch_unwind;
use std::time::Duration;

use ranks_bootstrap::{Bootstrap, ThreadBootstrap};
use ranks_comm::ErrorKind;
use ranks_nccl::{NcclCommunicator, group};

use crate::support::{
    LONG, REMOTE_ERROR, SHORT, each, inject, isolated, live, none_left, on_devices, options,
    threads,
};

#[test]
fn a_rank_that_never_comes_is_given_up() {
    isolated("faults::a_rank_that_never_comes_is_given_up", &[], || {
        let id = ranks_nccl::NcclId::new(crate::support::doubles().nccl).unwrap();
        let error =
            NcclCommunicator::with_id(id, 0, 2, 0, &options().time_limit(SHORT)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("rank 0 of 2"), "{error}");
        assert_eq!(live(), 0);
    });
}

#[test]
fn a_rank_that_is_gone_before_the_exchange_is_an_error_of_the_bootstrap() {
    isolated(
        "faults::a_rank_that_is_gone_before_the_exchange_is_an_error_of_the_bootstrap",
        &[],
        || {
            let mut ranks = ThreadBootstrap::of(2, LONG).unwrap();
            drop(ranks.pop());
            let error = NcclCommunicator::new(&ranks[0], 0, &options()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
        },
    );
}

#[test]
fn ranks_on_one_device_are_refused_on_all_of_them() {
    isolated(
        "faults::ranks_on_one_device_are_refused_on_all_of_them",
        &[],
        || {
            threads(3, |bootstrap| {
                let error =
                    NcclCommunicator::new(bootstrap, bootstrap.rank() / 2, &options()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Library);
                assert!(error.to_string().contains("ncclInvalidUsage"), "{error}");
            });
            assert_eq!(live(), 0);
        },
    );
}

#[test]
fn an_error_that_no_call_reports_ends_a_wait() {
    isolated(
        "faults::an_error_that_no_call_reports_ends_a_wait",
        &[],
        || {
            let comms = on_devices(2);
            inject(&comms[0], REMOTE_ERROR);
            let seen = comms[0].async_error().unwrap();
            assert_eq!(seen.kind(), ErrorKind::PeerFailed, "{seen}");
            assert!(!comms[0].is_aborted(), "asking changes nothing");
            let error = comms[0].split(Some(0), 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
            assert!(error.to_string().contains("ncclRemoteError"), "{error}");
            assert!(comms[0].is_aborted());
            let later = comms[0].split(Some(0), 0).unwrap_err();
            assert_eq!(later.kind(), ErrorKind::Aborted);
            assert!(
                later.to_string().contains("ncclRemoteError"),
                "it says why: {later}"
            );
            drop(comms);
            none_left();
        },
    );
}

#[test]
fn abort_ends_the_wait_of_another_thread() {
    isolated("faults::abort_ends_the_wait_of_another_thread", &[], || {
        let comms = on_devices(2);
        std::thread::scope(|scope| {
            // The other rank does not come to this.
            let waiting = scope.spawn(|| comms[0].split(Some(0), 0));
            let second = scope.spawn(|| comms[0].split(Some(0), 0));
            std::thread::sleep(Duration::from_millis(20));
            comms[0].abort();
            for waiting in [waiting, second] {
                let error = waiting.join().unwrap().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
            }
        });
        assert_eq!(live(), 1, "the other rank knows nothing of it");
        drop(comms);
        none_left();
    });
}

#[test]
fn a_call_that_another_rank_does_not_make_is_given_up() {
    isolated(
        "faults::a_call_that_another_rank_does_not_make_is_given_up",
        &[],
        || {
            let options = options().time_limit(SHORT);
            let comms = NcclCommunicator::on_devices(&[0, 1], &options).unwrap();
            let error = comms[0].split(Some(0), 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert!(
                error.to_string().contains("rank 0 of 2, device 0"),
                "{error}"
            );
            assert!(comms[0].failure().unwrap().contains("timed out"));
            drop(comms);
            none_left();
        },
    );
}

#[test]
fn a_group_is_closed_by_a_panic() {
    isolated("faults::a_group_is_closed_by_a_panic", &[], || {
        let comms = on_devices(2);
        let panicked =
            catch_unwind(|| group(|_| -> ranks_comm::Result<()> { panic!("on purpose") }));
        panicked.unwrap_err();
        // No group is open any more, so that communicators can be made.
        let parts = each(&comms, |comm| comm.split(Some(0), 0).unwrap().unwrap());
        assert_eq!(parts.len(), 2);
    });
}

#[test]
fn abort_in_many_threads_frees_once() {
    isolated("faults::abort_in_many_threads_frees_once", &[], || {
        for _ in 0..20 {
            let comms = on_devices(1);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| comms[0].abort());
                }
                scope.spawn(|| comms[0].async_error());
                scope.spawn(|| comms[0].split(Some(0), 0).map(drop));
            });
            none_left();
        }
    });
}
