//! How communicators begin, have children, and end.

use std::time::Duration;

use ranks_bootstrap::Bootstrap;
use ranks_comm::ErrorKind;
use ranks_nccl::{NcclCommunicator, NcclId, ShrinkMode, group};

use crate::support::{
    doubles, each, fail_next, isolated, live, none_left, on_devices, options, set_delay, threads,
    uses_after_free,
};

#[test]
fn ranks_that_are_threads_make_a_communicator() {
    isolated(
        "life::ranks_that_are_threads_make_a_communicator",
        &[],
        || {
            for size in 1..=4 {
                let seen = threads(size, |bootstrap| {
                    let comm =
                        NcclCommunicator::new(bootstrap, bootstrap.rank(), &options()).unwrap();
                    let properties = comm.properties().unwrap();
                    assert_eq!(
                        (properties.rank, properties.size),
                        (comm.rank(), comm.size())
                    );
                    let seen = (comm.rank(), comm.size(), comm.device());
                    comm.finalize().unwrap();
                    seen
                });
                let expected: Vec<_> = (0..size).map(|rank| (rank, size, rank)).collect();
                assert_eq!(seen, expected);
            }
            assert_eq!(live(), 0);
        },
    );
}

#[test]
fn an_id_can_be_shared_by_the_program() {
    isolated("life::an_id_can_be_shared_by_the_program", &[], || {
        let id = NcclId::new(doubles().nccl).unwrap();
        let id = NcclId::from_bytes(&id.to_bytes()).unwrap();
        std::thread::scope(|scope| {
            for rank in 0..2 {
                scope.spawn(move || {
                    let comm = NcclCommunicator::with_id(id, rank, 2, rank, &options()).unwrap();
                    assert_eq!((comm.rank(), comm.size()), (rank, 2));
                    comm.finalize().unwrap();
                });
            }
        });
        let error = NcclCommunicator::with_id(id, 2, 2, 0, &options()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Rank);
    });
}

#[test]
fn one_process_makes_communicators_on_many_devices_and_frees_them() {
    isolated(
        "life::one_process_makes_communicators_on_many_devices_and_frees_them",
        &[],
        || {
            let comms = on_devices(4);
            for (rank, comm) in comms.iter().enumerate() {
                assert_eq!((comm.rank(), comm.size(), comm.device()), (rank, 4, rank));
                assert!(comm.async_error().is_none() && !comm.is_aborted());
            }
            assert_eq!(live(), 4);
            drop(comms);
            none_left();
            let none = NcclCommunicator::on_devices(&[], &options()).unwrap_err();
            assert_eq!(none.kind(), ErrorKind::Argument);
        },
    );
}

/// baracuda-nccl's `init_all` leaves those behind that were made before one failed.
#[test]
fn nothing_is_left_behind_when_one_of_many_devices_fails() {
    isolated(
        "life::nothing_is_left_behind_when_one_of_many_devices_fails",
        &[],
        || {
            let twice = NcclCommunicator::on_devices(&[0, 1, 1], &options()).unwrap_err();
            assert_eq!(twice.kind(), ErrorKind::Library, "{twice}");
            assert!(twice.to_string().contains("ncclInvalidUsage"), "{twice}");
            assert_eq!(live(), 0);
            let beyond = NcclCommunicator::on_devices(&[0, 99], &options()).unwrap_err();
            assert_eq!(beyond.kind(), ErrorKind::Argument, "{beyond}");
            fail_next("ncclGroupEnd", 3);
            NcclCommunicator::on_devices(&[0, 1], &options()).unwrap_err();
            assert_eq!(live(), 0);
        },
    );
}

/// baracuda-nccl takes the null handle that such ranks get for a failure.
#[test]
fn split_gives_none_to_ranks_without_a_color_and_to_no_others() {
    isolated(
        "life::split_gives_none_to_ranks_without_a_color_and_to_no_others",
        &[],
        || {
            let comms = on_devices(3);
            let parts = each(&comms, |comm| {
                let color = (comm.rank() != 1).then_some(7);
                let key = -i32::try_from(comm.rank()).unwrap();
                let part = comm.split(color, key).unwrap();
                part.map(|part| (part.rank(), part.size(), part.device()))
            });
            assert_eq!(parts, [Some((1, 2, 0)), None, Some((0, 2, 2))]);
            each(&comms, |comm| {
                assert!(comm.split(None, 0).unwrap().is_none())
            });
            let error = comms[0].split(Some(u32::MAX), 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument);
        },
    );
}

#[test]
fn a_part_goes_on_when_its_parent_is_aborted_unless_they_share() {
    isolated(
        "life::a_part_goes_on_when_its_parent_is_aborted_unless_they_share",
        &[],
        || {
            for share in [false, true] {
                let options = options().split_share(share);
                let comms = NcclCommunicator::on_devices(&[0, 1], &options).unwrap();
                let parts = each(&comms, |comm| comm.split(Some(0), 0).unwrap().unwrap());
                each(&comms, NcclCommunicator::abort);
                each(&parts, |part| {
                    let again = part.split(Some(0), 0);
                    if share {
                        assert_eq!(again.unwrap_err().kind(), ErrorKind::Aborted);
                        assert!(part.failure().unwrap().contains("shares its resources"));
                    } else {
                        assert_eq!(again.unwrap().unwrap().size(), 2);
                    }
                });
            }
        },
    );
}

#[test]
fn shrinking_leaves_ranks_out() {
    isolated("life::shrinking_leaves_ranks_out", &[], || {
        let comms = on_devices(3);
        let rest = each(&comms, |comm| {
            (comm.rank() != 1).then(|| comm.shrink(&[1], ShrinkMode::Idle).unwrap())
        });
        let places: Vec<_> = rest
            .iter()
            .flatten()
            .map(|comm| (comm.rank(), comm.size()))
            .collect();
        assert_eq!(places, [(0, 2), (1, 2)]);
        assert!(!comms[0].is_aborted());
        let again = each(&comms, |comm| {
            (comm.rank() != 0).then(|| comm.shrink(&[0], ShrinkMode::Abort).unwrap())
        });
        assert_eq!(again.iter().flatten().count(), 2);
        assert!(comms[1].is_aborted(), "what was under way was given up");
        for (exclude, kind) in [
            (vec![3], ErrorKind::Rank),
            (vec![1, 1], ErrorKind::Argument),
            (vec![0], ErrorKind::Argument),
        ] {
            let error = comms[0].shrink(&exclude, ShrinkMode::Idle).unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
        }
    });
}

#[test]
fn growing_takes_new_ranks_in() {
    isolated("life::growing_takes_new_ranks_in", &[], || {
        let comms = on_devices(2);
        let id = comms[0].growth_id().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let new = NcclCommunicator::join(id, 2, 3, 2, &options()).unwrap();
                assert_eq!((new.rank(), new.size()), (2, 3));
            });
            for comm in &comms {
                scope.spawn(move || {
                    let grown = comm.grow(3, (comm.rank() == 0).then_some(id)).unwrap();
                    assert_eq!((grown.rank(), grown.size()), (comm.rank(), 3));
                });
            }
        });
        let error = comms[0].grow(2, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Length);
    });
}

/// baracuda-nccl destroys what it has aborted.
#[test]
fn what_was_aborted_is_not_destroyed() {
    isolated("life::what_was_aborted_is_not_destroyed", &[], || {
        let comms = on_devices(2);
        comms[0].abort();
        comms[0].abort();
        assert!(comms[0].is_aborted() && !comms[1].is_aborted());
        let error = comms[0].split(Some(0), 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Aborted);
        assert!(
            error.to_string().contains("the program asked for it"),
            "{error}"
        );
        assert_eq!(comms[0].async_error().unwrap().kind(), ErrorKind::Aborted);
        let mut comms = comms.into_iter();
        let finalized = comms.next().unwrap().finalize().unwrap_err();
        assert_eq!(finalized.kind(), ErrorKind::Aborted);
        drop(comms);
        none_left();
        assert_eq!(uses_after_free(), 0);
    });
}

/// baracuda-nccl takes `ncclInProgress` for a failure.
#[test]
fn in_progress_is_no_error() {
    let slow = [("NCCL_DOUBLE_DELAY_US", "20000")];
    isolated("life::in_progress_is_no_error", &slow, || {
        let comms = on_devices(2);
        let parts = each(&comms, |comm| comm.split(Some(0), 0).unwrap().unwrap());
        std::thread::scope(|scope| {
            for part in parts {
                scope.spawn(move || part.finalize().unwrap());
            }
        });
    });
}

/// cudarc panics in `drop` when the library reports an error, and never finalizes.
#[test]
fn drop_does_not_panic_whatever_the_library_reports() {
    isolated(
        "life::drop_does_not_panic_whatever_the_library_reports",
        &[],
        || {
            for call in ["ncclCommFinalize", "ncclCommAbort", "ncclCommDestroy"] {
                let comms = on_devices(1);
                fail_next(call, 3);
                drop(comms);
            }
        },
    );
}

/// What takes long is put aside, and freed when there is something else to do.
#[test]
fn drop_does_not_wait() {
    isolated("life::drop_does_not_wait", &[], || {
        let comms = on_devices(1);
        set_delay(Duration::from_millis(400));
        drop(comms);
        assert_eq!(live(), 1, "it is not over yet");
        none_left();
    });
}

/// baracuda-nccl gives the library's own buffer away, which the next error overwrites.
#[test]
fn the_text_of_an_error_is_its_own() {
    isolated("life::the_text_of_an_error_is_its_own", &[], || {
        let first = NcclCommunicator::on_devices(&[0, 0], &options()).unwrap_err();
        let text = first.to_string();
        assert!(text.contains("Duplicate GPU"), "{text}");
        assert!(
            text.contains(doubles().nccl.path().to_str().unwrap()),
            "{text}"
        );
        assert!(text.contains("each rank needs a GPU of its own"), "{text}");
        fail_next("ncclGetUniqueId", 2);
        let second = NcclCommunicator::on_devices(&[0], &options()).unwrap_err();
        assert!(!second.to_string().contains("Duplicate GPU"), "{second}");
        assert_eq!(first.to_string(), text);
    });
}

#[test]
fn communicators_are_not_made_or_ended_in_a_group() {
    isolated(
        "life::communicators_are_not_made_or_ended_in_a_group",
        &[],
        || {
            let comms = on_devices(1);
            group(|_| {
                let error = comms[0].split(Some(0), 0).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Argument);
                let error = NcclCommunicator::on_devices(&[0], &options()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Argument);
                Ok(())
            })
            .unwrap();
            // One that is dropped there goes afterwards.
            group(|_| {
                drop(comms);
                assert_eq!(live(), 1);
                Ok(())
            })
            .unwrap();
            drop(on_devices(1));
            none_left();
        },
    );
}

#[test]
fn a_communicator_may_go_to_other_threads() {
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<NcclCommunicator>();
}
