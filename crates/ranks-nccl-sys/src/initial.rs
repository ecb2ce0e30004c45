//! Structs as NCCL wants them before a program sets what it likes: what the header has as macros.
//!
//! They bear the header's version, as a C program's do;
//! [`Nccl::struct_version`](crate::Nccl::struct_version) is the one that an older library takes.

use std::ffi::{c_char, c_int};
use std::fmt;
use std::ptr::null;

use crate::generated::types::*;

/// The value of a setting that is left to NCCL.
pub const NCCL_CONFIG_UNDEF_INT: c_int = c_int::MIN;

/// A time that is not known.
pub const NCCL_UNDEF_FLOAT: f32 = -1.0;

/// `NCCL_VERSION_CODE` as structs carry it.
const VERSION: u32 = NCCL_VERSION_CODE.unsigned_abs();

impl ncclConfig_v23100 {
    /// All settings left to NCCL (`NCCL_CONFIG_INITIALIZER`). Settings that a library does not know
    /// it ignores.
    #[doc(alias = "NCCL_CONFIG_INITIALIZER")]
    pub const fn new() -> Self {
        const UNDEF: c_int = NCCL_CONFIG_UNDEF_INT;
        ncclConfig_v23100 {
            size: size_of::<Self>(),
            magic: NCCL_API_MAGIC,
            version: VERSION,
            blocking: UNDEF,
            cgaClusterSize: UNDEF,
            minCTAs: UNDEF,
            maxCTAs: UNDEF,
            netName: null(),
            splitShare: UNDEF,
            trafficClass: UNDEF,
            commName: null(),
            collnetEnable: UNDEF,
            CTAPolicy: UNDEF,
            shrinkShare: UNDEF,
            nvlsCTAs: UNDEF,
            nChannelsPerNetPeer: UNDEF,
            nvlinkCentricSched: UNDEF,
            graphUsageMode: UNDEF,
            numRmaCtx: UNDEF,
            maxP2pPeers: UNDEF,
            graphStreamOrdering: UNDEF,
            launchOrderImplicit: UNDEF,
            numRmaSig: UNDEF,
            rmaEagerInit: UNDEF,
            hostCftMode: UNDEF,
            nvlsHostMode: UNDEF,
        }
    }
}

impl Default for ncclConfig_v23100 {
    fn default() -> Self {
        Self::new()
    }
}

impl ncclCollConfig_v23200 {
    /// All settings of one collective left to NCCL (`NCCL_COLLCONFIG_INITIALIZER`).
    #[doc(alias = "NCCL_COLLCONFIG_INITIALIZER")]
    pub const fn new() -> Self {
        const UNDEF: c_int = NCCL_CONFIG_UNDEF_INT;
        ncclCollConfig_v23200 {
            size: size_of::<Self>(),
            magic: NCCL_API_MAGIC,
            version: VERSION,
            ext: std::ptr::null_mut(),
            minCTAs: UNDEF,
            maxCTAs: UNDEF,
            nvlsCTAs: UNDEF,
            cgaClusterSize: UNDEF,
            algSelection: null(),
            forceAlgSelection: 1,
            CTAPolicy: UNDEF,
            userProfilerTag: 0,
            launchCompletionEvent: std::ptr::null_mut(),
        }
    }
}

impl Default for ncclCollConfig_v23200 {
    fn default() -> Self {
        Self::new()
    }
}

impl ncclSimInfo_v22200 {
    /// Nothing known yet (`NCCL_SIM_INFO_INITIALIZER`).
    #[doc(alias = "NCCL_SIM_INFO_INITIALIZER")]
    pub const fn new() -> Self {
        ncclSimInfo_v22200 {
            size: size_of::<Self>(),
            magic: 0x7468_5283,
            version: VERSION,
            estimatedTime: NCCL_UNDEF_FLOAT,
        }
    }
}

impl Default for ncclSimInfo_v22200 {
    fn default() -> Self {
        Self::new()
    }
}

impl ncclEncryptionConfig_v23200 {
    /// No encryption (`NCCL_ENCRYPTION_CONFIG_INITIALIZER`).
    #[doc(alias = "NCCL_ENCRYPTION_CONFIG_INITIALIZER")]
    pub const fn new() -> Self {
        ncclEncryptionConfig_v23200 {
            size: size_of::<Self>(),
            magic: NCCL_API_MAGIC,
            version: VERSION,
            mode: NCCL_ENCRYPTION_MODE_NONE,
            psk: null(),
        }
    }
}

impl Default for ncclEncryptionConfig_v23200 {
    fn default() -> Self {
        Self::new()
    }
}

impl ncclCommProperties {
    /// A place for the properties of a communicator (`NCCL_COMM_PROPERTIES_INITIALIZER`).
    #[doc(alias = "NCCL_COMM_PROPERTIES_INITIALIZER")]
    pub const fn new() -> Self {
        ncclCommProperties {
            size: size_of::<Self>(),
            magic: NCCL_API_MAGIC,
            version: VERSION,
            rank: 0,
            nRanks: 0,
            cudaDev: 0,
            nvmlDev: 0,
            deviceApiSupport: false,
            multimemSupport: false,
            ginType: NCCL_GIN_TYPE_NONE,
            nLsaTeams: 0,
            hostRmaSupport: false,
            railedGinType: NCCL_GIN_TYPE_NONE,
            commHash: 0,
            ginMinStride: 0,
            ginConnectionType: NCCL_GIN_CONNECTION_NONE,
            ginSupport: [false; 64],
            devCommRuntimeVersionSize: 0,
            cftSupport: false,
            cftMulticastSupport: false,
            cftCountedSupport: false,
        }
    }
}

impl Default for ncclCommProperties {
    fn default() -> Self {
        Self::new()
    }
}

impl ncclUniqueId {
    /// An id of zeros, to be filled.
    pub const fn zeroed() -> Self {
        ncclUniqueId {
            internal: [0; NCCL_UNIQUE_ID_BYTES],
        }
    }

    /// The id whose bytes another rank has sent.
    pub const fn from_bytes(bytes: [u8; NCCL_UNIQUE_ID_BYTES]) -> Self {
        let mut id = ncclUniqueId::zeroed();
        let mut at = 0;
        while at < NCCL_UNIQUE_ID_BYTES {
            id.internal[at] = c_char::from_ne_bytes([bytes[at]]);
            at += 1;
        }
        id
    }

    /// Its bytes. Whoever has them can join.
    pub fn to_bytes(&self) -> [u8; NCCL_UNIQUE_ID_BYTES] {
        self.internal.map(|byte| byte.to_ne_bytes()[0])
    }
}

impl fmt::Debug for ncclUniqueId {
    /// Not the bytes, which do not belong into a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ncclUniqueId").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_have_the_sizes_of_the_header() {
        assert_eq!(size_of::<ncclConfig_t>(), 120);
        assert_eq!(size_of::<ncclUniqueId>(), 128);
        assert_eq!(ncclConfig_t::new().version, 23_203);
    }

    #[test]
    fn an_id_keeps_its_bytes_and_does_not_show_them() {
        let mut bytes = [0; NCCL_UNIQUE_ID_BYTES];
        bytes[0] = 0xff;
        bytes[127] = 77;
        let id = ncclUniqueId::from_bytes(bytes);
        assert_eq!(id.to_bytes(), bytes);
        assert_eq!(format!("{id:?}"), "ncclUniqueId { .. }");
    }
}
