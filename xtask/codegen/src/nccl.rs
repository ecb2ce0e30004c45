//! Writes the generated part of `ranks-nccl-sys`: types, constants, and the table of functions,
//! from NCCL's own header.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use bindgen::callbacks::{IntKind, ParseCallbacks};
use syn::ForeignItemFn;

use crate::library::{files_of, reader, split};
use crate::output::File;

/// Whose headers are read, below `target/mpi`.
const WHEEL: &str = "nccl-2.32.3";

/// The part of `nccl_device.h` that host code needs; the rest is for code that runs on GPUs.
const OF_THE_DEVICE_HEADER: &str =
    "ncclCommQueryProperties|ncclGet(Lsa|Peer|Multimem|LsaMultimem)DevicePointer";

/// The release that brought each function, read in `nccl.h` at the tags of its history.
const SINCE: [(&str, &str); 21] = [
    (
        "2.3",
        "GetVersion GetUniqueId GetErrorString CommInitRank CommInitAll CommDestroy CommCount CommCuDevice CommUserRank Reduce
         Bcast Broadcast AllReduce ReduceScatter AllGather GroupStart GroupEnd",
    ),
    ("2.4", "CommAbort CommGetAsyncError"),
    ("2.7", "Send Recv"),
    ("2.11", "RedOpCreatePreMulSum RedOpDestroy"),
    ("2.13", "GetLastError"),
    ("2.14", "CommInitRankConfig CommFinalize"),
    ("2.18", "CommSplit"),
    ("2.19", "MemAlloc MemFree CommRegister CommDeregister"),
    ("2.22", "GroupSimulateEnd"),
    ("2.23", "CommInitRankScalable"),
    (
        "2.27",
        "CommShrink CommWindowRegister CommWindowDeregister",
    ),
    ("2.28", "AlltoAll Gather Scatter"),
    ("2.28.7", "CommRevoke"),
    (
        "2.29",
        "CommGetUniqueId CommGrow PutSignal Signal WaitSignal WinGetUserPtr",
    ),
    (
        "2.29",
        "CommQueryProperties GetLsaDevicePointer GetPeerDevicePointer GetMultimemDevicePointer GetLsaMultimemDevicePointer",
    ),
    ("2.29.7", "CommSuspend CommResume CommMemStats"),
    (
        "2.30.4",
        "ParamBind ParamGetI8 ParamGetI16 ParamGetI32 ParamGetI64 ParamGetU8 ParamGetU16 ParamGetU32 ParamGetU64",
    ),
    (
        "2.30.4",
        "ParamGetStr ParamGet ParamGetParameter ParamGetAllParameterKeys ParamDumpAll",
    ),
    (
        "2.31",
        "AllReduceConfig BroadcastConfig ReduceConfig AllGatherConfig ReduceScatterConfig",
    ),
    ("2.31", "AlltoAllConfig GatherConfig ScatterConfig"),
    ("2.32", "SetEncryption"),
];

/// The Rust types of the constants that are macros.
#[derive(Debug)]
struct Macros;

impl ParseCallbacks for Macros {
    fn int_macro(&self, name: &str, _: i64) -> Option<IntKind> {
        Some(match name {
            "NCCL_API_MAGIC" => IntKind::UInt,
            "NCCL_UNIQUE_ID_BYTES" => IntKind::Custom {
                name: "usize",
                is_signed: false,
            },
            _ => IntKind::Int,
        })
    }
}

/// All files, from the headers below `folder`. libclang is known already.
pub(crate) fn files(folder: &Path) -> Result<Vec<File>> {
    let include = folder.join(WHEEL).join("include");
    let rust = declarations(folder, &include)?;
    let mut functions = BTreeMap::new();
    let types = split(&rust, &mut functions)?;
    // Each has a second name for tools that stand between, which nobody calls.
    functions.retain(|name, _| name.starts_with("nccl"));
    files_of("NCCL", "nccl.h", &types, &functions, &ages(&functions)?)
}

/// The output of bindgen for the headers.
fn declarations(folder: &Path, include: &Path) -> Result<String> {
    let headers = "#include <nccl.h>\n#include <nccl_device/host.h>\n";
    let built = reader(folder, include, headers, "ncclUniqueId")?
        .allowlist_file(".*/include/nccl\\.h")
        .allowlist_function(OF_THE_DEVICE_HEADER)
        .blocklist_var("NCCL_SUFFIX|NCCL_UNDEF_FLOAT")
        // Only its address is anybody's but NCCL's; the header has what is inside for code on GPUs.
        .blocklist_type("ncclWindow_vidmem|ncclSegmentWindow|ncclGinWindow_t|CUmemLocationType")
        .raw_line("#[repr(C)] #[derive(Debug, Copy, Clone)] pub struct ncclWindow_vidmem { _unused: [u8; 0] }")
        .parse_callbacks(Box::new(Macros))
        .generate()
        .with_context(|| include.display().to_string())?;
    Ok(built.to_string())
}

/// The release that brought each function.
fn ages(functions: &BTreeMap<String, ForeignItemFn>) -> Result<BTreeMap<String, &'static str>> {
    let ages: BTreeMap<String, &str> = SINCE
        .iter()
        .flat_map(|(age, names)| {
            names
                .split_whitespace()
                .map(|name| (format!("nccl{name}"), *age))
        })
        .collect();
    if let Some(name) = ages.keys().find(|name| !functions.contains_key(*name)) {
        anyhow::bail!("{name} is not in the header");
    }
    Ok(ages)
}
