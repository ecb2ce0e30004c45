//! What a caller asks of a communicator: structs of any release are read as far as they go.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::offset_of;

use super::abi::{API_MAGIC, Config, StructHead, UNDEFINED};
use super::failure::{Failure, Outcome};
use super::hooks;

/// Everything unset.
const UNSET: Config = Config {
    size: size_of::<Config>(),
    magic: API_MAGIC,
    version: 0,
    blocking: UNDEFINED,
    cga_cluster_size: UNDEFINED,
    min_ctas: UNDEFINED,
    max_ctas: UNDEFINED,
    net_name: std::ptr::null(),
    split_share: UNDEFINED,
    traffic_class: UNDEFINED,
    comm_name: std::ptr::null(),
    collnet_enable: UNDEFINED,
    cta_policy: UNDEFINED,
    shrink_share: UNDEFINED,
    nvls_ctas: UNDEFINED,
    n_channels_per_net_peer: UNDEFINED,
    nvlink_centric_sched: UNDEFINED,
    graph_usage_mode: UNDEFINED,
    num_rma_ctx: UNDEFINED,
    max_p2p_peers: UNDEFINED,
    graph_stream_ordering: UNDEFINED,
    launch_order_implicit: UNDEFINED,
    num_rma_sig: UNDEFINED,
    rma_eager_init: UNDEFINED,
    host_cft_mode: UNDEFINED,
    nvls_host_mode: UNDEFINED,
};

/// How long the struct was in releases, and where the fields end that this release knows.
const HISTORY: [(i32, usize); 9] = [
    (21400, offset_of!(Config, cga_cluster_size)),
    (21700, offset_of!(Config, split_share)),
    (21800, offset_of!(Config, traffic_class)),
    (22600, offset_of!(Config, comm_name)),
    (22700, offset_of!(Config, n_channels_per_net_peer)),
    (22800, offset_of!(Config, graph_usage_mode)),
    (22902, offset_of!(Config, max_p2p_peers)),
    (23000, offset_of!(Config, launch_order_implicit)),
    (23100, offset_of!(Config, nvls_host_mode)),
];

/// What was asked for, with texts of its own.
#[derive(Clone)]
pub(crate) struct Wishes {
    fields: Config,
    name: Option<CString>,
    net_name: Option<CString>,
}

// SAFETY: its pointers are set only in a copy that `fields` hands out, and point at its own texts.
unsafe impl Send for Wishes {}
// SAFETY: the same.
unsafe impl Sync for Wishes {}

impl Wishes {
    /// Nothing in particular.
    pub(crate) fn none() -> Self {
        Self {
            fields: UNSET,
            name: None,
            net_name: None,
        }
    }

    /// Reads what a caller has filled in, of which a library of release `release` knows only a
    /// part.
    ///
    /// # Safety
    /// `config` is null, or points at as many bytes as it says, which are those of a config; its
    /// texts are C strings.
    pub(crate) unsafe fn read(config: *const Config, release: i32) -> Outcome<Option<Self>> {
        if config.is_null() {
            return Ok(None);
        }
        // SAFETY: every release of the struct begins with these fields.
        let StructHead {
            size,
            magic,
            version,
        } = unsafe { config.cast::<StructHead>().read() };
        if magic != API_MAGIC {
            return Err(Failure::argument(
                "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER",
            ));
        }
        let known = |release: i32| {
            let before = HISTORY.iter().rev().find(|(since, _)| *since <= release);
            before.map_or(offset_of!(Config, cga_cluster_size), |&(_, end)| end)
        };
        let version = c_int::try_from(version).unwrap_or(c_int::MAX);
        let all = |of: i32| {
            if of >= 23200 {
                size_of::<Config>()
            } else {
                known(of)
            }
        };
        let length = size.min(all(release)).min(all(version));
        let mut fields = UNSET;
        // SAFETY: the caller's struct has `size` bytes, ours has at least what is known of it.
        unsafe {
            std::ptr::copy_nonoverlapping(
                config.cast::<u8>(),
                (&raw mut fields).cast::<u8>(),
                length,
            );
        }
        fields.size = size;
        // SAFETY: the caller's texts are C strings.
        let name = unsafe { text(fields.comm_name) };
        // SAFETY: the same.
        let net_name = unsafe { text(fields.net_name) };
        let wishes = Self {
            fields,
            name,
            net_name,
        };
        wishes.check()?;
        Ok(Some(wishes))
    }

    fn check(&self) -> Outcome {
        let fields = &self.fields;
        let within = |name: &str, value: c_int, least: c_int, most: c_int| {
            if value == UNDEFINED || (least..=most).contains(&value) {
                return Ok(());
            }
            Err(Failure::argument(format!(
                "Invalid config {name} attribute value {value}"
            )))
        };
        within("blocking", fields.blocking, 0, 1)?;
        within("cgaClusterSize", fields.cga_cluster_size, 0, 8)?;
        within("minCTAs", fields.min_ctas, 1, c_int::MAX)?;
        within("maxCTAs", fields.max_ctas, 1, c_int::MAX)?;
        if fields.min_ctas != UNDEFINED
            && fields.max_ctas != UNDEFINED
            && fields.min_ctas > fields.max_ctas
        {
            return Err(Failure::argument(format!(
                "Invalid config min/max channels attribute value {}/{}",
                fields.min_ctas, fields.max_ctas
            )));
        }
        within("splitShare", fields.split_share, 0, 1)?;
        within("trafficClass", fields.traffic_class, 0, c_int::MAX)?;
        within("collnetEnable", fields.collnet_enable, 0, 1)?;
        within("CTAPolicy", fields.cta_policy, 0, 3)?;
        within("shrinkShare", fields.shrink_share, 0, 1)?;
        within("nvlsCTAs", fields.nvls_ctas, 1, c_int::MAX)?;
        within("numRmaCtx", fields.num_rma_ctx, 1, c_int::MAX)?;
        within("numRmaSig", fields.num_rma_sig, 1, c_int::MAX)
    }

    pub(crate) fn is_blocking(&self) -> bool {
        hooks::blocking().unwrap_or(self.fields.blocking != 0)
    }

    /// Returns `true` if communicators that are split from this one share its resources.
    pub(crate) fn split_share(&self) -> bool {
        self.fields.split_share == 1
    }

    /// Returns `true` if one that is shrunk from this one does.
    pub(crate) fn shrink_share(&self) -> bool {
        self.fields.shrink_share == 1
    }

    /// The number of contexts and signals that one-sided operations have.
    pub(crate) fn signals(&self) -> (c_int, c_int) {
        let or_one = |value| if value == UNDEFINED { 1 } else { value };
        (
            or_one(self.fields.num_rma_ctx),
            or_one(self.fields.num_rma_sig),
        )
    }

    /// The struct, with texts that live as long as `self`.
    pub(crate) fn fields(&self) -> Config {
        let text = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |t| t.as_ptr());
        Config {
            comm_name: text(&self.name),
            net_name: text(&self.net_name),
            ..self.fields
        }
    }
}

/// # Safety
/// Null, or a C string.
unsafe fn text(text: *const c_char) -> Option<CString> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller says that it is a C string.
    Some(unsafe { CStr::from_ptr(text) }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::double::abi;

    fn read(change: impl FnOnce(&mut Config), release: i32) -> Outcome<Wishes> {
        let mut config = Config {
            version: 23203,
            ..UNSET
        };
        change(&mut config);
        // SAFETY: a whole config, whose texts are null or literals.
        unsafe { Wishes::read(&raw const config, release) }.map(Option::unwrap)
    }

    #[test]
    fn the_layout_is_that_of_the_header() {
        assert_eq!(size_of::<Config>(), 120);
        assert_eq!(offset_of!(Config, comm_name), 48);
        assert_eq!(offset_of!(Config, nvls_host_mode), 112);
    }

    #[test]
    fn fields_that_a_release_or_the_struct_does_not_know_are_unset() {
        let set = |config: &mut Config| {
            config.blocking = 0;
            config.max_ctas = 4;
            config.comm_name = c"name".as_ptr();
        };
        let all = read(set, 23203).unwrap();
        assert!(!all.is_blocking());
        assert!(!all.fields().comm_name.is_null());
        let old = read(set, 21803).unwrap();
        assert_eq!(old.fields().max_ctas, 4);
        assert!(old.fields().comm_name.is_null());
        let short = |config: &mut Config| {
            set(config);
            config.size = offset_of!(Config, max_ctas);
        };
        assert_eq!(read(short, 23203).unwrap().fields().max_ctas, UNDEFINED);
        let of_2_14 = |config: &mut Config| {
            set(config);
            config.version = 21400;
        };
        assert_eq!(read(of_2_14, 23203).unwrap().fields().max_ctas, UNDEFINED);
    }

    #[test]
    fn what_is_out_of_range_is_an_invalid_argument() {
        let changes: [fn(&mut Config); 6] = [
            |config| config.magic = 1,
            |config| config.blocking = 2,
            |config| config.min_ctas = 0,
            |config| (config.min_ctas, config.max_ctas) = (5, 4),
            |config| config.split_share = -1,
            |config| config.cga_cluster_size = 9,
        ];
        for change in changes {
            assert_eq!(
                read(change, 23203).err().unwrap().code,
                abi::INVALID_ARGUMENT
            );
        }
    }
}
