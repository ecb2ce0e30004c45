//! How communicators begin and end, well and badly.

use std::ffi::{CStr, CString, c_char, c_int};

use ranks_nccl_sys::*;

use crate::support::{
    Rank, alone, at, counted, hook, int, nccl as table, on_threads, set, set_delay, threads,
    unique_id, until,
};

const F32: ncclDataType_t = ncclFloat32;

fn config() -> ncclConfig_t {
    let mut config = ncclConfig_t::new();
    config.blocking = 0;
    config
}

fn last_error() -> String {
    let text: *const c_char = nccl!(ncclGetLastError(std::ptr::null_mut()));
    // SAFETY: a text with a zero at its end, which is always there.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

/// Enqueues a sum of four elements, in place.
fn sum(rank: &Rank, at: *mut std::ffi::c_void) -> c_int {
    let (comm, stream) = (rank.comm, rank.raw());
    nccl!(ncclAllReduce(at, at, 4, F32, ncclSum, comm, stream))
}

#[test]
fn a_communicator_that_does_not_block_is_in_progress_until_all_have_come() {
    let _alone = alone();
    let id = unique_id();
    table();
    let mut first = Rank::without(2, 0);
    assert_eq!(first.init(id, Some(&mut config())), ncclInProgress);
    assert_eq!(first.state(), ncclInProgress);
    let mut size = 0;
    let early = nccl!(ncclCommCount(first.comm, &raw mut size));
    assert_eq!(early, ncclInvalidArgument, "it is not ready");
    assert_eq!(first.state(), ncclInProgress);
    let mut second = Rank::without(2, 1);
    assert_eq!(second.init(id, Some(&mut config())), ncclInProgress);
    for rank in [&first, &second] {
        assert_eq!(rank.settled(), 0);
        assert_eq!(nccl!(ncclCommCount(rank.comm, &raw mut size)), 0);
        assert_eq!(size, 2);
    }
    // Nothing is on the stream while the call is in progress.
    set_delay(60_000_000);
    let memory: Vec<_> = [&first, &second]
        .map(|rank| rank.memory(&[1_f32; 4]))
        .into();
    for (rank, memory) in [&first, &second].into_iter().zip(&memory) {
        assert_eq!(sum(rank, at(memory)), ncclInProgress);
        assert!(rank.is_idle());
        assert_eq!(
            sum(rank, at(memory)),
            ncclInvalidArgument,
            "not before it is ready"
        );
    }
    set_delay(0);
    for (rank, memory) in [&first, &second].into_iter().zip(&memory) {
        assert_eq!(rank.settled(), 0);
        rank.sync();
        assert_eq!(memory.to_vec().expect("memory"), [2_f32; 4]);
        assert_eq!(nccl!(ncclCommFinalize(rank.comm)), ncclInProgress);
        assert_eq!(rank.settled(), 0);
        assert_eq!(nccl!(ncclCommFinalize(rank.comm)), ncclInvalidArgument);
        assert_eq!(sum(rank, at(memory)), ncclInvalidUsage, "it is finalized");
        rank.destroy();
    }
}

#[test]
fn an_init_that_waits_for_ever_is_aborted() {
    let _alone = alone();
    table();
    let mut rank = Rank::without(2, 0);
    assert_eq!(rank.init(unique_id(), Some(&mut config())), ncclInProgress);
    rank.abort();
    until("gone", || counted("threads") == 0);
}

#[test]
fn an_operation_that_waits_for_ever_is_aborted_and_others_are_not_told() {
    threads(2, |rank| {
        let memory = rank.memory(&[1_f32; 4]);
        if rank.rank == 0 {
            assert_eq!(sum(&rank, at(&memory)), 0);
            assert!(!rank.is_idle());
            rank.abort();
            rank.sync();
        } else {
            assert_eq!(rank.state(), 0);
            rank.abort();
        }
    });
}

#[test]
fn what_is_freed_is_known_as_such() {
    let _alone = alone();
    threads(1, |rank| {
        let before = counted("uses_after_free");
        let memory = rank.memory(&[1_f32; 4]);
        rank.abort();
        let mut state = 0;
        let refused = [
            nccl!(ncclCommDestroy(rank.comm)),
            nccl!(ncclCommAbort(rank.comm)),
            nccl!(ncclCommGetAsyncError(rank.comm, &raw mut state)),
            sum(&rank, at(&memory)),
        ];
        assert_eq!(refused, [ncclInvalidArgument; 4]);
        assert_eq!(counted("uses_after_free"), before + 4);
    });
    let null = std::ptr::null_mut();
    assert_eq!(nccl!(ncclCommDestroy(null)), 0);
    assert_eq!(nccl!(ncclCommAbort(null)), 0);
    // The text is of the whole process: a test that runs beside this one may fail in between.
    until("the failure is told", || {
        let mut size = 0;
        let refused = nccl!(ncclCommCount(null, &raw mut size));
        assert_eq!(refused, ncclInvalidArgument);
        let told = last_error();
        told.contains("ncclCommCount") && told.contains("NULL")
    });
}

#[test]
fn init_refuses_what_is_wrong_and_writes_nothing() {
    table();
    let marked = std::ptr::without_provenance_mut(64);
    let mut rank = Rank::without(1, 0);
    let refused = |rank: &mut Rank, size, number, config: Option<&mut ncclConfig_t>| {
        (rank.size, rank.rank, rank.comm) = (size, number, marked);
        let code = rank.init(unique_id(), config);
        assert_eq!(rank.comm, marked, "it is not written");
        code
    };
    assert_eq!(refused(&mut rank, 0, 0, None), ncclInvalidArgument);
    assert_eq!(refused(&mut rank, 2, 2, None), ncclInvalidArgument);
    let mut bad = ncclConfig_t::new();
    bad.magic = 0;
    assert_eq!(
        refused(&mut rank, 1, 0, Some(&mut bad)),
        ncclInvalidArgument
    );
    let mut bad = ncclConfig_t::new();
    (bad.minCTAs, bad.maxCTAs) = (8, 4);
    assert_eq!(
        refused(&mut rank, 1, 0, Some(&mut bad)),
        ncclInvalidArgument
    );
    let nothing = ncclUniqueId { internal: [0; 128] };
    (rank.size, rank.rank, rank.comm) = (1, 0, marked);
    assert_eq!(rank.init(nothing, None), ncclSystemError);
    let id = unique_id();
    assert_eq!(rank.init(id, None), 0);
    let mut again = Rank::without(1, 0);
    assert_eq!(
        again.init(id, None),
        ncclSystemError,
        "an id is for one communicator"
    );
    rank.destroy();
}

#[test]
fn a_config_of_any_size_is_read_as_far_as_it_goes() {
    table();
    let mut rank = Rank::without(1, 0);
    let name = CString::new("a name").expect("no zero");
    let mut asked = ncclConfig_t::new();
    asked.maxCTAs = 4;
    asked.commName = name.as_ptr();
    assert_eq!(rank.init(unique_id(), Some(&mut asked)), 0);
    let mut found = ncclConfig_t::new();
    let tell: extern "C" fn(ncclComm_t, *mut ncclConfig_t) -> c_int = hook("ncclDouble_config");
    assert_eq!(tell(rank.comm, &raw mut found), 0);
    assert_eq!(found.maxCTAs, 4);
    // SAFETY: the communicator's own text.
    assert_eq!(unsafe { CStr::from_ptr(found.commName) }, name.as_c_str());
    rank.destroy();
    asked.size = 24;
    assert_eq!(rank.init(unique_id(), Some(&mut asked)), 0);
    assert_eq!(tell(rank.comm, &raw mut found), 0);
    assert_eq!(found.maxCTAs, NCCL_CONFIG_UNDEF_INT);
    assert!(found.commName.is_null());
    rank.destroy();
}

#[test]
fn ranks_on_one_device_are_refused_unless_that_is_allowed() {
    let _alone = alone();
    let both = |expected| {
        let id = unique_id();
        on_threads(2, |rank| {
            let mut on_first = Rank::without(2, 0);
            on_first.rank = rank.rank;
            assert_eq!(on_first.init(id, None), expected);
            if expected == 0 {
                on_first.destroy();
            }
        });
    };
    both(ncclInvalidUsage);
    set("set_allows_duplicates", 1);
    both(0);
    set("set_allows_duplicates", 0);
}

#[test]
fn an_asynchronous_error_stays_until_the_communicator_goes() {
    threads(1, |rank| {
        let memory = rank.memory(&[1_f32; 4]);
        let inject: extern "C" fn(ncclComm_t, c_int) -> c_int =
            hook("ncclDouble_inject_async_error");
        assert_eq!(inject(rank.comm, ncclRemoteError), 0);
        assert_eq!(rank.state(), ncclRemoteError);
        assert_eq!(sum(&rank, at(&memory)), ncclRemoteError);
        assert_eq!(nccl!(ncclCommDestroy(rank.comm)), ncclRemoteError);
        rank.abort();
    });
}

#[test]
fn a_call_fails_when_a_test_asks_for_it() {
    let _alone = alone();
    threads(1, |rank| {
        let fail: extern "C" fn(*const c_char, c_int) = hook("ncclDouble_fail_next");
        fail(c"ncclCommSuspend".as_ptr(), ncclInternalError);
        assert_eq!(nccl!(ncclCommSuspend(rank.comm, 1)), ncclInternalError);
        assert_eq!(nccl!(ncclCommResume(rank.comm)), ncclInvalidUsage);
        assert_eq!(nccl!(ncclCommSuspend(rank.comm, 1)), 0);
        assert_eq!(nccl!(ncclCommResume(rank.comm)), 0);
        rank.destroy();
    });
}

#[test]
fn errors_have_texts_and_the_version_is_told() {
    table();
    for code in [0, 1, 4, 8, 77, -1] {
        let text: *const c_char = nccl!(ncclGetErrorString(code));
        assert!(!text.is_null());
    }
    let mut version = 0;
    assert_eq!(nccl!(ncclGetVersion(&raw mut version)), 0);
    assert_eq!(version, NCCL_VERSION_CODE);
    assert_eq!(
        nccl!(ncclGetVersion(std::ptr::null_mut())),
        ncclInvalidArgument
    );
}

#[test]
fn what_is_revoked_stops_and_can_be_shrunk_or_destroyed() {
    threads(2, |rank| {
        let memory = rank.memory(&[1_f32; 4]);
        if rank.rank == 0 {
            assert_eq!(sum(&rank, at(&memory)), 0);
        }
        assert_eq!(nccl!(ncclCommRevoke(rank.comm, 1)), ncclInvalidArgument);
        assert_eq!(nccl!(ncclCommRevoke(rank.comm, 0)), 0);
        rank.sync();
        assert_eq!(rank.state(), 0);
        assert_eq!(sum(&rank, at(&memory)), ncclInvalidUsage);
        assert_eq!(nccl!(ncclCommFinalize(rank.comm)), ncclInvalidUsage);
        rank.destroy();
    });
}

#[test]
fn a_suspended_communicator_is_not_used() {
    let _alone = alone();
    threads(1, |rank| {
        let memory = rank.memory(&[1_f32; 4]);
        assert_eq!(nccl!(ncclCommSuspend(rank.comm, 1)), 0);
        assert_eq!(sum(&rank, at(&memory)), ncclInvalidUsage);
        assert_eq!(nccl!(ncclCommResume(rank.comm)), 0);
        assert_eq!(sum(&rank, at(&memory)), 0);
        rank.sync();
        let mut value = 9;
        assert_eq!(nccl!(ncclCommMemStats(rank.comm, 1, &raw mut value)), 0);
        assert_eq!(value, 0);
        rank.destroy();
    });
}

#[test]
fn a_communicator_tells_its_properties() {
    threads(2, |rank| {
        let mut properties = ncclCommProperties_t::new();
        let out = &raw mut properties;
        assert_eq!(nccl!(ncclCommQueryProperties(rank.comm, out)), 0);
        assert_eq!((properties.rank, properties.nRanks), (int(rank.rank), 2));
        assert!(properties.hostRmaSupport);
        rank.destroy();
    });
}
