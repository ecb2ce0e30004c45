//! Blocks of the heap on devices: when they are freed, who else sees them, and memory that the
//! program brings.

use std::thread;
use std::time::Duration;

use ranks_bootstrap::ThreadBootstrap;
use ranks_comm::ErrorKind;
use ranks_cuda::DeviceSlice;
use ranks_nvshmem::{Comparison, Nvshmem, OnDevice, SignalOp};

use crate::launched::LONG;
use crate::support::{Release, bare, doubles, in_process, options, processes, ranks, threads};

fn live_blocks() -> usize {
    doubles().count(c"nvshmemDouble_live_blocks")
}

#[test]
fn what_is_dropped_is_freed_when_all_have_dropped_it() {
    let test = "memory::what_is_dropped_is_freed_when_all_have_dropped_it";
    for release in [Release::New, Release::Old] {
        processes(test, 2, release, &[], |pe| {
            let kept = pe.alloc::<u8>(10).unwrap();
            let all: Vec<_> = (0..3).map(|_| pe.alloc::<u8>(10).unwrap()).collect();
            assert_eq!(live_blocks(), 4);
            drop(all);
            // Dropping is no call of the library.
            assert_eq!(live_blocks(), 4);
            pe.collect().unwrap();
            assert_eq!(live_blocks(), 1);
            if pe.my_pe() == 0 {
                drop(kept);
                pe.collect().unwrap();
            } else {
                pe.collect().unwrap();
                drop(kept);
            }
            assert_eq!(live_blocks(), 1);
            pe.collect().unwrap();
            assert_eq!(live_blocks(), 0);
            pe.finalize().unwrap();
        });
    }
}

/// What works on a block is over before it is freed, whoever has it.
#[test]
fn what_is_under_way_is_waited_for() {
    let test = "memory::what_is_under_way_is_waited_for";
    let slow = &[("NVSHMEM_DOUBLE_DELAY_US", "20000")];
    processes(test, 2, Release::New, slow, |pe| {
        let stream = pe.stream().unwrap();
        let other = 1 - pe.my_pe();
        for _ in 0..3 {
            let to = pe.alloc::<u64>(1000).unwrap();
            let from = pe.alloc::<u64>(1000).unwrap();
            drop(pe.put_on_stream(to, from, other, &stream).unwrap());
            pe.collect().unwrap();
            assert_eq!(live_blocks(), 0);
        }
        // Forgotten, it is never freed, and the heap ends all the same.
        let (to, from) = (pe.alloc::<u64>(10).unwrap(), pe.alloc::<u64>(10).unwrap());
        std::mem::forget(pe.put_on_stream(to, from, other, &stream).unwrap());
        pe.finalize().unwrap();
    });
}

/// A stream that does not come to its end keeps all that is dropped, and is no reason to wait for
/// ever.
#[test]
fn a_free_that_would_wait_too_long_is_an_error_on_all() {
    let test = "memory::a_free_that_would_wait_too_long_is_an_error_on_all";
    bare(test, &[Release::New.plain(); 2], |bootstrap| {
        let options = options().time_limit(Duration::from_millis(200));
        let pe = Nvshmem::init(bootstrap, &options).unwrap();
        let signal = pe.signal().unwrap();
        let stream = pe.stream().unwrap();
        let vec = pe.alloc::<u8>(8).unwrap();
        // The second PE waits for a signal that nobody sends it yet.
        let waits = pe.my_pe() == 1;
        if waits {
            let wait = pe.signal_wait_until_on_stream(&signal, Comparison::Equal, 1, &stream);
            drop(wait.unwrap());
        }
        let error = vec.free().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert!(error.to_string().contains("rank 1"), "{error}");
        assert_eq!(live_blocks(), 2);
        pe.signal_op(&signal, 1, SignalOp::Set, 1).unwrap();
        pe.barrier_all().unwrap();
        pe.synchronize(&stream).unwrap();
        pe.collect().unwrap();
        assert_eq!(live_blocks(), 1);
        signal.free().unwrap();
        pe.finalize().unwrap();
    });
}

#[test]
fn the_device_has_a_view_of_it() {
    let test = "memory::the_device_has_a_view_of_it";
    processes(test, 1, Release::New, &[], |pe| {
        let mut vec = pe.alloc::<u32>(8).unwrap();
        let context = pe.context().unwrap().clone();
        let mut view = vec.device_mut().unwrap();
        context
            .copy_to_device(&[1, 2, 3, 4, 5, 6, 7, 8], &mut view)
            .unwrap();
        let part = vec.slice(2..5).unwrap().device().unwrap();
        assert_eq!(part.address(), vec.device().unwrap().address() + 8);
        let mut values = [0; 3];
        context.copy_to_host(&part, &mut values).unwrap();
        assert_eq!(values, [3, 4, 5]);
        assert_eq!(vec.to_vec().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
        drop(vec);
        pe.finalize().unwrap();
    });
    threads(1, |pe| {
        let vec = pe.alloc::<u32>(8).unwrap();
        assert_eq!(vec.device().unwrap_err().kind(), ErrorKind::NotAvailable);
    });
}

#[test]
fn a_peer_has_an_address_where_it_can_be_reached() {
    let test = "memory::a_peer_has_an_address_where_it_can_be_reached";
    processes(test, 2, Release::New, &[], |pe| {
        let vec = pe.alloc::<u32>(8).unwrap();
        let own = vec.peer(pe.my_pe()).unwrap().unwrap();
        let other = vec.peer(1 - pe.my_pe()).unwrap().unwrap();
        assert_ne!(own, other);
        let fourth = vec.slice(4..).unwrap().peer(pe.my_pe()).unwrap().unwrap();
        assert_eq!(fourth.addr(), own.addr() + 16);
        assert_eq!(vec.peer(2).unwrap_err().kind(), ErrorKind::Rank);
        vec.free().unwrap();
        pe.finalize().unwrap();
    });
    let remote = &[("NVSHMEM_DOUBLE_REMOTE", "1")];
    processes(test, 2, Release::New, remote, |pe| {
        let vec = pe.alloc::<u32>(8).unwrap();
        assert_eq!(vec.peer(1 - pe.my_pe()).unwrap(), None);
        vec.free().unwrap();
        pe.finalize().unwrap();
    });
}

#[test]
fn memory_of_the_program_is_registered_as_long_as_it_is_kept() {
    let test = "memory::memory_of_the_program_is_registered_as_long_as_it_is_kept";
    let registrations = || doubles().count(c"nvshmemDouble_live_registrations");
    for release in [Release::New, Release::Old] {
        processes(test, 2, release, &[], |pe| {
            let context = pe.context().unwrap().clone();
            let memory = context.device_vec_of(&[7_u32; 16]).unwrap();
            let registered = pe.register(memory).unwrap();
            assert_eq!(registrations(), 1);
            let vec = pe.alloc::<u32>(16).unwrap();
            pe.put(&vec, OnDevice(&registered), 1 - pe.my_pe()).unwrap();
            pe.barrier_all().unwrap();
            assert_eq!(vec.to_vec().unwrap(), [7; 16]);
            drop(registered);
            assert_eq!(registrations(), 0);
            let elsewhere = context.cuda().device(3).unwrap().context().unwrap();
            let error = pe.register(elsewhere.alloc::<u32>(8).unwrap()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument);
            // What has no bytes is not registered, and was kept for ever.
            let before = doubles().allocations();
            drop(pe.register(context.alloc::<()>(3).unwrap()).unwrap());
            assert_eq!(doubles().allocations(), before);
            vec.free().unwrap();
            pe.finalize().unwrap();
        });
    }
}

/// Memory that a queue owns is dropped when its scope is left, and its operations go on.
#[test]
fn memory_that_a_queue_works_on_stays_registered() {
    let test = "memory::memory_that_a_queue_works_on_stays_registered";
    let registrations = || doubles().count(c"nvshmemDouble_live_registrations");
    bare(test, &[Release::New.plain(); 2], |bootstrap| {
        let options = options().time_limit(Duration::from_millis(200));
        let pe = Nvshmem::init(bootstrap, &options).unwrap();
        let (stream, signal) = (pe.stream().unwrap(), pe.signal().unwrap());
        let vec = pe.alloc::<u32>(16).unwrap();
        let memory = pe.context().unwrap().device_vec_of(&[7_u32; 16]).unwrap();
        let registered = pe.register(memory).unwrap();
        let (me, other) = (pe.my_pe(), 1 - pe.my_pe());
        let late = pe.scope(&stream, |queue| {
            queue.signal_wait_until(&signal, Comparison::Equal, 1)?;
            queue.put(&vec, OnDevice(registered), other)
        });
        assert_eq!(late.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(registrations(), 1, "the put has not begun");
        pe.signal_op(&signal, 1, SignalOp::Set, me).unwrap();
        pe.synchronize(&stream).unwrap();
        pe.collect().unwrap();
        assert_eq!(registrations(), 0);
        pe.barrier_all().unwrap();
        assert_eq!(vec.to_vec().unwrap(), [7; 16]);
        drop((vec, signal));
        pe.finalize().unwrap();
    });
}

/// The library goes on with what it was told of when the thread that has told it is gone.
#[test]
fn registered_memory_outlives_a_thread_that_has_not_finalized() {
    let test = "memory::registered_memory_outlives_a_thread_that_has_not_finalized";
    bare(test, &[Release::New.plain()], |_| {
        let ends = || {
            let rank = ThreadBootstrap::of(1, LONG).unwrap().remove(0);
            let pe = Nvshmem::init(&rank, &options()).unwrap();
            let (stream, signal) = (pe.stream().unwrap(), pe.signal().unwrap());
            let memory = pe.context().unwrap().alloc::<u32>(16).unwrap();
            let registered = pe.register(memory).unwrap();
            let wait = pe.signal_wait_until_on_stream(&signal, Comparison::Equal, 1, &stream);
            drop((registered, wait.unwrap()));
            pe.signal_op(&signal, 1, SignalOp::Set, 0).unwrap();
            pe.synchronize(&stream).unwrap();
            doubles().allocations()
        };
        let before = thread::scope(|scope| scope.spawn(ends).join().unwrap());
        assert_eq!(doubles().count(c"nvshmemDouble_live_registrations"), 1);
        assert_eq!(doubles().allocations(), before);
    });
}

/// The double can take no memory over, as NVSHMEM cannot where it was not made for that.
#[test]
fn memory_that_cannot_become_symmetric_is_an_error_on_all() {
    let test = "memory::memory_that_cannot_become_symmetric_is_an_error_on_all";
    for release in [Release::New, Release::Old] {
        processes(test, 2, release, &[], |pe| {
            let context = pe.context().unwrap().clone();
            let memory = |len| context.alloc::<u64>(len).unwrap();
            let refused = |len, kind, says: &str| {
                let error = pe.register_symmetric(memory(len)).unwrap_err();
                assert_eq!(error.kind(), kind, "{error}");
                assert!(error.to_string().contains(says), "{error}");
            };
            refused(8 + pe.my_pe(), ErrorKind::Mismatch, "PE 1 calls");
            refused(0, ErrorKind::Argument, "no memory");
            // Before 3.8 it would unmap the heap for it.
            if release == Release::New {
                refused(8, ErrorKind::Library, "cuMemCreate");
            } else {
                refused(8, ErrorKind::NotInLibrary, "3.8 is needed");
            }
            let vec = pe.alloc::<u64>(4).unwrap();
            vec.free().unwrap();
            pe.finalize().unwrap();
        });
    }
}

#[test]
fn memory_in_the_heap_stays_until_the_library_gives_it_back() {
    let test = "memory::memory_in_the_heap_stays_until_the_library_gives_it_back";
    let takes = ("NVSHMEM_DOUBLE_TAKES_MEMORY", "1");
    let keeps = ("NVSHMEM_DOUBLE_FAIL", "nvshmemx_buffer_unregister=7");
    for variables in [&[takes][..], &[takes, keeps]] {
        processes(test, 1, Release::New, variables, |pe| {
            let context = pe.context().unwrap().clone();
            let memory = context.device_vec_of(&[7_u64; 8]).unwrap();
            let before = doubles().allocations();
            let vec = pe.register_symmetric(memory).unwrap();
            assert_eq!(vec.to_vec().unwrap(), [7; 8]);
            if vec.free().is_err() {
                assert_eq!(doubles().allocations(), before);
                return;
            }
            assert_eq!(doubles().allocations(), before - 1);
            pe.finalize().unwrap();
        });
    }
}

/// A PE that never comes is not waited for longer than the bootstrap does.
#[test]
fn a_pe_that_is_gone_is_an_error() {
    ranks(2, |rank| {
        let pe = Nvshmem::init(rank, &in_process()).unwrap();
        if pe.my_pe() == 1 {
            return;
        }
        // What the bootstrap does not notice, the heap does not: the other's end is dropped when
        // its thread has ended.
        let error = pe.alloc::<u8>(8).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
        assert_eq!(pe.alloc::<u8>(8).unwrap_err().kind(), ErrorKind::Aborted);
    });
}
