//! Writes `functions/`: one macro invocation a family, one line a function.

use std::fmt::Write;

use anyhow::{Result, ensure};

use crate::called::called;
use crate::classes::{check_lists, class, has_no_code};
use crate::families::{families, family};
use crate::headers::{Function, Headers};
use crate::kinds::{Kind, kind};
use crate::output::{File, preamble};

/// Words of Rust that C uses as names.
const KEYWORDS: &[&str] = &[
    "as", "fn", "impl", "in", "loop", "match", "mod", "move", "ref", "self", "type", "use", "where",
];

/// All files of the folder.
pub(crate) fn files(headers: &Headers) -> Result<Vec<File>> {
    let functions = &headers.canonical.functions;
    let names: Vec<&str> = functions
        .iter()
        .map(|function| function.name.as_str())
        .collect();
    check_lists(&names)?;
    let called = called()?;
    let mut files = Vec::new();
    let mut used = Vec::new();
    let mut hot = Vec::new();
    for [name, about, _] in families() {
        let mut text = preamble(&format!("Functions of MPI: {about}."), "mpi_abi.h");
        text.push_str("\nuse super::scope::*;\n\nfunctions! {\n");
        for function in functions {
            if family(&function.name)? == name {
                let is_called = called.contains(&function.name);
                text.push_str(&entry(
                    headers, function, name, &names, is_called, &mut used,
                )?);
            }
        }
        text.push_str("}\n");
        if text.contains("\n    hot ") {
            hot.push(name);
        }
        files.push(File::new(format!("functions/{name}.rs"), text));
    }
    used.sort();
    used.dedup();
    files.push(File::new("functions/mod.rs", root(&used, &hot)));
    Ok(files)
}

/// The lines of one function.
fn entry(
    headers: &Headers,
    function: &Function,
    family: &str,
    names: &[&str],
    is_called: bool,
    used: &mut Vec<String>,
) -> Result<String> {
    let name = &function.name;
    let kinds = function
        .arguments
        .iter()
        .map(|argument| kind(function, argument))
        .collect::<Result<Vec<Kind>>>()?;
    let class = class(function, family, &kinds, names)?;
    let since = headers.since(name);
    let result = if has_no_code(name) {
        format!("Same<{}>", function.result)
    } else {
        ensure!(
            function.result == "c_int",
            "{name} returns {}",
            function.result
        );
        "Code".to_owned()
    };
    ensure!(
        !function.prototype.is_empty(),
        "{name}: no prototype on one line"
    );
    let mut arguments = Vec::new();
    for (argument, kind) in function.arguments.iter().zip(&kinds) {
        let underscore = if KEYWORDS.contains(&argument.name.as_str()) {
            "_"
        } else {
            ""
        };
        arguments.push(format!("{}{underscore}: {}", argument.name, kind.text));
        if !kind.is_same() {
            used.push(kind.text.clone());
        }
    }
    let mut text = String::new();
    let (prototype, note) = function
        .prototype
        .split_once(';')
        .unwrap_or((&function.prototype, ""));
    let age = if since == "3.1" {
        "MPI 3.1 or earlier".to_owned()
    } else {
        format!("MPI {since}")
    };
    let note = note
        .trim()
        .trim_start_matches("/*")
        .trim_end_matches("*/")
        .trim()
        .replace(": MPI-", " since MPI ");
    let note = if note.is_empty() {
        String::new()
    } else {
        format!("; {note}")
    };
    writeln!(text, "    /// `{prototype}` ({age}{note})")?;
    if !is_called {
        text.push_str("    #[cfg(feature = \"whole\")]\n");
    }
    writeln!(
        text,
        "    {class} {since:?} {name}({}) -> {result};",
        arguments.join(", ")
    )?;
    Ok(text)
}

fn root(used: &[String], hot: &[&str]) -> String {
    let mut text = preamble(
        "The functions of MPI, by family, and the kind of each argument.",
        "mpi_abi.h",
    );
    text.push_str("//!\n//! Kinds in use besides `Same<T>` and `Code`; `Out…` is a pointer to one value, which may also go in:\n//!\n");
    for kind in used {
        let _ = writeln!(text, "//! * `{kind}`{}", about(kind));
    }
    text.push_str(SCOPE);
    for [name, ..] in families() {
        let _ = writeln!(text, "pub mod {name};");
    }
    text.push('\n');
    for [name, ..] in families() {
        let _ = writeln!(text, "pub use {name}::*;");
    }
    text.push_str("\n/// The functions that take and give values in the library's own form.\npub mod native {\n");
    for name in hot {
        let _ = writeln!(text, "    pub use super::{name}::native::*;");
    }
    text.push_str(
        "}\n\n/// The table of each family.\npub(crate) static FAMILIES: &[&[Function]] = &[\n",
    );
    for [name, ..] in families() {
        let _ = writeln!(text, "    {name}::FUNCTIONS,");
    }
    text.push_str("];\n");
    text
}

/// The names in the lists and in what the macro `functions!` makes of them. Each function has a
/// module of its own that sees all of them, and so there are no others among them.
const SCOPE: &str = "
use crate::function::Function;

/// The names in the lists of functions, and in what is made of them.
mod scope {
    pub(super) use core::ffi::{c_char, c_double, c_int, c_void};

    pub(super) use crate::abi::Abi;
    pub(super) use crate::abi::kinds::*;
    pub(super) use crate::abi::large::Shrink;
    pub(super) use crate::abi::memory::*;
    pub(super) use crate::abi::mpich::Mpich;
    pub(super) use crate::abi::numbers::*;
    pub(super) use crate::abi::openmpi::OpenMpi;
    pub(super) use crate::fill::*;
    pub(super) use crate::function::{Function, Returned};
    pub(super) use crate::generated::types::*;
    pub(super) use crate::slot::Slot;
    pub(super) use crate::types::*;
}

";

/// The facts that the name of a kind leaves unsaid.
fn about(kind: &str) -> &'static str {
    match kind {
        "Assert" | "FileMode" => ": bits",
        "AttachBuf" => ": `void *`, may be `MPI_BUFFER_AUTOMATIC`",
        "Buf" => ": `void *`, may be `MPI_IN_PLACE`",
        "ConstBuf" => ": `const void *`, may be `MPI_IN_PLACE`",
        "Displacement" => ": `MPI_Offset`, may be `MPI_DISPLACEMENT_CURRENT`",
        "InOutStatus" => ": `MPI_Status *` that is changed, never ignored",
        "InStatus" => ": `const MPI_Status *`",
        "OutAttachBuf" => ": the place of a `void *`, which may become `MPI_BUFFER_AUTOMATIC`",
        "OutErrorClass" => ": dynamic classes pass unchanged",
        "OutStatus" => ": `MPI_Status *` that is written, may be `MPI_STATUS_IGNORE`",
        "OutTopology" => ": `MPI_UNDEFINED` passes unchanged",
        "SplitType" => ": `MPI_UNDEFINED` passes unchanged",
        "ThreadLevel" => ": the level that is asked for",
        "ToolPvar" => ": `MPI_T_pvar_handle`, may be `MPI_T_PVAR_ALL_HANDLES`",
        "ToolSafety" => ": `MPI_T_cb_safety` by value",
        "OutToolOrdering" => ": `MPI_T_source_order *`, may be null",
        kind if kind.starts_with("OutTool") => ": may be null",
        _ => "",
    }
}
