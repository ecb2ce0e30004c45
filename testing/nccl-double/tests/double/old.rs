//! The variant that is as old as 2.18.3.

use std::ptr::null_mut;

use ranks_nccl_sys::*;

use crate::support::{Rank, at, int, old, on_threads};

/// Calls a function of the old library.
macro_rules! old {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let function = old().table().$name.expect("it is there");
        // SAFETY: the test that calls it keeps the contract of the C function.
        unsafe { function($($argument),*) }
    }};
}

#[test]
fn an_old_library_has_what_was_there_then_and_nothing_newer() {
    let nccl = old();
    assert_eq!(
        (nccl.version(), nccl.version_text()),
        (21803, "2.18.3".into())
    );
    let expected = |function: &str| {
        let since = since(function).expect("each has a release");
        let number = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok());
        number(since.split('.').nth(1)).expect("a number") <= 18
    };
    for function in functions() {
        assert_eq!(nccl.has(function), expected(function), "{function}");
    }
}

#[test]
fn an_old_library_takes_a_new_config_and_computes() {
    let mut id = ncclUniqueId { internal: [0; 128] };
    assert_eq!(old!(ncclGetUniqueId(&raw mut id)), 0);
    on_threads(2, |mut rank: Rank| {
        let _entered = rank.context.enter().expect("its context");
        let mut config = ncclConfig_t::new();
        (config.maxCTAs, config.commName) = (4, c"a name".as_ptr());
        let (out, number) = (&raw mut rank.comm, int(rank.rank));
        let code = old!(ncclCommInitRankConfig(out, 2, id, number, &raw mut config));
        assert_eq!(code, 0);
        let memory = rank.memory(&[1_f64; 4]);
        let (at, comm, stream) = (at(&memory), rank.comm, rank.raw());
        let code = old!(ncclAllReduce(at, at, 4, ncclFloat64, ncclSum, comm, stream));
        assert_eq!(code, 0);
        let newer = old!(ncclAllReduce(
            at,
            at,
            4,
            ncclFloat8e4m3,
            ncclSum,
            comm,
            stream
        ));
        assert_eq!(newer, ncclInvalidArgument);
        rank.sync();
        assert_eq!(memory.to_vec().expect("memory"), [2_f64; 4]);
        let mut child = null_mut();
        let color = NCCL_SPLIT_NOCOLOR;
        assert_eq!(
            old!(ncclCommSplit(comm, color, 0, &raw mut child, null_mut())),
            0
        );
        assert_eq!(old!(ncclCommDestroy(comm)), 0);
    });
}
