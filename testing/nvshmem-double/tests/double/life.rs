//! How PEs begin and end, and what ends a process that does not keep to it.

use std::env;
use std::ptr::{null, null_mut};

use ranks_nvshmem_sys::*;

use crate::processes::{all_well, run};
use crate::support::{BOTH, NEW, OLD, Pe, int, own_before};

/// What PEs do in a test.
const DEED: &str = "NVSHMEM_DOUBLE_TEST_DEED";

/// What `exit(-1)` is to a parent.
const EXIT: i32 = 255;

fn status(pe: &Pe) -> i32 {
    call!(pe, nvshmemx_init_status())
}

#[test]
fn before_and_after_it_lives_a_library_answers_little() {
    const TEST: &str = "life::before_and_after_it_lives_a_library_answers_little";
    let Some(pe) = own_before() else {
        for release in BOTH {
            all_well(TEST, release, 2, &[]);
        }
        return;
    };
    let nobody = || {
        assert_eq!(call!(pe, nvshmem_my_pe()), 0);
        assert_eq!(call!(pe, nvshmem_n_pes()), 0);
        assert!(call!(pe, nvshmem_ptr(null(), 0)).is_null());
    };
    nobody();
    call!(pe, nvshmemx_hostlib_finalize());
    call!(pe, nvshmem_global_exit(7));
    assert_eq!(status(&pe), 0);
    assert_eq!(pe.init(), 0);
    assert_eq!(status(&pe), 2);
    assert_eq!(call!(pe, nvshmem_my_pe()), int(pe.my_pe));
    assert_eq!(call!(pe, nvshmem_n_pes()), int(pe.n_pes));
    // One more init is one more finalize.
    assert_eq!(pe.init(), 0);
    call!(pe, nvshmemx_hostlib_finalize());
    assert_eq!(status(&pe), 2);
    call!(pe, nvshmemx_hostlib_finalize());
    assert_eq!(status(&pe), 0);
    nobody();
    assert_eq!(pe.counted("calls_after_finalize"), 3);
}

#[test]
fn without_a_gpu_releases_differ_in_what_they_say() {
    const TEST: &str = "life::without_a_gpu_releases_differ_in_what_they_say";
    let Some(pe) = own_before() else {
        for release in BOTH {
            all_well(TEST, release, 2, &[("NVSHMEM_DOUBLE_NO_GPU", "1")]);
        }
        return;
    };
    let new = pe.library.version() >= Version::new(3, 5);
    assert_eq!(pe.init(), if new { 7 } else { 0 });
    assert_eq!(status(&pe), 1);
    assert_eq!(call!(pe, nvshmem_my_pe()), int(pe.my_pe));
    assert_eq!(call!(pe, nvshmem_n_pes()), int(pe.n_pes));
    if new {
        assert!(call!(pe, nvshmem_malloc(8)).is_null());
    }
}

#[test]
fn what_comes_at_the_wrong_time_ends_the_process() {
    const TEST: &str = "life::what_comes_at_the_wrong_time_ends_the_process";
    let Some(pe) = own_before() else {
        let no_gpu = ("NVSHMEM_DOUBLE_NO_GPU", "1");
        let limited = ("NVSHMEM_DOUBLE_LIMITED", "1");
        let strict = ("NVSHMEM_DOUBLE_STRICT", "1");
        let before = "called before NVSHMEM initialization";
        for (deed, release, setting, says) in [
            ("put", NEW, strict, before),
            ("free", NEW, strict, before),
            ("barrier", OLD, strict, before),
            ("malloc", OLD, strict, before),
            ("failed malloc", OLD, no_gpu, before),
            ("failed quiet", NEW, no_gpu, before),
            (
                "failed finalize",
                NEW,
                no_gpu,
                "after an init that has failed",
            ),
            (
                "failed finalize",
                OLD,
                no_gpu,
                "after an init that has failed",
            ),
            ("late put", NEW, strict, "it was finalized"),
            ("wait", NEW, limited, "limited MPG"),
            ("team barrier", NEW, limited, "limited MPG"),
            ("calloc", NEW, strict, "out of memory"),
        ] {
            let settings = [(DEED, deed), setting];
            let ended = run(TEST, release, 1, &settings).remove(0);
            assert_eq!(ended.status.code(), Some(EXIT), "{deed}: {}", ended.said);
            assert!(ended.said.contains(says), "{deed}: {}", ended.said);
        }
        return;
    };
    let deed = env::var(DEED).expect("a deed");
    let (when, what) = deed.split_once(' ').unwrap_or(("", &deed));
    if when == "failed" {
        pe.init();
    }
    if matches!(
        deed.as_str(),
        "wait" | "team barrier" | "late put" | "calloc"
    ) {
        assert_eq!(pe.init(), 0);
    }
    if when == "late" {
        call!(pe, nvshmemx_hostlib_finalize());
    }
    match what {
        "put" => call!(pe, nvshmem_putmem(null_mut(), null(), 0, 0)),
        "free" => call!(pe, nvshmem_free(null_mut())),
        "quiet" => call!(pe, nvshmem_quiet()),
        "finalize" => call!(pe, nvshmemx_hostlib_finalize()),
        "malloc" => drop(call!(pe, nvshmem_malloc(8))),
        "calloc" => drop(call!(pe, nvshmem_calloc(1 << 20, 8))),
        "wait" => {
            assert_eq!(status(&pe), NVSHMEM_STATUS_LIMITED_MPG);
            let word = pe.alloc(8).cast();
            // What is allowed in limited mode.
            call!(pe, nvshmem_barrier_all());
            call!(pe, nvshmemx_signal_op_on_stream(word, 1, 9, 0, pe.stream()));
            call!(
                pe,
                nvshmemx_signal_wait_until_on_stream(word, 0, 1, pe.stream())
            );
        }
        _ if deed == "barrier" => call!(pe, nvshmem_barrier_all()),
        _ => drop(call!(pe, nvshmem_barrier(0))),
    }
}

#[test]
fn a_heap_has_the_same_places_at_other_addresses() {
    const TEST: &str = "life::a_heap_has_the_same_places_at_other_addresses";
    let Some(pe) = own_before() else {
        all_well(TEST, NEW, 3, &[]);
        let settings = [
            ("NVSHMEM_DOUBLE_REMOTE", "1"),
            ("NVSHMEM_DISABLE_CUDA_VMM", "1"),
        ];
        all_well(TEST, OLD, 3, &settings);
        return;
    };
    assert_eq!(pe.init(), 0);
    assert!(call!(pe, nvshmem_malloc(0)).is_null());
    assert!(call!(pe, nvshmem_malloc(1 << 30)).is_null());
    let one = pe.alloc(100);
    let zeros = call!(pe, nvshmem_calloc(10, 8));
    let aligned = call!(pe, nvshmem_align(4096, 8));
    assert_eq!(aligned.addr() % 4096, 0);
    assert_eq!(pe.read(zeros, 80), [0; 80]);
    assert_eq!(pe.counted("live_blocks"), 3);
    assert_eq!(call!(pe, nvshmem_ptr(one, int(pe.my_pe))), one);
    // Another PE's memory is at an address of this one's device, if it can be reached.
    let there = call!(pe, nvshmem_ptr(one, int((pe.my_pe + 1) % 3)));
    pe.write(one, &[u8::try_from(pe.my_pe).expect("small"); 8]);
    call!(pe, nvshmem_barrier_all());
    if env::var("NVSHMEM_DOUBLE_REMOTE").is_ok() {
        assert!(there.is_null());
    } else {
        let next = u8::try_from((pe.my_pe + 1) % 3).expect("small");
        assert!(there != one && pe.read(there, 8) == [next; 8]);
    }
    assert!(call!(pe, nvshmem_ptr(one, 3)).is_null());
    // Each tells the others where its memory is.
    let table = call!(pe, nvshmem_calloc(3, 8));
    let own = table.wrapping_byte_add(8 * pe.my_pe);
    let address = one.addr().to_ne_bytes();
    for target in 0..3 {
        call!(pe, nvshmem_putmem(own, address.as_ptr().cast(), 8, target));
    }
    call!(pe, nvshmem_barrier_all());
    let told = pe.read(table, 24);
    assert!(told[..8] != told[8..16] && told[8..16] != told[16..]);
    for block in [table, aligned, zeros] {
        call!(pe, nvshmem_free(block));
    }
    assert_eq!(pe.counted("live_blocks"), 1);
    // What is free is given again.
    assert_eq!(pe.alloc(80), zeros);
    assert_eq!(pe.counted("uses_after_free") + pe.counted("mismatches"), 0);
    pe.end();
}

#[test]
fn pes_that_allocate_differently_are_found() {
    const TEST: &str = "life::pes_that_allocate_differently_are_found";
    let Some(pe) = own_before() else {
        let ended = run(TEST, NEW, 2, &[("NVSHMEM_DOUBLE_PATIENCE", "2")]);
        let found = ended
            .iter()
            .any(|ended| ended.said.contains("PEs disagree"));
        assert!(found && ended.iter().all(|ended| !ended.status.success()));
        all_well(TEST, NEW, 2, &[("NVSHMEM_DOUBLE_STRICT", "0")]);
        return;
    };
    assert_eq!(pe.init(), 0);
    pe.alloc(8 + pe.my_pe);
    assert_eq!(pe.counted("mismatches"), 1);
}
