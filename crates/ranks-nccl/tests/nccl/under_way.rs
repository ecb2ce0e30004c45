//! What goes wrong, or does not, while operations are under way: each wait ends in time, and good
//! work is not lost.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use ranks_collectives::ops::Sum;
use ranks_comm::{ErrorKind, Result};
use ranks_cuda::{CudaStream, DeviceVec, Stream};
use ranks_nccl::{NcclCommunicator, group};

use crate::support::{
    REMOTE_ERROR, SHORT, fail_next, inject, isolated, live, none_left, on_devices, options,
};

/// What an operation works on: elements of this rank's device, and a stream of it.
fn ready(comm: &NcclCommunicator) -> (DeviceVec<f32>, CudaStream) {
    let context = comm.context();
    let mine = context
        .device_vec_of(&[1.0 + comm.rank() as f32; 100])
        .unwrap();
    (mine, context.stream().unwrap())
}

/// cudarc aborts in `drop`, with all that is under way.
#[test]
fn what_is_under_way_when_a_communicator_is_dropped_is_done() {
    isolated(
        "under_way::what_is_under_way_when_a_communicator_is_dropped_is_done",
        &[],
        || {
            let comms = on_devices(2);
            let begun: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = comms
                    .into_iter()
                    .map(|comm| {
                        scope.spawn(move || {
                            let (mine, stream) = ready(&comm);
                            comm.allreduce_in_place(mine, Sum, &stream).unwrap()
                        })
                    })
                    .collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap())
                    .collect()
            });
            for sum in begun {
                assert_eq!(sum.wait().unwrap().to_vec().unwrap(), [3.0; 100]);
            }
            none_left();
        },
    );
}

#[test]
fn what_was_enqueued_before_a_communicator_is_finalized_is_done() {
    isolated(
        "under_way::what_was_enqueued_before_a_communicator_is_finalized_is_done",
        &[],
        || {
            let comms = on_devices(2);
            std::thread::scope(|scope| {
                for comm in comms {
                    scope.spawn(move || {
                        let (mine, stream) = ready(&comm);
                        let sum = comm.allreduce_in_place(mine, Sum, &stream).unwrap();
                        comm.finalize().unwrap();
                        assert_eq!(sum.wait().unwrap().to_vec().unwrap(), [3.0; 100]);
                    });
                }
            });
            none_left();
        },
    );
}

#[test]
fn an_operation_that_no_other_rank_makes_is_given_up() {
    isolated(
        "under_way::an_operation_that_no_other_rank_makes_is_given_up",
        &[],
        || {
            let options = options().time_limit(SHORT);
            let comms = NcclCommunicator::on_devices(&[0, 1], &options).unwrap();
            let (mine, stream) = ready(&comms[0]);
            let error = comms[0]
                .allreduce_in_place(mine, Sum, &stream)
                .unwrap()
                .wait()
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert!(
                error
                    .to_string()
                    .starts_with("ncclAllReduce: timed out after 150ms"),
                "{error}"
            );
            let (mine, _) = ready(&comms[0]);
            let error = comms[0]
                .allreduce_in_place(mine, Sum, &stream)
                .map(drop)
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Aborted);
            stream.synchronize().unwrap();
            drop(comms);
            none_left();
        },
    );
}

#[test]
fn ranks_that_make_different_calls_are_given_up() {
    isolated(
        "under_way::ranks_that_make_different_calls_are_given_up",
        &[],
        || {
            let options = options().time_limit(SHORT);
            let comms = NcclCommunicator::on_devices(&[0, 1], &options).unwrap();
            std::thread::scope(|scope| {
                for comm in &comms {
                    scope.spawn(|| {
                        let (mine, stream) = ready(comm);
                        let begun = if comm.rank() == 0 {
                            comm.allreduce_in_place(mine, Sum, &stream)
                        } else {
                            comm.bcast(mine, 0, &stream)
                        };
                        let error = begun.unwrap().wait().unwrap_err();
                        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
                    });
                }
            });
            drop(comms);
            none_left();
        },
    );
}

#[test]
fn an_error_that_no_call_reports_ends_the_wait_for_an_operation() {
    isolated(
        "under_way::an_error_that_no_call_reports_ends_the_wait_for_an_operation",
        &[],
        || {
            let comms = on_devices(2);
            let (mine, stream) = ready(&comms[0]);
            let begun = comms[0].allreduce_in_place(mine, Sum, &stream).unwrap();
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| begun.wait().map(drop).unwrap_err());
                std::thread::sleep(Duration::from_millis(10));
                inject(&comms[0], REMOTE_ERROR);
                let error = waiting.join().unwrap();
                assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
            });
            assert!(comms[0].is_aborted());
            stream.synchronize().unwrap();
        },
    );
}

#[test]
fn abort_ends_the_wait_for_an_operation() {
    isolated(
        "under_way::abort_ends_the_wait_for_an_operation",
        &[],
        || {
            let comms = on_devices(2);
            let (mine, stream) = ready(&comms[0]);
            let begun = comms[0].allreduce_in_place(mine, Sum, &stream).unwrap();
            let (theirs, other) = ready(&comms[0]);
            let left = comms[0].allreduce_in_place(theirs, Sum, &other).unwrap();
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| begun.wait().map(drop).unwrap_err());
                std::thread::sleep(Duration::from_millis(10));
                comms[0].abort();
                assert_eq!(waiting.join().unwrap().kind(), ErrorKind::Aborted);
            });
            // What was given up is over, and nothing of use has come of it.
            stream.synchronize().unwrap();
            other.synchronize().unwrap();
            assert_eq!(
                left.wait().map(drop).unwrap_err().kind(),
                ErrorKind::Aborted
            );
        },
    );
}

#[test]
fn what_a_group_has_called_before_a_panic_is_waited_for_no_longer_than_the_limit() {
    isolated(
        "under_way::what_a_group_has_called_before_a_panic_is_waited_for_no_longer_than_the_limit",
        &[],
        || {
            let options = options().time_limit(SHORT);
            let comms = NcclCommunicator::on_devices(&[0, 1], &options).unwrap();
            let (mut mine, stream) = ready(&comms[0]);
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                group(|g| -> Result<()> {
                    g.on(&comms[0], &stream, |s| s.recv(&mut mine, 1))?;
                    panic!("on purpose")
                })
            }));
            panicked.unwrap_err();
            let error = comms[0].synchronize(&stream).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
            assert!(!comms[1].is_aborted());
            stream.synchronize().unwrap();
            drop(comms);
            none_left();
        },
    );
}

#[test]
fn a_communicator_that_is_aborted_in_a_group_goes_when_it_ends() {
    isolated(
        "under_way::a_communicator_that_is_aborted_in_a_group_goes_when_it_ends",
        &[],
        || {
            let comms = on_devices(2);
            let (mine, stream) = ready(&comms[0]);
            let ended = group(|g| {
                g.on(&comms[0], &stream, |s| s.send(&mine, 1))?;
                std::thread::scope(|scope| {
                    scope.spawn(|| comms[0].abort());
                });
                assert!(comms[0].is_aborted());
                assert_eq!(live(), 2, "the library still has calls of it");
                let error = g.on(&comms[0], &stream, |s| s.send(&mine, 1)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Aborted);
                Ok(())
            });
            assert_eq!(ended.unwrap_err().kind(), ErrorKind::Aborted);
            assert_eq!(live(), 1);
            stream.synchronize().unwrap();
        },
    );
}

/// NCCL's codes for an argument that it refuses, and for a failure of its own.
const INVALID_ARGUMENT: i32 = 4;
const INTERNAL_ERROR: i32 = 3;

#[test]
fn a_refused_argument_leaves_a_communicator_usable_and_a_failure_does_not() {
    isolated(
        "under_way::a_refused_argument_leaves_a_communicator_usable_and_a_failure_does_not",
        &[],
        || {
            let comms = on_devices(1);
            let (mine, stream) = ready(&comms[0]);
            let sum = |mine| comms[0].allreduce_in_place(mine, Sum, &stream);
            fail_next("ncclAllReduce", INVALID_ARGUMENT);
            let refused = sum(mine).map(drop).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Library);
            assert_eq!(refused.code(), Some(INVALID_ARGUMENT));
            assert!(!comms[0].is_aborted());
            let (mine, _) = ready(&comms[0]);
            let mine = sum(mine).unwrap().wait().unwrap();
            fail_next("ncclAllReduce", INTERNAL_ERROR);
            let failed = sum(mine).map(drop).unwrap_err();
            assert_eq!(failed.code(), Some(INTERNAL_ERROR));
            assert!(comms[0].is_aborted());
            assert_eq!(live(), 0);
        },
    );
}

#[test]
fn a_group_in_which_a_call_is_refused_ends_with_its_error() {
    isolated(
        "under_way::a_group_in_which_a_call_is_refused_ends_with_its_error",
        &[],
        || {
            let comms = on_devices(2);
            let ready: Vec<_> = comms.iter().map(ready).collect();
            let (mut data, streams): (Vec<_>, Vec<_>) = ready.into_iter().unzip();
            let sums = |data: &mut Vec<DeviceVec<f32>>| {
                group(|g| {
                    for ((comm, stream), data) in comms.iter().zip(&streams).zip(data) {
                        g.on(comm, stream, |s| s.allreduce_in_place(data, Sum))?;
                    }
                    Ok(())
                })
            };
            fail_next("ncclAllReduce", INVALID_ARGUMENT);
            assert_eq!(sums(&mut data).unwrap_err().code(), Some(INVALID_ARGUMENT));
            // Nothing of it was enqueued, so that all can be called again.
            sums(&mut data).unwrap();
            for ((comm, stream), data) in comms.iter().zip(&streams).zip(&data) {
                comm.synchronize(stream).unwrap();
                assert_eq!(data.to_vec().unwrap(), [3.0; 100]);
            }
            drop(comms);
            none_left();
        },
    );
}
