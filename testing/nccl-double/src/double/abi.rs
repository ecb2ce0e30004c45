//! Types and numbers of `nccl.h`.

use std::ffi::{c_char, c_int, c_uint};

/// `ncclResult_t`
pub(crate) type Code = c_int;

pub(crate) const SUCCESS: Code = 0;
pub(crate) const UNHANDLED_CUDA_ERROR: Code = 1;
pub(crate) const SYSTEM_ERROR: Code = 2;
pub(crate) const INTERNAL_ERROR: Code = 3;
pub(crate) const INVALID_ARGUMENT: Code = 4;
pub(crate) const INVALID_USAGE: Code = 5;
pub(crate) const REMOTE_ERROR: Code = 6;
pub(crate) const IN_PROGRESS: Code = 7;

/// `NCCL_CONFIG_UNDEF_INT`
pub(crate) const UNDEFINED: c_int = c_int::MIN;
/// `NCCL_API_MAGIC`
pub(crate) const API_MAGIC: c_uint = 0xcafe_beef;
/// `NCCL_SPLIT_NOCOLOR`
pub(crate) const NO_COLOR: c_int = -1;
/// `NCCL_SHRINK_ABORT`
pub(crate) const SHRINK_ABORT: c_int = 1;
/// `NCCL_WIN_REQUIRED_ALIGNMENT`
pub(crate) const WINDOW_ALIGNMENT: usize = 4096;

/// `ncclUniqueId`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UniqueId(pub(crate) [u8; 128]);

/// `ncclComm_t`, as a number: what it points at is this library's business.
pub(crate) type CommHandle = usize;

/// `cudaStream_t`
pub(crate) type Stream = usize;

/// `ncclConfig_t` as of 2.32.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Config {
    pub(crate) size: usize,
    pub(crate) magic: c_uint,
    pub(crate) version: c_uint,
    pub(crate) blocking: c_int,
    pub(crate) cga_cluster_size: c_int,
    pub(crate) min_ctas: c_int,
    pub(crate) max_ctas: c_int,
    pub(crate) net_name: *const c_char,
    pub(crate) split_share: c_int,
    pub(crate) traffic_class: c_int,
    pub(crate) comm_name: *const c_char,
    pub(crate) collnet_enable: c_int,
    pub(crate) cta_policy: c_int,
    pub(crate) shrink_share: c_int,
    pub(crate) nvls_ctas: c_int,
    pub(crate) n_channels_per_net_peer: c_int,
    pub(crate) nvlink_centric_sched: c_int,
    pub(crate) graph_usage_mode: c_int,
    pub(crate) num_rma_ctx: c_int,
    pub(crate) max_p2p_peers: c_int,
    pub(crate) graph_stream_ordering: c_int,
    pub(crate) launch_order_implicit: c_int,
    pub(crate) num_rma_sig: c_int,
    pub(crate) rma_eager_init: c_int,
    pub(crate) host_cft_mode: c_int,
    pub(crate) nvls_host_mode: c_int,
}

/// `ncclSimInfo_t`
#[repr(C)]
pub(crate) struct SimInfo {
    pub(crate) size: usize,
    pub(crate) magic: c_uint,
    pub(crate) version: c_uint,
    pub(crate) estimated_time: f32,
}

/// The magic number of [`SimInfo`].
pub(crate) const SIM_INFO_MAGIC: c_uint = 0x7468_5283;

/// `ncclWaitSignalDesc_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct WaitSignal {
    pub(crate) count: c_int,
    pub(crate) peer: c_int,
    pub(crate) signal: c_int,
    pub(crate) context: c_int,
}

/// The fields of `ncclCommProperties_t` that are filled in here; more follow.
#[repr(C)]
pub(crate) struct CommProperties {
    pub(crate) size: usize,
    pub(crate) magic: c_uint,
    pub(crate) version: c_uint,
    pub(crate) rank: c_int,
    pub(crate) ranks: c_int,
    pub(crate) cuda_device: c_int,
    pub(crate) nvml_device: c_int,
    pub(crate) device_api: bool,
    pub(crate) multimem: bool,
    pub(crate) gin_type: c_int,
    pub(crate) lsa_teams: c_int,
    pub(crate) host_rma: bool,
    pub(crate) railed_gin_type: c_int,
    pub(crate) hash: u64,
}

/// What every struct of a caller begins with.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct StructHead {
    pub(crate) size: usize,
    pub(crate) magic: c_uint,
    pub(crate) version: c_uint,
}
