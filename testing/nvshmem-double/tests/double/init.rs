//! What an init takes, and when there is a device.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use ranks_nvshmem_sys::*;

use crate::processes::all_well;
use crate::support::{BOTH, NEW, Pe, own_before};

fn is_new(pe: &Pe) -> bool {
    pe.library.version() >= Version::new(3, 5)
}

fn status(pe: &Pe) -> i32 {
    call!(pe, nvshmemx_init_status())
}

#[test]
fn version_words_are_those_of_the_release() {
    const TEST: &str = "init::version_words_are_those_of_the_release";
    let Some(pe) = own_before() else {
        for release in BOTH {
            all_well(TEST, release, 1, &[]);
        }
        return;
    };
    let words = |layout: i32| {
        move |attr: &mut nvshmemx_init_attr_t| {
            attr.version = (layout << 16) + 144;
            attr.args.version = (layout << 16) + 128;
        }
    };
    assert_eq!(pe.init_with(words(3)), 1);
    assert_eq!(pe.init_with(|attr| attr.args.uid_args.version = 0), 1);
    let _entered = pe.context.enter().expect("its context");
    if !is_new(&pe) {
        assert_eq!(pe.init_with(words(2)), 1);
    }
    assert_eq!(status(&pe), 0);
    assert_eq!(pe.init_with(words(1)), 0);
    assert_eq!(status(&pe), 2);
}

#[test]
fn without_a_device_the_first_allocation_ends_the_init() {
    const TEST: &str = "init::without_a_device_the_first_allocation_ends_the_init";
    let Some(pe) = own_before() else {
        for release in BOTH {
            all_well(TEST, release, 2, &[]);
        }
        return;
    };
    // No context is current.
    assert_eq!(pe.init_with(|_| ()), 0);
    assert_eq!(status(&pe), 1);
    let entered = pe.context.enter().expect("its context");
    let memory = pe.alloc(8);
    drop(entered);
    assert_eq!(status(&pe), 2);
    call!(pe, nvshmem_free(memory));
    pe.end();
}

#[test]
fn an_init_takes_the_device_that_it_is_told() {
    const TEST: &str = "init::an_init_takes_the_device_that_it_is_told";
    let Some(pe) = own_before() else {
        for release in BOTH {
            all_well(TEST, release, 1, &[]);
        }
        return;
    };
    let device = pe.context.cuda().device(3).expect("a device");
    let context = device.context().expect("a context");
    if is_new(&pe) {
        assert_eq!(pe.init_with(|attr| attr.args.cuda_device_id = 3), 0);
    } else {
        let _entered = context.enter().expect("its context");
        assert_eq!(pe.init_with(|_| ()), 0);
    }
    assert_eq!(status(&pe), 2);
    // The heap is memory of that device.
    assert!(pe.memory_in_use(&context) >= 1 << 20);
    pe.end();
    assert_eq!(pe.memory_in_use(&context), 0);
    // Then it lives again, with another id.
    let mut id = nvshmemx_uniqueid_t::zeroed();
    assert_eq!(call!(pe, nvshmemx_get_uniqueid(&raw mut id)), 0);
    let _entered = pe.context.enter().expect("its context");
    assert_eq!(pe.init_of(&id, |_| ()), 0);
    assert_eq!(status(&pe), 2);
    let zeros = call!(pe, nvshmem_calloc(4, 4));
    assert_eq!(pe.read(zeros, 16), [0; 16]);
    pe.end();
}

#[test]
fn a_function_fails_once_if_a_test_asks_for_it() {
    const TEST: &str = "init::a_function_fails_once_if_a_test_asks_for_it";
    let Some(pe) = own_before() else {
        let first = ("NVSHMEM_DOUBLE_FAIL", "nvshmemx_hostlib_init_attr=2");
        return all_well(TEST, NEW, 2, &[first]);
    };
    assert_eq!(pe.init(), 2);
    assert_eq!(pe.init(), 0);
    let fail: extern "C" fn(*const c_char, c_int) = pe.function("nvshmemDouble_fail_next");
    fail(c"nvshmem_malloc".as_ptr(), 1);
    assert!(call!(pe, nvshmem_malloc(8)).is_null());
    pe.alloc(8);
    fail(c"nvshmem_barrier".as_ptr(), 3);
    assert_eq!(call!(pe, nvshmem_barrier(0)), 3);
    assert_eq!(call!(pe, nvshmem_barrier(0)), 0);
    fail(c"nvshmem_team_split_strided".as_ptr(), 4);
    for expected in [4, 0] {
        let mut team = 77;
        let code = call!(
            pe,
            nvshmem_team_split_strided(0, 0, 1, 2, null(), 0, &raw mut team)
        );
        assert_eq!(
            (code, team == NVSHMEM_TEAM_INVALID),
            (expected, expected != 0)
        );
    }
    let module = null_mut::<c_void>().wrapping_byte_add(16).cast();
    fail(c"nvshmemx_cumodule_init".as_ptr(), 7);
    assert_eq!(call!(pe, nvshmemx_cumodule_init(module)), 7);
    assert_eq!(call!(pe, nvshmemx_cumodule_init(module)), 0);
    assert_eq!(
        (pe.counted("module_inits"), pe.counted("live_modules")),
        (1, 1)
    );
    assert_eq!(call!(pe, nvshmemx_cumodule_finalize(module)), 0);
    assert_eq!(pe.counted("live_modules"), 0);
    call!(pe, nvshmemx_hostlib_finalize());
    pe.end();
}
