//! Types and numbers of the headers.

use std::ffi::{c_int, c_void};

/// What functions return.
pub(crate) type Code = c_int;

pub(crate) const SUCCESS: Code = 0;
pub(crate) const INVALID_VALUE: Code = 1;
pub(crate) const NOT_SUPPORTED: Code = 3;
pub(crate) const INTERNAL: Code = 7;

/// `cudaStream_t`
pub(crate) type Stream = usize;
/// `nvshmem_team_t`
pub(crate) type Team = i32;

pub(crate) const TEAM_INVALID: Team = -1;
pub(crate) const TEAM_WORLD: Team = 0;
pub(crate) const TEAM_NODE: Team = 2;

/// `NVSHMEMX_INIT_WITH_UNIQUEID`
pub(crate) const WITH_UNIQUEID: u32 = 8;

/// `nvshmemx_init_status()`
pub(crate) const NOT_INITIALIZED: c_int = 0;
pub(crate) const BOOTSTRAPPED: c_int = 1;
pub(crate) const INITIALIZED: c_int = 2;
pub(crate) const LIMITED_MPG: c_int = 3;
pub(crate) const FULL_MPG: c_int = 4;

/// `NVSHMEM_SIGNAL_SET`, `NVSHMEM_SIGNAL_ADD`
pub(crate) const SIGNAL_SET: c_int = 9;
pub(crate) const SIGNAL_ADD: c_int = 10;

/// A struct's version word: its version, and its size.
pub(crate) const fn word(version: i32, size: i32) -> i32 {
    (version << 16) + size
}

/// `nvshmemx_uniqueid_t`
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub(crate) struct UniqueId {
    pub(crate) version: i32,
    pub(crate) internal: [u8; 124],
}

/// `nvshmemx_uniqueid_args_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UniqueIdArgs {
    pub(crate) version: i32,
    pub(crate) id: *const UniqueId,
    pub(crate) rank: c_int,
    pub(crate) ranks: c_int,
}

/// `nvshmemx_init_args_t`, version 2; in version 1 the device is not there yet.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct InitArgs {
    pub(crate) version: i32,
    pub(crate) uid: UniqueIdArgs,
    pub(crate) device: c_int,
    pub(crate) content: [u8; 92],
}

/// `nvshmemx_init_attr_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct InitAttr {
    pub(crate) version: i32,
    pub(crate) mpi_comm: *mut c_void,
    pub(crate) args: InitArgs,
}

/// `nvshmem_team_config_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct TeamConfig {
    pub(crate) version: i32,
    pub(crate) num_contexts: c_int,
    pub(crate) uniqueid: u64,
    pub(crate) padding: [u8; 48],
}

const _: () = assert!(size_of::<UniqueId>() == 128 && size_of::<UniqueIdArgs>() == 24);
const _: () = assert!(size_of::<InitArgs>() == 128 && size_of::<InitAttr>() == 144);
const _: () = assert!(size_of::<TeamConfig>() == 64);
