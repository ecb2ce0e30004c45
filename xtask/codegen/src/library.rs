//! The generated part of a crate that finds a GPU library at run time: types, constants, and a
//! table of functions of which each may be missing.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use quote::{ToTokens, quote};
use syn::{ForeignItem, ForeignItemFn, Item, ItemType};

use crate::output::{File, preamble};
use crate::{cuda_stubs, headers};

/// Bindgen for headers in `include`, beside which those of CUDA are in `folder`. An id by which
/// anybody can join is not to be printed.
pub(crate) fn reader(
    folder: &Path,
    include: &Path,
    text: &str,
    id: &str,
) -> Result<bindgen::Builder> {
    let stubs = cuda_stubs::written(folder)?;
    let reader = headers::reader(text, &[&stubs, include])?;
    Ok(reader.clang_args(["-x", "c"]).no_debug(id).use_core())
}

/// Takes bindgen's text apart: types and constants as text, functions by name.
pub(crate) fn split(rust: &str, functions: &mut BTreeMap<String, ForeignItemFn>) -> Result<String> {
    let mut types = String::new();
    for item in syn::parse_file(rust)?.items {
        match item {
            Item::ForeignMod(block) => {
                for item in block.items {
                    if let ForeignItem::Fn(function) = item {
                        functions.insert(function.sig.ident.to_string(), function);
                    }
                }
            }
            Item::Type(item) => writeln!(types, "{}", spelt(&signed(item)))?,
            item => writeln!(types, "{}", spelt(&item))?,
        }
    }
    Ok(types)
}

/// The files of a library that is called `what`.
pub(crate) fn files_of(
    what: &str,
    header: &str,
    types: &str,
    functions: &BTreeMap<String, ForeignItemFn>,
    ages: &BTreeMap<String, &str>,
) -> Result<Vec<File>> {
    let text = preamble(&format!("What is generated from {what}'s header."), header)
        + "\npub mod table;\npub mod types;\n";
    let used = imports(types, &["c_char", "c_int", "c_long", "c_uint", "c_void"]);
    let types = preamble(&format!("The types and constants of {what}."), header)
        + &format!("\nuse core::ffi::{{{used}}};\n\n{types}");
    Ok(vec![
        File::new("mod.rs", text),
        File::new("types.rs", types),
        File::new("table.rs", table(what, header, functions, ages)?),
    ])
}

/// Those of the names that a text has.
fn imports(text: &str, names: &[&str]) -> String {
    let mut used = names.to_vec();
    used.retain(|name| text.contains(name));
    used.join(", ")
}

/// An item as the generated files spell it: without paths.
pub(crate) fn spelt(item: &impl ToTokens) -> String {
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
fn table(
    what: &str,
    header: &str,
    functions: &BTreeMap<String, ForeignItemFn>,
    ages: &BTreeMap<String, &str>,
) -> Result<String> {
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
            "    /// Since {what} {age}.\n    pub {name}: {pointer},"
        )?;
        writeln!(
            values,
            "            // SAFETY: the symbol is {what}'s, whose header gives it this type.\n            \
             {name}: unsafe {{ function(find(c\"{name}\")) }},"
        )?;
        writeln!(names, "    ({name:?}, {age:?}),")?;
    }
    let mut text = preamble(&format!("The functions of {what}."), header);
    let used = imports(&fields, &["c_char", "c_int", "c_long", "c_uint"]);
    write!(
        text,
        "\nuse core::ffi::{{CStr, {used}, c_void}};\nuse core::ptr::NonNull;\n\n\
         use super::types::*;\nuse ranks_load::function;\n\n\
         /// The functions of a library, each under its own name; `None` where the library lacks it.\n\
         #[derive(Debug, Clone, Copy)]\npub struct Table {{\n{fields}}}\n\n\
         impl Table {{\n    /// # Safety\n    /// `find` gives the addresses of an {what} library's own functions.\n    \
         pub(crate) unsafe fn fill(mut find: impl FnMut(&'static CStr) -> Option<NonNull<c_void>>) -> Table {{\n        \
         Table {{\n{values}        }}\n    }}\n}}\n\n\
         /// Each function with the release that brought it.\npub(crate) static FUNCTIONS: &[(&str, &str)] = &[\n{names}];\n",
    )?;
    Ok(text)
}
