//! Structs as NVSHMEM wants them before a program sets what it likes: what the headers have as
//! macros.

use std::ffi::{c_char, c_int};
use std::fmt;
use std::ptr::null_mut;

use crate::Version;
use crate::generated::types::*;

/// The length of an id that a job begins with.
pub const UNIQUEID_BYTES: usize = size_of::<nvshmemx_uniqueid_t>();

/// The release from which on the attributes say the device.
const ATTR_V2: Version = Version::new(3, 5);

/// The release from which on the settings of a team say its id.
const TEAM_CONFIG_V2: Version = Version::new(3, 3);

/// The first word of a struct: which layout it has, and its size.
const fn word<T>(layout: c_int) -> c_int {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "sizes of structs of some bytes"
    )]
    let size = size_of::<T>() as c_int;
    (layout << 16) + size
}

/// The attributes that a library of that release wants, without an id
/// (`NVSHMEMX_INIT_ATTR_INITIALIZER`, and the `V1` of it).
pub(crate) const fn attr(has_device: bool) -> nvshmemx_init_attr_t {
    let layout = if has_device { 2 } else { 1 };
    nvshmemx_init_attr_t {
        version: word::<nvshmemx_init_attr_t>(layout),
        mpi_comm: null_mut(),
        args: nvshmemx_init_args_t {
            version: word::<nvshmemx_init_args_t>(layout),
            uid_args: nvshmemx_uniqueid_args_t {
                version: word::<nvshmemx_uniqueid_args_t>(1),
                id: null_mut(),
                myrank: -1,
                nranks: -1,
            },
            // No part of the first layout, where zeros follow the id.
            cuda_device_id: if has_device { -1 } else { 0 },
            content: [0; 92],
        },
    }
}

/// Returns whether the attributes for that release say the device.
pub(crate) fn attr_has_device(version: Version) -> bool {
    version >= ATTR_V2
}

/// The settings of a team that a library of that release wants (`NVSHMEM_TEAM_CONFIG_INITIALIZER`).
pub(crate) fn team_config(version: Version) -> nvshmem_team_config_t {
    let has_id = version >= TEAM_CONFIG_V2;
    nvshmem_team_config_t {
        version: word::<nvshmem_team_config_t>(if has_id { 2 } else { 1 }),
        num_contexts: -1,
        uniqueid: if has_id { u64::MAX } else { 0 },
        padding: [0; 48],
    }
}

impl nvshmemx_uniqueid_v1 {
    /// An id of zeros, to be filled.
    #[doc(alias = "NVSHMEMX_UNIQUEID_INITIALIZER")]
    pub const fn zeroed() -> Self {
        nvshmemx_uniqueid_t {
            version: word::<nvshmemx_uniqueid_t>(1),
            internal: [0; 124],
        }
    }

    /// The id whose bytes another PE has sent.
    pub fn from_bytes(bytes: [u8; UNIQUEID_BYTES]) -> Self {
        let (version, internal) = bytes.split_at(size_of::<c_int>());
        let mut id = nvshmemx_uniqueid_t::zeroed();
        if let Ok(version) = version.try_into() {
            id.version = c_int::from_ne_bytes(version);
        }
        for (to, byte) in id.internal.iter_mut().zip(internal) {
            *to = c_char::from_ne_bytes([*byte]);
        }
        id
    }

    /// Its bytes. Whoever has them can join.
    pub fn to_bytes(&self) -> [u8; UNIQUEID_BYTES] {
        let mut bytes = [0; UNIQUEID_BYTES];
        let internal = self.internal.iter().map(|byte| byte.to_ne_bytes()[0]);
        let all = self.version.to_ne_bytes().into_iter().chain(internal);
        for (to, byte) in bytes.iter_mut().zip(all) {
            *to = byte;
        }
        bytes
    }
}

impl fmt::Debug for nvshmemx_uniqueid_v1 {
    /// Not the bytes, which do not belong into a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("nvshmemx_uniqueid_t")
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    const OLD: Version = Version {
        major: 3,
        minor: 4,
        patch: 5,
    };

    #[test]
    fn structs_have_the_sizes_and_places_of_the_headers() {
        assert_eq!(UNIQUEID_BYTES, 128);
        assert_eq!(size_of::<nvshmemx_init_attr_t>(), 144);
        assert_eq!(offset_of!(nvshmemx_init_attr_t, args), 16);
        assert_eq!(offset_of!(nvshmemx_init_args_t, cuda_device_id), 32);
        assert_eq!(offset_of!(nvshmemx_init_args_t, content), 36);
        assert_eq!(size_of::<nvshmem_team_config_t>(), 64);
    }

    #[test]
    fn words_say_layout_and_size() {
        let new = attr(attr_has_device(Version::new(3, 5)));
        assert_eq!((new.version, new.args.version), (0x0002_0090, 0x0002_0080));
        assert_eq!(new.args.uid_args.version, 0x0001_0018);
        assert_eq!(new.args.cuda_device_id, -1);
        let old = attr(attr_has_device(OLD));
        assert_eq!((old.version, old.args.version), (0x0001_0090, 0x0001_0080));
        assert_eq!(old.args.cuda_device_id, 0);
        assert_eq!(team_config(OLD).version, 0x0002_0040);
        assert_eq!(team_config(OLD).uniqueid, u64::MAX);
        assert_eq!(team_config(Version::new(3, 2)).version, 0x0001_0040);
        assert_eq!(nvshmemx_uniqueid_t::zeroed().version, 0x0001_0080);
    }

    #[test]
    fn an_id_keeps_its_bytes_and_does_not_show_them() {
        let mut bytes = [0; UNIQUEID_BYTES];
        bytes[2] = 1;
        bytes[4] = 0xff;
        bytes[127] = 77;
        let id = nvshmemx_uniqueid_t::from_bytes(bytes);
        assert_eq!(id.version, 0x0001_0000);
        assert_eq!(id.to_bytes(), bytes);
        assert_eq!(format!("{id:?}"), "nvshmemx_uniqueid_t { .. }");
    }
}
