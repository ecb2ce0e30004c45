//! Writes `constants.rs`: every constant of the standard with its type.

use std::fmt::Write;

use anyhow::{Context, Result, bail};

use crate::groups::{self, LIMITS};
use crate::kinds::HANDLES;
use crate::model::{Model, Row};
use crate::output::{File, preamble};
use crate::table::rows;

/// Copy functions that copy the value: they are functions here, so that nothing but functions is
/// ever called, whatever number a library has for them.
const DUPLICATES: &str = r#"
/// Copies the value of an attribute as it is: what `MPI_COMM_DUP_FN` and its like stand for.
macro_rules! duplicate {
    ($($function:ident: $handle:ty;)*) => {$(
        unsafe extern "C" fn $function(
            _: $handle,
            _: c_int,
            _: *mut c_void,
            value: *mut c_void,
            copy: *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            // SAFETY: MPI passes the place of a pointer for the copy (MPI 5.0 §7.7.2).
            unsafe { copy.cast::<*mut c_void>().write(value) };
            // SAFETY: MPI passes the place of a flag.
            unsafe { flag.write(1) };
            MPI_SUCCESS
        }
    )*};
}

duplicate! {
    duplicate_comm: MPI_Comm;
    duplicate_type: MPI_Datatype;
    duplicate_win: MPI_Win;
}
"#;

/// The whole file.
pub(crate) fn file(model: &Model) -> Result<File> {
    let mut text = preamble("The constants of the standard ABI.", "mpi_abi.h");
    text.push_str("\nuse core::ffi::{c_char, c_int, c_void};\nuse core::ptr::{null_mut, without_provenance_mut};\n\n");
    text.push_str("use super::types::*;\nuse crate::types::*;\n");
    for (ty, kind) in HANDLES {
        text.push('\n');
        let about = format!("A predefined {}.", word(kind));
        for row in model.handles.iter().filter(|row| row.ty == *ty) {
            let null = row.name.ends_with("_NULL");
            let about = if null {
                format!("No {}.", word(kind))
            } else {
                about.clone()
            };
            let value = format!("{ty}(without_provenance_mut({:#x}))", row.canonical);
            constant(&mut text, &about, &row.name, ty, &value)?;
        }
        for alias in model.aliases.iter().filter(|alias| alias.ty == *ty) {
            constant(
                &mut text,
                &format!("A second name of [`{}`].", alias.of),
                &alias.name,
                ty,
                &alias.of,
            )?;
        }
    }
    for (group, rows) in &model.values {
        text.push('\n');
        for row in rows {
            let ty = if row.ty == "int" {
                "c_int"
            } else {
                row.ty.as_str()
            };
            constant(
                &mut text,
                group.about,
                &row.name,
                ty,
                &row.canonical.to_string(),
            )?;
        }
    }
    text.push('\n');
    for row in &model.limits {
        constant(
            &mut text,
            LIMITS.about,
            &row.name,
            "c_int",
            &row.canonical.to_string(),
        )?;
    }
    text.push('\n');
    for row in model.pointers.iter().chain(&model.nulls) {
        let (ty, value) = pointer(row)?;
        constant(&mut text, about(row)?, &row.name, &ty, &value)?;
    }
    text.push_str(DUPLICATES);
    text.push('\n');
    for row in &model.functions {
        let ty = format!("Option<{}>", row.ty.trim_end_matches('*'));
        let value = match (row.canonical, row.name.as_str()) {
            (0, _) => "None",
            (_, "MPI_COMM_DUP_FN" | "MPI_DUP_FN") => "Some(duplicate_comm)",
            (_, "MPI_TYPE_DUP_FN") => "Some(duplicate_type)",
            (_, "MPI_WIN_DUP_FN") => "Some(duplicate_win)",
            (_, name) => bail!("no Rust function stands for {name}"),
        };
        constant(&mut text, about(row)?, &row.name, &ty, value)?;
    }
    Ok(File::new("constants.rs", text))
}

fn constant(text: &mut String, about: &str, name: &str, ty: &str, value: &str) -> Result<()> {
    Ok(writeln!(
        text,
        "/// {about}\npub const {name}: {ty} = {value};"
    )?)
}

/// The words for a pointer or a callback.
fn about(row: &Row) -> Result<&'static str> {
    let lists = [groups::POINTERS, groups::NULLS, groups::FUNCTIONS];
    let mut rows = lists.into_iter().flat_map(rows);
    let found = rows.find(|[name, _]| *name == row.name);
    found
        .map(|[_, about]| about)
        .with_context(|| row.name.clone())
}

/// The name of a kind of handle in a sentence.
fn word(kind: &str) -> &str {
    match kind {
        "Comm" => "communicator",
        "Datatype" => "datatype",
        "Errhandler" => "error handler",
        "File" => "file",
        "Group" => "group",
        "Info" => "info object",
        "Message" => "message",
        "Op" => "operation",
        "Request" => "request",
        "Session" => "session",
        _ => "window",
    }
}

/// Type and value of a pointer in Rust.
fn pointer(row: &Row) -> Result<(String, String)> {
    if row.ty.starts_with("MPI_T_") {
        return Ok((
            row.ty.clone(),
            format!("{}({})", row.ty, address(row.canonical)),
        ));
    }
    if let Some(function) = row
        .ty
        .strip_suffix('*')
        .filter(|ty| ty.contains("_function"))
    {
        return Ok((format!("Option<{function}>"), "None".to_owned()));
    }
    let inner = match row.ty.trim_end_matches('*') {
        "void" => "c_void",
        "char" => "c_char",
        "int" => "c_int",
        "MPI_Status" => "MPI_Status",
        other => bail!("{}: no pointer to {other}", row.name),
    };
    let stars = row.ty.matches('*').count();
    Ok((
        format!("{}{inner}", "*mut ".repeat(stars)),
        address(row.canonical),
    ))
}

fn address(value: i64) -> String {
    if value == 0 {
        "null_mut()".to_owned()
    } else {
        format!("without_provenance_mut({value})")
    }
}
