//! Writes the generated part of `ranks-nccl-sys`: types, constants, and the table of functions, from NCCL's own header.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use bindgen::callbacks::{IntKind, ParseCallbacks};
use quote::{ToTokens, quote};
use syn::{ForeignItem, ForeignItemFn, Item, ItemType};

use crate::headers::compiler_headers;
use crate::output::{File, preamble};

/// Whose headers are read, below `target/mpi`.
const WHEEL: &str = "nccl-2.32.3";

/// What NCCL's headers need of CUDA's, which are not at hand: the names and sizes alone, for nothing of it is called.
const STUBS: [(&str, &str); 5] = [
    (
        "cuda.h",
        "typedef struct CUmod_st *CUmodule;\ntypedef struct CUlib_st *CUlibrary;\ntypedef int CUmemLocationType;\n",
    ),
    (
        "cuda_fp16.h",
        "typedef struct { unsigned short x; } __half;\ntypedef __half half;\n",
    ),
    (
        "cuda_bf16.h",
        "typedef struct { unsigned short x; } __nv_bfloat16;\n",
    ),
    ("cuda_fp8.h", ""),
    (
        "cuda_runtime.h",
        "#include <cuda.h>
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
#define CUDART_VERSION 13000
#define __device__
#define __host__
#define __global__
#define __constant__
#define __shared__
#define __forceinline__
typedef struct { unsigned x, y, z; } dim3;
typedef struct { double x, y; } double2;
typedef struct { int x, y, z, w; } int4;
",
    ),
];

/// What host code needs of `nccl_device.h`; the rest of it is for code that runs on GPUs.
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

/// Which Rust types the constants that are macros have.
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
    let mut types = preamble("The types and constants of NCCL.", "nccl.h");
    types.push_str("\nuse core::ffi::{c_char, c_int, c_uint, c_void};\n\n");
    let mut functions = BTreeMap::new();
    for item in syn::parse_file(&declarations(folder, &include)?)?.items {
        match item {
            Item::ForeignMod(block) => {
                for item in block.items {
                    // Each has a second name for tools that stand between, which nobody calls.
                    if let ForeignItem::Fn(function) = item {
                        functions.insert(function.sig.ident.to_string(), function);
                    }
                }
            }
            Item::Type(item) => writeln!(types, "{}", spelt(&signed(item)))?,
            item => writeln!(types, "{}", spelt(&item))?,
        }
    }
    functions.retain(|name, _| name.starts_with("nccl"));
    let text = preamble("What is generated from NCCL's header.", "nccl.h")
        + "\npub mod table;\npub mod types;\n";
    Ok(vec![
        File {
            path: "mod.rs".to_owned(),
            text,
        },
        File {
            path: "types.rs".to_owned(),
            text: types,
        },
        File {
            path: "table.rs".to_owned(),
            text: table(&functions)?,
        },
    ])
}

/// What bindgen makes of the headers.
fn declarations(folder: &Path, include: &Path) -> Result<String> {
    // Beside the folder with the wheels: in `target`.
    let stubs = folder
        .parent()
        .context("target/mpi lies in target")?
        .join("codegen/cuda-stubs");
    fs::create_dir_all(&stubs)?;
    for (name, text) in STUBS {
        fs::write(stubs.join(name), text)?;
    }
    let built = bindgen::Builder::default()
        .header_contents("all.h", "#include <nccl.h>\n#include <nccl_device/host.h>\n")
        .clang_args(["-x", "c"])
        .clang_arg(format!("-I{}", stubs.display()))
        .clang_arg(format!("-I{}", include.display()))
        .clang_arg("-isystem")
        .clang_arg(compiler_headers()?.display().to_string())
        .allowlist_file(".*/include/nccl\\.h")
        .allowlist_function(OF_THE_DEVICE_HEADER)
        .blocklist_var("NCCL_SUFFIX|NCCL_UNDEF_FLOAT")
        // Only its address is anybody's but NCCL's; the header has what is inside for code on GPUs.
        .blocklist_type("ncclWindow_vidmem|ncclSegmentWindow|ncclGinWindow_t|CUmemLocationType")
        .raw_line("#[repr(C)] #[derive(Debug, Copy, Clone)] pub struct ncclWindow_vidmem { _unused: [u8; 0] }")
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .layout_tests(false)
        .generate_comments(false)
        // Whoever knows an id can join: it is not to be printed.
        .no_debug("ncclUniqueId")
        .use_core()
        .parse_callbacks(Box::new(Macros))
        .formatter(bindgen::Formatter::None)
        .generate()
        .with_context(|| include.display().to_string())?;
    Ok(built.to_string())
}

/// An item as the generated files spell it: without paths.
fn spelt(item: &impl ToTokens) -> String {
    let text = quote!(#item).to_string();
    let text = text.replace(":: std :: os :: raw :: ", "");
    text.replace(":: core :: ffi :: ", "")
        .replace(":: core :: option :: ", "")
}

/// Enumerations are ints: what they are in C, and what is compared with ints.
fn signed(mut item: ItemType) -> ItemType {
    if spelt(&item.ty) == "c_uint" {
        item.ty = Box::new(syn::parse_quote!(c_int));
    }
    item
}

/// The table and the ages of its functions.
fn table(functions: &BTreeMap<String, ForeignItemFn>) -> Result<String> {
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
    let mut fields = String::new();
    let mut values = String::new();
    let mut names = String::new();
    for (name, function) in functions {
        let age = ages
            .get(name)
            .with_context(|| format!("which release brought {name}?"))?;
        let signature = &function.sig;
        ensure!(signature.variadic.is_none(), "{name} is variadic");
        let (arguments, result) = (&signature.inputs, &signature.output);
        let pointer = spelt(&quote!(Option<unsafe extern "C" fn(#arguments) #result>));
        writeln!(
            fields,
            "    /// Since NCCL {age}.\n    pub {name}: {pointer},"
        )?;
        writeln!(
            values,
            "            // SAFETY: the symbol is NCCL's, whose header gives it this type.\n            \
             {name}: unsafe {{ function(find(c\"{name}\")) }},"
        )?;
        writeln!(names, "    ({name:?}, {age:?}),")?;
    }
    let mut text = preamble("The functions of NCCL.", "nccl.h");
    text.push_str(
        "\nuse core::ffi::{CStr, c_char, c_int, c_uint, c_void};\nuse core::ptr::NonNull;\n\n",
    );
    text.push_str("use super::types::*;\nuse crate::function::function;\n\n");
    write!(
        text,
        "/// The functions of a library, each under its own name; `None` where the library lacks it.\n\
         #[derive(Debug, Clone, Copy)]\npub struct Table {{\n{fields}}}\n\n\
         impl Table {{\n    /// # Safety\n    /// `find` gives the addresses of an NCCL library's own functions.\n    \
         pub(crate) unsafe fn fill(mut find: impl FnMut(&'static CStr) -> Option<NonNull<c_void>>) -> Table {{\n        \
         Table {{\n{values}        }}\n    }}\n}}\n\n\
         /// Each function with the release that brought it.\npub(crate) static FUNCTIONS: &[(&str, &str)] = &[\n{names}];\n"
    )?;
    Ok(text)
}
