//! Writes `columns.rs`: what each constant is in the MPICH family and in Open MPI.

use std::fmt::Write;

use crate::headers::Value;
use crate::model::{Model, number};
use crate::output::{File, preamble};

const HEAD: &str = r#"
use core::ffi::{CStr, c_int};

/// A predefined handle.
#[derive(Debug)]
pub(crate) struct Handle {
    /// The C name.
    pub name: &'static str,
    /// Its value in the standard ABI, which also tells its kind.
    pub canonical: usize,
    /// Its value in the MPICH family: an `int` without its sign, a pointer for files.
    pub mpich: usize,
    /// The data symbol whose address it is in Open MPI, if any version has it.
    pub openmpi: Option<&'static CStr>,
}

/// An integer constant.
#[derive(Debug)]
pub(crate) struct Value {
    /// The C name.
    pub name: &'static str,
    /// Its value in the standard ABI.
    pub canonical: c_int,
    /// Its value in the MPICH family, if that has it.
    pub mpich: Option<c_int>,
    /// Its value in Open MPI, if that has it.
    pub openmpi: Option<c_int>,
}

/// The place of a pointer with a meaning in a library.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Address {
    /// It has no such pointer.
    Absent,
    /// At this address; -1 is the last.
    At(isize),
    /// The content of the data symbol.
    In(&'static CStr),
    /// The function of that name.
    Function(&'static CStr),
}

/// A pointer, or a predefined callback, with a meaning of its own.
#[derive(Debug)]
pub(crate) struct Pointer {
    /// The C name.
    pub name: &'static str,
    /// Its value in the standard ABI.
    pub canonical: usize,
    /// Its place in the MPICH family.
    pub mpich: Address,
    /// Its place in Open MPI.
    pub openmpi: Address,
}

macro_rules! handles {
    ($($name:ident: $canonical:literal, $mpich:literal, $openmpi:expr;)*) => {
        &[$(Handle { name: stringify!($name), canonical: $canonical, mpich: $mpich, openmpi: $openmpi }),*]
    };
}

macro_rules! values {
    ($($name:ident: $canonical:literal, $mpich:expr, $openmpi:expr;)*) => {
        &[$(Value { name: stringify!($name), canonical: $canonical, mpich: $mpich, openmpi: $openmpi }),*]
    };
}

macro_rules! pointers {
    ($($name:ident: $canonical:literal, $mpich:expr, $openmpi:expr;)*) => {
        &[$(Pointer { name: stringify!($name), canonical: $canonical, mpich: $mpich, openmpi: $openmpi }),*]
    };
}
"#;

/// The whole file.
pub(crate) fn file(model: &Model, functions: usize) -> File {
    let about = "What the constants of the standard ABI are in the MPICH family and in Open MPI.";
    let mut text = preamble(about, "mpi_abi.h and mpi.h of MPICH, and mpi.h of Open MPI");
    text.push_str("//!\n//! Each line: the name, its value in the standard ABI, in the MPICH family, in Open MPI.\n");
    text.push_str(HEAD);
    let _ = writeln!(
        text,
        "\n/// How many functions there are.\npub(crate) const FUNCTION_COUNT: usize = {functions};"
    );
    text.push_str("\n/// All predefined handles, in the order of their values.\npub(crate) const HANDLES: &[Handle] = handles! {\n");
    for row in &model.handles {
        let mpich = row.mpich.as_ref().and_then(number).unwrap_or_default();
        let _ = writeln!(
            text,
            "    {}: {:#x}, {mpich:#x}, {};",
            row.name,
            row.canonical,
            symbol(row.openmpi.as_ref())
        );
    }
    text.push_str("};\n");
    for (group, rows) in &model.values {
        let _ = writeln!(
            text,
            "\n/// {}\npub(crate) const {}: &[Value] = values! {{",
            group.about, group.name
        );
        for row in rows {
            let column = |value: &Option<Value>| match value.as_ref().and_then(number) {
                Some(value) => format!("Some({value})"),
                None => "None".to_owned(),
            };
            let _ = writeln!(
                text,
                "    {}: {}, {}, {};",
                row.name,
                row.canonical,
                column(&row.mpich),
                column(&row.openmpi)
            );
        }
        text.push_str("};\n");
    }
    let tables = [
        (
            "POINTERS",
            "Pointers with a meaning.",
            "In",
            &model.pointers,
        ),
        (
            "FUNCTIONS",
            "Predefined callbacks of attributes.",
            "Function",
            &model.functions,
        ),
    ];
    for (name, about, kind, rows) in tables {
        let _ = writeln!(
            text,
            "\n/// {about}\npub(crate) const {name}: &[Pointer] = pointers! {{"
        );
        for row in rows {
            let (mpich, openmpi) = (
                address(row.mpich.as_ref(), kind),
                address(row.openmpi.as_ref(), kind),
            );
            let _ = writeln!(
                text,
                "    {}: {}, {mpich}, {openmpi};",
                row.name, row.canonical
            );
        }
        text.push_str("};\n");
    }
    File::new("columns.rs", text)
}

fn symbol(value: Option<&Value>) -> String {
    match value {
        Some(Value::Symbol(symbol)) => format!("Some(c\"{symbol}\")"),
        _ => "None".to_owned(),
    }
}

fn address(value: Option<&Value>, kind: &str) -> String {
    match value {
        None => "Address::Absent".to_owned(),
        Some(Value::Int(value) | Value::Cast(_, value)) => format!("Address::At({value})"),
        Some(Value::Symbol(symbol)) => format!("Address::{kind}(c\"{symbol}\")"),
    }
}
