//! What NVSHMEM ends a process for, or answers with wrong memory: safe programs try it, get an
//! `Err`, and live.
//!
//! What cannot be written at all (a call without a heap or after its end, a block or a team after
//! it was freed, a heap on another thread) does not compile: see the documentation of `Nvshmem`,
//! `SymmetricVec`, `SymmetricSliceMut`, `Team`, `Enqueued` and `Nvshmem::scope`. Some of these
//! tests are named for what another binding of NVSHMEM got wrong.

use std::sync::{Barrier, Mutex};

use ranks_bootstrap::Bootstrap;
use ranks_collectives::ops::Sum;
use ranks_comm::{ErrorKind, Result};
use ranks_nvshmem::{Comparison, Nvshmem, SignalOp, Strides};

use crate::support::{Release, bare, doubles, driver, options, processes, threads};

/// On heaps of two PEs: in process, and over both doubles.
fn everywhere(test: &str, body: fn(&Nvshmem<'_>)) {
    if !crate::launched::is_inside() {
        threads(2, |pe| {
            body(&pe);
            pe.finalize().unwrap();
        });
    }
    for release in [Release::New, Release::Old] {
        processes(test, 2, release, &[], |pe| {
            body(&pe);
            pe.finalize().unwrap();
        });
    }
}

fn kind<T>(outcome: Result<T>) -> Option<ErrorKind> {
    outcome.err().map(|error| error.kind())
}

/// NVSHMEM takes the number as an index into its tables.
#[test]
fn a_pe_that_is_not_there_is_an_error() {
    everywhere("misuse::a_pe_that_is_not_there_is_an_error", |pe| {
        let all = pe.alloc::<u32>(8).unwrap();
        let mut mine = pe.alloc::<u32>(8).unwrap();
        let signal = pe.signal().unwrap();
        let strides = Strides { dest: 1, source: 1 };
        for nobody in [2, usize::MAX, i32::MAX as usize] {
            let outcomes = [
                pe.put(&all, &mine, nobody),
                pe.put_nbi(&all, &mine, nobody),
                pe.get(&mut mine, &all, nobody),
                pe.get_nbi(&mut mine, &all, nobody),
                pe.iput(&all, &mine, strides, 2, nobody),
                pe.iget(&mut mine, &all, strides, 2, nobody),
                pe.put_signal(&all, &mine, &signal, 1, SignalOp::Set, nobody),
                pe.signal_op(&signal, 1, SignalOp::Add, nobody),
                all.peer(nobody).map(drop),
            ];
            for (at, outcome) in outcomes.into_iter().enumerate() {
                assert_eq!(kind(outcome), Some(ErrorKind::Rank), "{at}");
            }
            let stream = pe.stream().unwrap();
            let in_scope = pe.scope(&stream, |q| q.put(&all, &mine, nobody));
            assert_eq!(kind(in_scope), Some(ErrorKind::Rank));
        }
        for vec in [all, mine] {
            vec.free().unwrap();
        }
        signal.free().unwrap();
    });
}

/// NVSHMEM believes the length that it is told.
#[test]
fn lengths_and_ranges_that_do_not_fit_are_errors() {
    let test = "misuse::lengths_and_ranges_that_do_not_fit_are_errors";
    everywhere(test, |pe| {
        let all = pe.alloc::<u32>(8).unwrap();
        let mut mine = pe.alloc::<u32>(9).unwrap();
        let outcomes = [
            pe.put(&all, &mine, 0),
            pe.get(&mut mine, &all, 0),
            pe.put(all.slice(2..4).unwrap(), mine.slice(..3).unwrap(), 0),
        ];
        for outcome in outcomes {
            assert_eq!(kind(outcome), Some(ErrorKind::Length));
        }
        assert_eq!(kind(all.slice(5..9)), Some(ErrorKind::Argument));
        let wide = Strides {
            dest: usize::MAX,
            source: 1,
        };
        assert_eq!(
            kind(pe.iput(&all, &mine, wide, 3, 0)),
            Some(ErrorKind::Length)
        );
        assert_eq!(
            kind(pe.iget(&mut mine, &all, wide, 3, 0)),
            Some(ErrorKind::Length)
        );
        for vec in [all.free(), mine.free()] {
            vec.unwrap();
        }
    });
}

/// Where PEs share a GPU without MPS, NVSHMEM ends the process for each of these.
#[test]
fn what_a_limited_heap_cannot_is_an_error() {
    let test = "misuse::what_a_limited_heap_cannot_is_an_error";
    let limited = &[("NVSHMEM_DOUBLE_LIMITED", "1")];
    for release in [Release::New, Release::Old] {
        processes(test, 2, release, limited, |pe| {
            let all = pe.alloc::<u32>(8).unwrap();
            let mut mine = pe.alloc::<u32>(4).unwrap();
            let signal = pe.signal().unwrap();
            let stream = pe.stream().unwrap();
            let world = pe.world();
            let refused = [
                world.split_strided(0, 1, 1).map(drop),
                world.split_2d(1).map(drop),
                pe.team_unique_id().map(drop),
                world.translate(0, &world).map(drop),
                world.broadcast(&mut mine, all.slice(..4).unwrap(), 0),
                world.reduce(&mut mine, all.slice(..4).unwrap(), Sum),
                pe.scope(&stream, |q| {
                    q.signal_wait_until(&signal, Comparison::Equal, 0)
                }),
                pe.signal_wait_until_on_stream(&signal, Comparison::Equal, 0, &stream)
                    .map(drop),
            ];
            for (at, outcome) in refused.into_iter().enumerate() {
                assert_eq!(kind(outcome), Some(ErrorKind::NotInLibrary), "{at}");
            }
            // Those of all PEs are there by other functions of NVSHMEM.
            world.barrier().unwrap();
            world.sync().unwrap();
            pe.scope(&stream, |q| q.barrier(&*world)).unwrap();
            // The rest goes on.
            pe.put(all.slice(..4).unwrap(), &mine, 1 - pe.my_pe())
                .unwrap();
            pe.barrier_all().unwrap();
            drop((all, mine, signal));
            drop(world);
            pe.finalize().unwrap();
        });
    }
}

/// NVSHMEM ends the process for elements that are apart, where PEs are reached over a network.
#[test]
fn elements_that_are_apart_do_not_go_over_a_network() {
    let test = "misuse::elements_that_are_apart_do_not_go_over_a_network";
    let remote = &[("NVSHMEM_DOUBLE_REMOTE", "1")];
    for release in [Release::New, Release::Old] {
        processes(test, 2, release, remote, |pe| {
            let all = pe.alloc::<u32>(8).unwrap();
            let mut mine = pe.alloc::<u32>(8).unwrap();
            let (strides, other) = (Strides { dest: 2, source: 1 }, 1 - pe.my_pe());
            let put = pe.iput(&all, &mine, strides, 4, other);
            assert_eq!(kind(put), Some(ErrorKind::Argument));
            let get = pe.iget(&mut mine, &all, strides, 4, other);
            assert_eq!(kind(get), Some(ErrorKind::Argument));
            pe.barrier_all().unwrap();
            drop((all, mine));
            pe.finalize().unwrap();
        });
    }
}

/// NVSHMEM ends the process where it launches a kernel while the context of another device is
/// current.
#[test]
fn another_device_may_become_current_in_a_scope() {
    let test = "misuse::another_device_may_become_current_in_a_scope";
    let remote = &[("NVSHMEM_DOUBLE_REMOTE", "1")];
    for release in [Release::New, Release::Old] {
        for variables in [&[][..], remote] {
            processes(test, 2, release, variables, |pe| {
                let stream = pe.stream().unwrap();
                let (me, other) = (pe.my_pe(), 1 - pe.my_pe());
                let mut mine = pe.alloc::<u64>(2).unwrap();
                let all = pe.alloc::<u64>(2).unwrap();
                mine.copy_from_host(&[me as u64, 7]).unwrap();
                pe.barrier_all().unwrap();
                let device = pe.context().unwrap().device().ordinal();
                let elsewhere = driver().device(device + 1).unwrap().context().unwrap();
                let mut gotten = pe.alloc::<u64>(1).unwrap();
                pe.scope(&stream, |q| {
                    let _entered = elsewhere.enter().unwrap();
                    q.put(&all, &mine, other)?;
                    q.get(&mut gotten, mine.slice(..1)?, other)?;
                    q.quiet()
                })
                .unwrap();
                pe.barrier_all().unwrap();
                assert_eq!(all.to_vec().unwrap(), [other as u64, 7]);
                assert_eq!(gotten.to_vec().unwrap(), [other as u64]);
                drop((all, mine, gotten));
                pe.finalize().unwrap();
            });
        }
    }
}

/// NVSHMEM ends the process for what the driver does not like.
#[test]
fn memory_and_streams_of_another_device_are_errors() {
    let test = "misuse::memory_and_streams_of_another_device_are_errors";
    processes(test, 2, Release::New, &[], |pe| {
        let context = pe.context().unwrap().clone();
        let elsewhere = context.cuda().device(3).unwrap().context().unwrap();
        let vec = pe.alloc::<u32>(8).unwrap();
        let memory = elsewhere.alloc::<u32>(8).unwrap();
        let put = pe.put(&vec, ranks_nvshmem::OnDevice(&memory), 0);
        assert_eq!(kind(put), Some(ErrorKind::Argument));
        let stream = elsewhere.stream().unwrap();
        let in_scope = pe.scope(&stream, |q| q.barrier_all());
        assert_eq!(kind(in_scope), Some(ErrorKind::Argument));
        let captured = context.stream().unwrap();
        doubles().set_capturing(true);
        let in_scope = pe.scope(&captured, |q| q.barrier_all());
        doubles().set_capturing(false);
        assert_eq!(kind(in_scope), Some(ErrorKind::Argument));
        // Another context may be current on the thread.
        let entered = elsewhere.enter().unwrap();
        pe.put(&vec, &vec, pe.my_pe()).unwrap();
        pe.barrier_all().unwrap();
        pe.alloc::<u8>(10).unwrap().free().unwrap();
        drop(entered);
        vec.free().unwrap();
        pe.finalize().unwrap();
    });
}

/// A heap in process counts the collectives of each PE, and those of one number meet.
#[test]
fn a_collective_on_the_stream_of_another_pe_counts_for_nothing() {
    let streams = Mutex::new(Vec::new());
    let parked = Barrier::new(2);
    threads(2, |pe| {
        let mut mine = pe.alloc::<u32>(1).unwrap();
        mine.copy_from_host(&[1]).unwrap();
        if pe.my_pe() == 0 {
            streams.lock().unwrap().push(pe.stream().unwrap());
        }
        parked.wait();
        if pe.my_pe() == 1 {
            let foreign = streams.lock().unwrap().pop().unwrap();
            let world = pe.world();
            let outcomes = [
                pe.barrier_all_on_stream(&foreign).map(drop),
                pe.sync_all_on_stream(&foreign).map(drop),
                world.barrier_on_stream(&foreign).map(drop),
                world.sync_on_stream(&foreign).map(drop),
                pe.scope(&foreign, |q| q.barrier_all()),
                pe.scope(&foreign, |q| q.reduce_in_place(pe.world(), &mut mine, Sum)),
                pe.synchronize(&foreign),
            ];
            for (at, outcome) in outcomes.into_iter().enumerate() {
                assert_eq!(kind(outcome), Some(ErrorKind::Argument), "{at}");
            }
        }
        pe.world().reduce_in_place(&mut mine, Sum).unwrap();
        assert_eq!(mine.to_vec().unwrap(), [2]);
        mine.free().unwrap();
        pe.finalize().unwrap();
    });
}

/// It bound functions that no library of NVSHMEM 3 has, and could not begin; its end did nothing.
#[test]
fn defect_1_it_begins_and_ends() {
    let test = "misuse::defect_1_it_begins_and_ends";
    for release in [Release::New, Release::Old] {
        bare(test, &[release.plain()], |bootstrap| {
            let status = doubles().library.table().nvshmemx_init_status.unwrap();
            let table = doubles().library;
            assert!(!table.has("nvshmem_init") && !table.has("nvshmem_finalize"));
            let pe = Nvshmem::init(bootstrap, &options()).unwrap();
            // SAFETY: it may be called at any time.
            assert_eq!(unsafe { status() }, 2);
            pe.finalize().unwrap();
            // SAFETY: as above.
            assert_eq!(unsafe { status() }, 0);
        });
    }
}

/// Its safe functions ended the process: teams without a heap, buffers after the end. Here these
/// need a live heap; what is wrong otherwise is an `Err`.
#[test]
fn defect_2_safe_code_ends_no_process() {
    let test = "misuse::defect_2_safe_code_ends_no_process";
    let none: &[(&str, &str)] = &[("NVSHMEM_DOUBLE_NO_GPU", "1")];
    for release in [Release::New, Release::Old] {
        bare(test, &[(release, none)], |bootstrap| {
            assert_eq!(
                kind(Nvshmem::init(bootstrap, &options())),
                Some(ErrorKind::Library)
            );
            assert_eq!(
                kind(Nvshmem::resume(bootstrap)),
                Some(ErrorKind::NotAvailable)
            );
        });
    }
    everywhere(test, |pe| {
        let world = pe.world();
        assert_eq!(
            kind(world.split_strided(0, 0, 2)),
            Some(ErrorKind::Argument)
        );
        assert!(kind(world.split_strided(1, 1, 2)).is_some());
        assert!(kind(world.split_strided(0, 1, usize::MAX)).is_some());
        assert_eq!(kind(world.split_2d(0)), Some(ErrorKind::Argument));
    });
}

/// Its handle could be sent and shared, there could be several, and whether the library is ready
/// was not asked. (That it stays on its thread is for the compiler: see `Nvshmem`.)
#[test]
fn defect_3_one_heap_on_one_thread() {
    bare(
        "misuse::defect_3_one_heap_on_one_thread",
        &[Release::New.plain()],
        |bootstrap| {
            let pe = Nvshmem::init(bootstrap, &options()).unwrap();
            let elsewhere = std::thread::scope(|scope| {
                let begun = scope.spawn(|| {
                    let alone =
                        ranks_bootstrap::ThreadBootstrap::of(1, crate::launched::LONG).unwrap();
                    (
                        kind(Nvshmem::init(&alone[0], &options())),
                        kind(Nvshmem::resume(&alone[0])),
                    )
                });
                begun.join().unwrap()
            });
            assert_eq!(
                elsewhere,
                (Some(ErrorKind::Argument), Some(ErrorKind::NotAvailable))
            );
            pe.finalize().unwrap();
        },
    );
}

/// Its buffers were freed, collectively, wherever they were dropped: in any order, and while a PE
/// panicked. (That they do not outlive the heap is for the compiler.)
#[test]
fn defect_4_dropping_waits_for_nobody() {
    everywhere("misuse::defect_4_dropping_waits_for_nobody", |pe| {
        let (one, two) = (pe.alloc::<u8>(9).unwrap(), pe.alloc::<u8>(9).unwrap());
        if pe.my_pe() == 0 {
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _held = (one, two);
                std::panic::resume_unwind(Box::new("the program's own"));
            }));
            assert!(panicked.is_err());
        } else {
            drop(two);
            drop(one);
        }
        pe.collect().unwrap();
    });
}

/// Its teams were copied, and used after they were destroyed; those that are always there could be
/// destroyed. (See `Team`, which is moved by its end.)
#[test]
fn defect_5_teams_have_one_owner() {
    everywhere("misuse::defect_5_teams_have_one_owner", |pe| {
        let world = pe.world();
        let all = world.split_strided(0, 1, 2).unwrap().unwrap();
        assert_eq!((all.my_pe(), all.n_pes()), (pe.my_pe(), 2));
        assert_eq!(all.translate(1, &world).unwrap(), Some(1));
        all.destroy().unwrap();
        world.barrier().unwrap();
    });
}

/// Its puts took whole prefixes, from anywhere to anywhere, and panicked.
#[test]
fn defect_6_any_range_and_only_what_is_there() {
    everywhere("misuse::defect_6_any_range_and_only_what_is_there", |pe| {
        let mut mine = pe.alloc::<u32>(6).unwrap();
        mine.copy_from_host(&[1, 2, 3, 4, 5, 6]).unwrap();
        let all = pe.alloc::<u32>(6).unwrap();
        pe.put(
            all.slice(1..3).unwrap(),
            mine.slice(4..).unwrap(),
            1 - pe.my_pe(),
        )
        .unwrap();
        pe.barrier_all().unwrap();
        assert_eq!(all.to_vec().unwrap(), [0, 5, 6, 0, 0, 0]);
        assert_eq!(
            kind(pe.put(&all, mine.slice(4..).unwrap(), 0)),
            Some(ErrorKind::Length)
        );
        assert_eq!(kind(pe.put(&all, &mine, 2)), Some(ErrorKind::Rank));
        all.free().unwrap();
        mine.free().unwrap();
    });
}

/// Its memory held what was there before, and nothing copied it to the host; ids were for the
/// caller to send.
#[test]
fn defect_7_memory_is_zero_and_comes_to_the_host() {
    everywhere(
        "misuse::defect_7_memory_is_zero_and_comes_to_the_host",
        |pe| {
            for _ in 0..2 {
                let mut vec = pe.alloc::<u64>(64).unwrap();
                assert_eq!(vec.to_vec().unwrap(), [0; 64]);
                vec.copy_from_host(&[u64::MAX; 64]).unwrap();
                vec.free().unwrap();
            }
        },
    );
}

/// It told the version of a specification for that of the library, and had one error for all.
#[test]
fn defect_8_versions_and_errors_say_what_they_are() {
    let test = "misuse::defect_8_versions_and_errors_say_what_they_are";
    for (release, version) in [(Release::New, "3.8.0"), (Release::Old, "3.4.5")] {
        processes(test, 1, release, &[], |pe| {
            assert_eq!(pe.backend_name(), format!("NVSHMEM {version}"));
            assert_eq!(doubles().library.spec_version(), (1, 3));
            let lacks = pe.flush();
            if release == Release::Old {
                let error = lacks.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NotInLibrary);
                let text = error.to_string();
                assert!(
                    text.contains("nvshmemx_flush is not in this NVSHMEM library (3.4.5, "),
                    "{text}"
                );
                assert!(text.ends_with("it needs NVSHMEM 3.7"), "{text}");
            } else {
                lacks.unwrap();
            }
            pe.finalize().unwrap();
        });
    }
}

/// It had no collectives, signals, waits, nor addresses of peers.
#[test]
fn defect_9_what_was_missing_is_there() {
    everywhere("misuse::defect_9_what_was_missing_is_there", |pe| {
        let other = 1 - pe.my_pe();
        let signal = pe.signal().unwrap();
        let all = pe.alloc::<u32>(2).unwrap();
        let mut mine = pe.alloc::<u32>(2).unwrap();
        mine.copy_from_host(&[7, 8]).unwrap();
        pe.put_signal(&all, &mine, &signal, 1, SignalOp::Add, other)
            .unwrap();
        pe.signal_wait_until(&signal, Comparison::Equal, 1).unwrap();
        assert_eq!(all.to_vec().unwrap(), [7, 8]);
        let mut sums = pe.alloc::<u32>(2).unwrap();
        pe.world().reduce(&mut sums, &mine, Sum).unwrap();
        assert_eq!(sums.to_vec().unwrap(), [14, 16]);
        assert!(all.peer(pe.my_pe()).unwrap().is_some());
        for vec in [all, mine, sums] {
            vec.free().unwrap();
        }
        signal.free().unwrap();
    });
}

/// It said that memory has the same address on every PE. The doubles' heaps lie at different ones,
/// and all is found all the same.
#[test]
fn defect_10_addresses_are_each_pe_s_own() {
    let test = "misuse::defect_10_addresses_are_each_pe_s_own";
    bare(test, &[Release::New.plain(); 3], |bootstrap| {
        let pe = Nvshmem::init(bootstrap, &options()).unwrap();
        let vec = pe.alloc::<usize>(3).unwrap();
        let own = vec.peer(pe.my_pe()).unwrap().unwrap().addr();
        let mut mine = pe.alloc::<usize>(1).unwrap();
        mine.copy_from_host(&[own]).unwrap();
        for target in 0..3 {
            let place = vec.slice(pe.my_pe()..=pe.my_pe()).unwrap();
            pe.put(place, &mine, target).unwrap();
        }
        pe.barrier_all().unwrap();
        let told = vec.to_vec().unwrap();
        assert_eq!(told[bootstrap.rank()], own);
        assert!(told[0] != told[1] && told[1] != told[2], "{told:x?}");
        drop((vec, mine));
        pe.finalize().unwrap();
    });
}
