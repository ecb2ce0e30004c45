//! Writes the generated part of `ranks-nvshmem-sys`: types, constants, and the table of functions,
//! from NVSHMEM's own headers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use bindgen::callbacks::{IntKind, ParseCallbacks};
use quote::quote;
use syn::{FnArg, ForeignItemFn};

use crate::library::{files_of, reader, spelt, split};
use crate::output::{File, preamble};

/// Whose headers are read, below `target/mpi`.
const WHEEL: &str = "nvshmem-3.8.0";

/// The functions that are bound.
///
/// Not among them: those that are declared and that no library exports (`nvshmemx_signal_op`); the
/// atomics, which on the host only print that they are not there; `*_g_on_stream`, whose value is
/// returned before the stream has come to it; the typed forms of what has one for bytes; queue
/// pairs, regions and collective launches, which are for programs in CUDA C++.
const FUNCTIONS: &[&str] = &[
    // Beginning, end, and who is here.
    "nvshmemx_(hostlib_init_attr|hostlib_finalize|init_status|get_uniqueid|set_attr_uniqueid_args|set_attr_mpi_comm_args)",
    "nvshmem_(my_pe|n_pes|query_thread|global_exit|info_get_version|info_get_name)",
    "nvshmemx_vendor_get_version_info",
    // Memory.
    "nvshmem_(malloc|calloc|align|free|ptr)",
    "nvshmemx_mc_ptr",
    "nvshmemx_buffer_(register|unregister|unregister_all)",
    "nvshmemx_buffer_(register_symmetric|register_symmetric_at_preferred_address|unregister_symmetric)",
    // One-sided operations.
    "nvshmem_(put|get)mem(_nbi)?",
    "nvshmemx_(put|get)mem(_nbi)?_on_stream",
    "nvshmem_i(put|get)(8|16|32|64|128)",
    "nvshmemx_i(put|get)(8|16|32|64|128)_on_stream",
    "nvshmemx_putmem_signal(_nbi)?_on_stream",
    "nvshmemx_signal_op_on_stream",
    "nvshmem_signal_fetch",
    "nvshmemx_signal_wait_until_on_stream",
    "nvshmemx_u?int(32|64)_wait_until(_all|_all_vector)?_on_stream",
    // Order.
    "nvshmem_(fence|quiet)",
    "nvshmemx_(quiet_on_stream|flush|flush_on_stream)",
    // Teams.
    "nvshmem_team_(my_pe|n_pes|get_config|translate_pe|split_strided|split_2d|destroy)",
    "nvshmemx_team_(get_uniqueid|init)",
    // Operations of all PEs.
    "nvshmem_(barrier|barrier_all|team_sync|sync_all|broadcastmem|fcollectmem|alltoallmem)",
    "nvshmemx_(barrier|barrier_all|team_sync|sync_all|broadcastmem|fcollectmem|alltoallmem)_on_stream",
    // Kernels of the user.
    "nvshmemx_(cumodule|culibrary)_(init|finalize)",
];

/// The reductions: read to check their names and types, and looked up by name when one is needed.
const REDUCTIONS: &str =
    "nvshmemx?_[a-z0-9]+_(sum|prod|min|max|and|or|xor)_(reduce|reducescatter)(_on_stream)?";

/// The values that a program needs, beside those that belong to bound types.
const CONSTANTS: &[&str] = &[
    "NVSHMEM_VENDOR_(MAJOR|MINOR|PATCH)_VERSION",
    "NVSHMEM_MAX_NAME_LEN",
    "NVSHMEM_TEAM_CONFIG_MASK_(NUM_CONTEXTS|UNIQUEID)",
];

/// The types that no bound function names.
const TYPES: &[&str] = &[
    "nvshmemx_cmp_type_t",
    "nvshmemx_init_status_t",
    "nvshmemx_signal_op_t",
    "nvshmemx_status",
    "nvshmem_team_id_t",
    "flags",
];

/// The beginnings and ends of names that NVSHMEM keeps for itself in enumerations that are bound.
const NOT_BOUND: ([&str; 1], [&str; 6]) = (
    ["NVSHMEMI_"],
    [
        "_SENTINEL",
        "_INDEX",
        "_INDEX_MAX",
        "_INIT_MAX",
        "_STATUS_INVALID",
        "_TEAMS_MIN",
    ],
);

/// The release that brought each function that came after the first that is known, read in the
/// libraries of each.
const SINCE: [(&str, &str); 3] = [
    (
        "3.3",
        "buffer_register_symmetric buffer_unregister_symmetric culibrary_init culibrary_finalize set_attr_mpi_comm_args
         team_get_uniqueid team_init",
    ),
    ("3.6", "buffer_register_symmetric_at_preferred_address"),
    ("3.7", "flush flush_on_stream"),
];

/// The oldest release of all.
const FIRST: &str = "3.1";

/// The Rust types of the constants that are macros.
#[derive(Debug)]
struct Macros;

impl ParseCallbacks for Macros {
    fn int_macro(&self, name: &str, _: i64) -> Option<IntKind> {
        Some(match name {
            "NVSHMEM_MAX_NAME_LEN" => IntKind::Custom {
                name: "usize",
                is_signed: false,
            },
            _ if name.starts_with("NVSHMEM_TEAM_CONFIG_MASK") => IntKind::Custom {
                name: "c_long",
                is_signed: true,
            },
            _ => IntKind::Int,
        })
    }
}

/// All files, from the headers below `folder`. libclang is known already.
pub(crate) fn files(folder: &Path) -> Result<Vec<File>> {
    let rust = declarations(folder, &folder.join(WHEEL).join("include"))?;
    let mut functions = BTreeMap::new();
    let types = cleaned(&split(&rust, &mut functions)?);
    let is_reduction = |name: &str| {
        name.ends_with("_reduce")
            || name.contains("_reducescatter")
            || name.ends_with("_reduce_on_stream")
    };
    let mut reductions = functions.clone();
    reductions.retain(|name, _| is_reduction(name));
    functions.retain(|name, _| !is_reduction(name));
    let mut files = files_of(
        "NVSHMEM",
        "nvshmem_host.h",
        &types,
        &functions,
        &ages(&functions)?,
    )?;
    files[0].text.push_str("pub mod reductions;\n");
    files.push(File::new("reductions.rs", elements(&reductions)?));
    Ok(files)
}

/// The types without what NVSHMEM keeps for itself, and with the type that functions take for what
/// is or-ed together.
fn cleaned(types: &str) -> String {
    let (beginnings, ends) = NOT_BOUND;
    let kept = |line: &&str| {
        let name = line
            .strip_prefix("pub const ")
            .and_then(|rest| rest.split(' ').next());
        let own = name.is_some_and(|name| {
            beginnings
                .iter()
                .any(|beginning| name.starts_with(beginning))
                || ends.iter().any(|end| name.ends_with(end))
        });
        !own && !line.starts_with("pub type flags")
    };
    let lines: Vec<&str> = types.lines().filter(kept).collect();
    lines.join("\n").replace(" : flags = ", " : c_uint = ") + "\n"
}

/// The output of bindgen for the headers.
fn declarations(folder: &Path, include: &Path) -> Result<String> {
    let headers = "#include <nvshmem_host.h>\n";
    let mut builder = reader(folder, include, headers, "nvshmemx_uniqueid_v1")?
        .parse_callbacks(Box::new(Macros))
        .allowlist_function(REDUCTIONS)
        // Of the reductions, whose types are looked at and not bound.
        .blocklist_type("__half|half|__nv_bfloat16");
    for function in FUNCTIONS {
        builder = builder.allowlist_function(function);
    }
    for constant in CONSTANTS {
        builder = builder.allowlist_var(constant);
    }
    for name in TYPES {
        builder = builder.allowlist_type(name);
    }
    let built = builder
        .generate()
        .with_context(|| include.display().to_string())?;
    Ok(built.to_string())
}

/// The release that brought each function.
fn ages(functions: &BTreeMap<String, ForeignItemFn>) -> Result<BTreeMap<String, &'static str>> {
    let mut ages: BTreeMap<String, &str> =
        functions.keys().map(|name| (name.clone(), FIRST)).collect();
    for (age, names) in SINCE {
        for name in names.split_whitespace() {
            let name = format!("nvshmemx_{name}");
            ensure!(
                ages.insert(name.clone(), age).is_some(),
                "{name} is not in the header"
            );
        }
    }
    Ok(ages)
}

/// The operations of reductions, those of bits last.
const OPERATIONS: [&str; 7] = ["sum", "prod", "min", "max", "and", "or", "xor"];

/// The types of elements that there are reductions of, after a look whether each has all forms that
/// can be.
fn elements(reductions: &BTreeMap<String, ForeignItemFn>) -> Result<String> {
    let types: BTreeSet<&str> = reductions
        .keys()
        .filter_map(|name| name.strip_prefix("nvshmem_")?.strip_suffix("_sum_reduce"))
        .collect();
    let (mut variants, mut names, mut all, mut bits) =
        (String::new(), String::new(), String::new(), Vec::new());
    let mut found = 0;
    for name in &types {
        let mut count = 0;
        for operation in OPERATIONS {
            for (prefix, suffix) in [
                ("nvshmem", "reduce"),
                ("nvshmem", "reducescatter"),
                ("nvshmemx", "reduce_on_stream"),
                ("nvshmemx", "reducescatter_on_stream"),
            ] {
                if let Some(function) =
                    reductions.get(&format!("{prefix}_{name}_{operation}_{suffix}"))
                {
                    ensure!(
                        is_like_the_others(function),
                        "{} is of another type",
                        quote!(#function)
                    );
                    count += 1;
                }
            }
        }
        ensure!(count == 28 || count == 16, "{name} has {count} reductions");
        found += count;
        let variant = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
        writeln!(variants, "    /// `{name}`.\n    {variant},")?;
        writeln!(names, "            Element::{variant} => {name:?},")?;
        write!(all, "Element::{variant}, ")?;
        if count == 28 {
            bits.push(format!("Element::{variant}"));
        }
    }
    ensure!(
        found == reductions.len(),
        "{} reductions, and {found} are known",
        reductions.len()
    );
    let text = preamble(
        "The types of elements that NVSHMEM reduces.",
        "nvshmem_host.h",
    );
    Ok(format!(
        "{text}
/// The types of elements, as the names of NVSHMEM's reductions say them: types of C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {{
{variants}}}

impl Element {{
    /// All of them.
    pub const ALL: [Element; {count}] = [{all}];

    /// As NVSHMEM's names have it.
    pub const fn name(self) -> &'static str {{
        match self {{
{names}        }}
    }}

    /// Returns `true` if its bits can be combined by and, or, xor.
    pub const fn has_bits(self) -> bool {{
        matches!(self, {bits})
    }}
}}
",
        count = types.len(),
        bits = bits.join(" | "),
    ))
}

/// Returns `true` if a reduction is `int(team, dest, source, count)`, or the same with a stream.
fn is_like_the_others(function: &ForeignItemFn) -> bool {
    let types: Vec<String> = function
        .sig
        .inputs
        .iter()
        .filter_map(|argument| match argument {
            FnArg::Typed(argument) => Some(spelt(&argument.ty)),
            FnArg::Receiver(_) => None,
        })
        .collect();
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    let heads = matches!(types.as_slice(), ["nvshmem_team_t", dest, source, "usize"] | ["nvshmem_team_t", dest, source, "usize", "cudaStream_t"]
        if dest.starts_with("* mut ") && source.starts_with("* const "));
    heads && spelt(&function.sig.output) == "-> c_int"
}
