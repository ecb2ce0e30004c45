//! Collective operations with a config of their own, of which only that it is one matters here.
#![allow(non_snake_case, reason = "the names are NCCL's")]
#![allow(clippy::too_many_arguments, reason = "the arguments are NCCL's")]

use std::ffi::{c_int, c_void};

use super::since_2_18::at;
use crate::double::abi::{API_MAGIC, Code, CommHandle, Stream, StructHead};
use crate::double::calls::Call;
use crate::double::failure::{Failure, Outcome, entry};
use crate::double::operation::Kind;

/// Refuses what was not initialised.
///
/// # Safety
/// `config` is null, or points at what the structs of callers begin with.
unsafe fn check(config: *const StructHead) -> Outcome {
    // SAFETY: the caller's promise.
    match unsafe { config.as_ref() } {
        Some(head) if head.magic != API_MAGIC => Err(Failure::argument(
            "ncclCollConfig_t argument not initialized via NCCL_COLLCONFIG_INITIALIZER",
        )),
        _ => Ok(()),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclAllReduceConfig(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: c_int,
    operator: c_int,
    comm: CommHandle,
    stream: Stream,
    config: *const StructHead,
) -> Code {
    let call = Call {
        kind: Kind::AllReduce,
        send: at(send),
        recv: at(recv),
        count,
        dtype,
        operator,
        root: 0,
        comm,
        stream,
    };
    entry("ncclAllReduceConfig", || {
        // SAFETY: the caller keeps NCCL's contract.
        unsafe { check(config) }?;
        call.enqueue()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclBroadcastConfig(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: c_int,
    root: c_int,
    comm: CommHandle,
    stream: Stream,
    config: *const StructHead,
) -> Code {
    let call = Call {
        kind: Kind::Broadcast,
        send: at(send),
        recv: at(recv),
        count,
        dtype,
        operator: 0,
        root,
        comm,
        stream,
    };
    entry("ncclBroadcastConfig", || {
        // SAFETY: the caller keeps NCCL's contract.
        unsafe { check(config) }?;
        call.enqueue()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclReduceConfig(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: c_int,
    operator: c_int,
    root: c_int,
    comm: CommHandle,
    stream: Stream,
    config: *const StructHead,
) -> Code {
    let call = Call {
        kind: Kind::Reduce,
        send: at(send),
        recv: at(recv),
        count,
        dtype,
        operator,
        root,
        comm,
        stream,
    };
    entry("ncclReduceConfig", || {
        // SAFETY: the caller keeps NCCL's contract.
        unsafe { check(config) }?;
        call.enqueue()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclAllGatherConfig(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: c_int,
    comm: CommHandle,
    stream: Stream,
    config: *const StructHead,
) -> Code {
    let call = Call {
        kind: Kind::AllGather,
        send: at(send),
        recv: at(recv),
        count,
        dtype,
        operator: 0,
        root: 0,
        comm,
        stream,
    };
    entry("ncclAllGatherConfig", || {
        // SAFETY: the caller keeps NCCL's contract.
        unsafe { check(config) }?;
        call.enqueue()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclReduceScatterConfig(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: c_int,
    operator: c_int,
    comm: CommHandle,
    stream: Stream,
    config: *const StructHead,
) -> Code {
    let call = Call {
        kind: Kind::ReduceScatter,
        send: at(send),
        recv: at(recv),
        count,
        dtype,
        operator,
        root: 0,
        comm,
        stream,
    };
    entry("ncclReduceScatterConfig", || {
        // SAFETY: the caller keeps NCCL's contract.
        unsafe { check(config) }?;
        call.enqueue()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclAlltoAllConfig(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: c_int,
    comm: CommHandle,
    stream: Stream,
    config: *const StructHead,
) -> Code {
    let call = Call {
        kind: Kind::AlltoAll,
        send: at(send),
        recv: at(recv),
        count,
        dtype,
        operator: 0,
        root: 0,
        comm,
        stream,
    };
    entry("ncclAlltoAllConfig", || {
        // SAFETY: the caller keeps NCCL's contract.
        unsafe { check(config) }?;
        call.enqueue()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclGatherConfig(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: c_int,
    root: c_int,
    comm: CommHandle,
    stream: Stream,
    config: *const StructHead,
) -> Code {
    let call = Call {
        kind: Kind::Gather,
        send: at(send),
        recv: at(recv),
        count,
        dtype,
        operator: 0,
        root,
        comm,
        stream,
    };
    entry("ncclGatherConfig", || {
        // SAFETY: the caller keeps NCCL's contract.
        unsafe { check(config) }?;
        call.enqueue()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclScatterConfig(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: c_int,
    root: c_int,
    comm: CommHandle,
    stream: Stream,
    config: *const StructHead,
) -> Code {
    let call = Call {
        kind: Kind::Scatter,
        send: at(send),
        recv: at(recv),
        count,
        dtype,
        operator: 0,
        root,
        comm,
        stream,
    };
    entry("ncclScatterConfig", || {
        // SAFETY: the caller keeps NCCL's contract.
        unsafe { check(config) }?;
        call.enqueue()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclSetEncryption(config: *const StructHead) -> Code {
    entry("ncclSetEncryption", || {
        if config.is_null() {
            return Err(Failure::argument("config argument is NULL"));
        }
        // SAFETY: as above.
        unsafe { check(config) }
    })
}
