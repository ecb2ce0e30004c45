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

collectives! {
    ncclAllReduceConfig: AllReduce(operator) config;
    ncclBroadcastConfig: Broadcast(root) config;
    ncclReduceConfig: Reduce(operator, root) config;
    ncclAllGatherConfig: AllGather() config;
    ncclReduceScatterConfig: ReduceScatter(operator) config;
    ncclAlltoAllConfig: AlltoAll() config;
    ncclGatherConfig: Gather(root) config;
    ncclScatterConfig: Scatter(root) config;
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
