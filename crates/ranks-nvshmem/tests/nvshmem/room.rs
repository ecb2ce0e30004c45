//! Allocations for which there is no room, on heaps of a fixed size and on those that grow.

use ranks_comm::ErrorKind;
use ranks_nvshmem::Comparison;

use crate::support::{Release, doubles, processes};

/// `nvshmem_calloc` ends the process where there is no room.
#[test]
fn more_than_there_is_room_for_is_an_error_on_all() {
    let test = "room::more_than_there_is_room_for_is_an_error_on_all";
    let small = &[("NVSHMEM_SYMMETRIC_SIZE", "2M")];
    let fixed = &[
        ("NVSHMEM_SYMMETRIC_SIZE", "2M"),
        ("NVSHMEM_DISABLE_CUDA_VMM", "1"),
    ];
    let grows = &[
        ("NVSHMEM_MAX_MEMORY_PER_GPU", "2M"),
        ("NVSHMEM_CUMEM_GRANULARITY", "2M"),
    ];
    let heaps = [
        (Release::New, &small[..], "NVSHMEM_SYMMETRIC_SIZE"),
        (Release::Old, fixed, "NVSHMEM_SYMMETRIC_SIZE"),
        (Release::Old, grows, "NVSHMEM_MAX_MEMORY_PER_GPU"),
    ];
    for (release, variables, says) in heaps {
        processes(test, 2, release, variables, |pe| {
            let half = pe.alloc::<u8>(1_200_000).unwrap();
            let error = pe.alloc::<u8>(1_200_000).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Memory);
            assert!(error.to_string().contains(says), "{error}");
            assert_eq!(half.to_vec().unwrap(), vec![0; 1_200_000]);
            drop(half);
            // What was dropped makes room.
            pe.alloc::<u8>(1_200_000).unwrap().free().unwrap();
            pe.finalize().unwrap();
        });
    }
}

/// Before 3.8 NVSHMEM unmaps the whole heap where the device has no memory for more of it, and goes
/// on.
#[test]
fn a_full_device_of_one_pe_is_an_error_before_the_library_is_asked() {
    let test = "room::a_full_device_of_one_pe_is_an_error_before_the_library_is_asked";
    processes(test, 2, Release::Old, &[], |pe| {
        let mut vec = pe.alloc::<u32>(8).unwrap();
        vec.fill_bytes(1).unwrap();
        let context = pe.context().unwrap().clone();
        let (free, total) = context.memory().unwrap();
        if pe.my_pe() == 1 {
            doubles().set_device_memory(total - free + (1 << 20));
        }
        // More than what the heap is known to have mapped.
        let error = pe.alloc::<u8>(300 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        assert!(error.to_string().contains("rank 1: "), "{error}");
        assert!(!error.to_string().contains("rank 0: "), "{error}");
        // What is known to be mapped needs nothing of the device.
        pe.alloc::<u8>(1 << 20).unwrap().free().unwrap();
        assert_eq!(vec.to_vec().unwrap(), [0x0101_0101; 8]);
        drop(vec);
        pe.finalize().unwrap();
    });
}

/// Nobody can know of all that takes memory of a device: the heap that the library has unmapped all
/// the same is not touched again.
#[test]
fn a_heap_that_the_library_has_lost_is_used_no_more() {
    let test = "room::a_heap_that_the_library_has_lost_is_used_no_more";
    processes(test, 2, Release::Old, &[], |pe| {
        let mut vec = pe.alloc::<u32>(8).unwrap();
        let error = pe.alloc::<u8>(64 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
        assert!(
            error.to_string().contains("NVSHMEM 3.4.5 unmaps"),
            "{error}"
        );
        let later = [
            vec.to_vec().map(drop),
            vec.fill_bytes(1),
            vec.copy_from_host(&[0; 8]),
            vec.peer(0).map(drop),
            vec.device().map(drop),
            pe.alloc::<u8>(8).map(drop),
            pe.barrier_all(),
        ];
        for (at, outcome) in later.into_iter().enumerate() {
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Aborted, "{at}");
        }
        assert_eq!(vec.free().unwrap_err().kind(), ErrorKind::Aborted);
        assert_eq!(pe.finalize().unwrap_err().kind(), ErrorKind::Aborted);
    });
}

/// Nor in a scope that is open when it is lost.
#[test]
fn a_heap_that_is_lost_in_a_scope_is_used_no_more() {
    let test = "room::a_heap_that_is_lost_in_a_scope_is_used_no_more";
    processes(test, 2, Release::Old, &[], |pe| {
        let (vec, signal) = (pe.alloc::<u32>(8).unwrap(), pe.signal().unwrap());
        let stream = pe.stream().unwrap();
        let outcome = pe.scope(&stream, |queue| {
            pe.alloc::<u8>(64 << 20).unwrap_err();
            let later = [
                queue.put(&vec, &vec, 1 - pe.my_pe()),
                queue.signal_wait_until(&signal, Comparison::Equal, 0),
                queue.barrier_all(),
                queue.quiet(),
            ];
            for (at, outcome) in later.into_iter().enumerate() {
                assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Aborted, "{at}");
            }
            Ok(())
        });
        outcome.unwrap();
    });
}
