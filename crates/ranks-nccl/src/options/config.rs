//! The options of a communicator as the library takes them.

use std::env;
use std::ffi::{CString, c_int};
use std::sync::Arc;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_nccl_sys::{
    NCCL_CTA_POLICY_DEFAULT, NCCL_CTA_POLICY_EFFICIENCY, NCCL_CTA_POLICY_ZERO, Nccl, ncclConfig_t,
};

use crate::error::not_in_library;
use crate::options::{CtaPolicy, NcclOptions, Number};

/// The variable by which users of the library have all communicators block, or none.
const BLOCKING: &str = "NCCL_COMM_BLOCKING";

/// A configuration, and the texts that it points at, which are to be kept as long as the
/// communicator is.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) native: ncclConfig_t,
    pub(crate) names: Arc<[CString]>,
}

/// In which release a setting came: `(2, 17)`.
type Since = (i32, i32);

impl Config {
    /// The configuration of the options, for a library that has all of it.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] for a setting that the library would ignore,
    /// [`ErrorKind::Argument`] for one that does not fit; as [`none_may_block`].
    pub(crate) fn of(options: &NcclOptions, nccl: &Nccl) -> Result<Self> {
        none_may_block("ncclConfig_t.blocking")?;
        let mut native = nccl.config();
        // Every call returns, so that waiting has an end here.
        native.blocking = 0;
        for &(number, value) in &options.numbers {
            let (field, name, since) = place(&mut native, number);
            known(nccl, name, since)?;
            *field = c_int::try_from(value).map_err(|_| {
                let text = format_args!("{value} is too large for a setting of NCCL");
                Error::new(ErrorKind::Argument, name, text)
            })?;
        }
        if let Some(policy) = options.cta_policy {
            known(nccl, "ncclConfig_t.CTAPolicy", (2, 27))?;
            native.CTAPolicy = match policy {
                CtaPolicy::Default => NCCL_CTA_POLICY_DEFAULT,
                CtaPolicy::Efficiency => NCCL_CTA_POLICY_EFFICIENCY,
                CtaPolicy::Zero => NCCL_CTA_POLICY_ZERO,
            };
        }
        let (net, own) = (&mut native.netName, &mut native.commName);
        let mut names = Vec::new();
        for (name, place, field, since) in [
            (&options.net_name, net, "ncclConfig_t.netName", (2, 17)),
            (&options.name, own, "ncclConfig_t.commName", (2, 27)),
        ] {
            if let Some(name) = name {
                known(nccl, field, since)?;
                let text = text(name, field)?;
                *place = text.as_ptr();
                names.push(text);
            }
        }
        let names = names.into();
        Ok(Self { native, names })
    }
}

/// An error where the environment has the library make blocking communicators, whatever their
/// configuration says. A call on one waits for other ranks within the library, with the state
/// locked, and the library has no way out of it: `ncclCommAbort` beside it frees what it works on.
///
/// The library sets the variable by its own files of settings, which it reads when an id or a
/// communicator is made: so this is asked before and after.
///
/// # Errors
/// [`ErrorKind::Argument`].
pub(crate) fn none_may_block(operation: &'static str) -> Result<()> {
    let Some(value) = env::var_os(BLOCKING) else {
        return Ok(());
    };
    if matches!(value.to_string_lossy().trim(), "" | "0") {
        return Ok(());
    }
    let value = value.display();
    let text = format_args!(
        "{BLOCKING}={value} makes blocking communicators, whose calls no time limit and no abort can end; unset it, or set it to 0, \
         also in the files of NCCL's settings (NCCL_CONF_FILE, ~/.nccl.conf, /etc/nccl.conf)"
    );
    Err(Error::new(ErrorKind::Argument, operation, text))
}

/// The place of a number, its name, and the release that has brought it.
fn place(config: &mut ncclConfig_t, number: Number) -> (&mut c_int, &'static str, Since) {
    match number {
        Number::CgaClusterSize => (
            &mut config.cgaClusterSize,
            "ncclConfig_t.cgaClusterSize",
            (2, 17),
        ),
        Number::MinCtas => (&mut config.minCTAs, "ncclConfig_t.minCTAs", (2, 17)),
        Number::MaxCtas => (&mut config.maxCTAs, "ncclConfig_t.maxCTAs", (2, 17)),
        Number::SplitShare => (&mut config.splitShare, "ncclConfig_t.splitShare", (2, 18)),
        Number::TrafficClass => (
            &mut config.trafficClass,
            "ncclConfig_t.trafficClass",
            (2, 26),
        ),
        Number::Collnet => (
            &mut config.collnetEnable,
            "ncclConfig_t.collnetEnable",
            (2, 27),
        ),
        Number::ShrinkShare => (&mut config.shrinkShare, "ncclConfig_t.shrinkShare", (2, 27)),
        Number::NvlsCtas => (&mut config.nvlsCTAs, "ncclConfig_t.nvlsCTAs", (2, 27)),
        Number::ChannelsPerNetPeer => (
            &mut config.nChannelsPerNetPeer,
            "ncclConfig_t.nChannelsPerNetPeer",
            (2, 28),
        ),
        Number::NvlinkCentricScheduling => (
            &mut config.nvlinkCentricSched,
            "ncclConfig_t.nvlinkCentricSched",
            (2, 28),
        ),
        Number::RmaContexts => (&mut config.numRmaCtx, "ncclConfig_t.numRmaCtx", (2, 29)),
        Number::MaxP2pPeers => (&mut config.maxP2pPeers, "ncclConfig_t.maxP2pPeers", (2, 30)),
        Number::RmaSignals => (&mut config.numRmaSig, "ncclConfig_t.numRmaSig", (2, 31)),
    }
}

/// An error unless the library is of that release or a later one: an older one ignores what it does
/// not know.
fn known(nccl: &Nccl, field: &'static str, (major, minor): Since) -> Result<()> {
    if nccl.version() >= major * 10_000 + minor * 100 {
        return Ok(());
    }
    Err(not_in_library(nccl, field, &format!("{major}.{minor}")))
}

fn text(name: &str, field: &'static str) -> Result<CString> {
    CString::new(name).map_err(|_| {
        let text = format_args!("{name:?} has a zero byte in it, which no name of NCCL has");
        Error::new(ErrorKind::Argument, field, text)
    })
}
