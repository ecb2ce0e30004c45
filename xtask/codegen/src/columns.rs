//! The three values of each constant, and `columns.rs`, which holds them.

use std::fmt::Write;

use anyhow::{Context, Result, bail, ensure};

use crate::groups::{self, Group};
use crate::headers::{Headers, Value};
use crate::kinds::HANDLES;
use crate::output::{File, preamble};
use crate::types::TOOL_HANDLES;

/// A predefined handle, or a pointer with a meaning.
#[derive(Debug)]
pub(crate) struct Row {
    pub name: String,
    /// The C type of the standard header.
    pub ty: String,
    pub canonical: i64,
    pub mpich: Option<Value>,
    pub openmpi: Option<Value>,
}

/// A constant that is another's second name.
#[derive(Debug)]
pub(crate) struct Alias {
    pub name: String,
    pub of: String,
    pub ty: String,
}

/// All constants of the standard, each in one place.
#[derive(Debug)]
pub(crate) struct Model {
    pub handles: Vec<Row>,
    pub aliases: Vec<Alias>,
    pub values: Vec<(&'static Group, Vec<Row>)>,
    pub pointers: Vec<Row>,
    pub nulls: Vec<Row>,
    pub functions: Vec<Row>,
    pub limits: Vec<Row>,
}

impl Model {
    pub(crate) fn new(headers: &Headers) -> Result<Model> {
        let mut model = Model {
            handles: Vec::new(),
            aliases: Vec::new(),
            values: groups::VALUES
                .iter()
                .map(|group| (group, Vec::new()))
                .collect(),
            pointers: Vec::new(),
            nulls: Vec::new(),
            functions: Vec::new(),
            limits: Vec::new(),
        };
        for (name, value) in &headers.canonical.values {
            model.place(row(name, value, headers)?)?;
        }
        model
            .handles
            .sort_by(|a, b| (a.canonical, &a.name).cmp(&(b.canonical, &b.name)));
        model.find_aliases()?;
        for (group, rows) in &mut model.values {
            ensure!(!rows.is_empty(), "the group {} is empty", group.name);
            rows.sort_by_key(|row| row.canonical);
        }
        model.check()?;
        Ok(model)
    }

    fn place(&mut self, row: Row) -> Result<()> {
        let name = row.name.clone();
        let mut places: Vec<&mut Vec<Row>> = Vec::new();
        if HANDLES.iter().any(|(ty, _)| *ty == row.ty) {
            places.push(&mut self.handles);
        }
        for (group, rows) in &mut self.values {
            if group.holds(&name) {
                places.push(rows);
            }
        }
        let lists = [
            (groups::POINTERS, &mut self.pointers),
            (groups::NULLS, &mut self.nulls),
            (groups::FUNCTIONS, &mut self.functions),
        ];
        places.extend(
            lists
                .into_iter()
                .filter(|(list, _)| list.iter().any(|(known, _)| *known == name))
                .map(|(_, rows)| rows),
        );
        if groups::LIMITS.holds(&name) {
            places.push(&mut self.limits);
        }
        let count = places.len();
        match places.pop() {
            Some(rows) if count == 1 => rows.push(row),
            _ => bail!("{name} belongs to {count} groups of constants; see groups.rs"),
        }
        Ok(())
    }

    /// Takes second names out of the handles; which of two is the second is in the C header.
    fn find_aliases(&mut self) -> Result<()> {
        for (second, first) in [
            ("MPI_C_COMPLEX", "MPI_C_FLOAT_COMPLEX"),
            ("MPI_LONG_LONG_INT", "MPI_LONG_LONG"),
        ] {
            let at = self
                .handles
                .iter()
                .position(|row| row.name == second)
                .context(second)?;
            let row = self.handles.remove(at);
            let of = self
                .handles
                .iter()
                .find(|other| other.name == first)
                .context(first)?;
            let same =
                row.canonical == of.canonical && row.mpich == of.mpich && row.openmpi == of.openmpi;
            ensure!(same, "{second} is not everywhere {first}");
            self.aliases.push(Alias {
                name: row.name,
                of: of.name.clone(),
                ty: row.ty,
            });
        }
        Ok(())
    }

    /// All rows but the limits, which no library need have.
    fn rows(&self) -> impl Iterator<Item = &Row> {
        let values = self.values.iter().flat_map(|(_, rows)| rows);
        self.handles
            .iter()
            .chain(values)
            .chain(&self.pointers)
            .chain(&self.nulls)
            .chain(&self.functions)
    }

    fn check(&self) -> Result<()> {
        for (at, row) in self.handles.iter().enumerate() {
            for other in &self.handles[..at] {
                ensure!(
                    row.canonical != other.canonical,
                    "{} equals {}",
                    row.name,
                    other.name
                );
                let clash = row.ty == other.ty && row.mpich == other.mpich;
                ensure!(!clash, "{} equals {} in MPICH", row.name, other.name);
            }
            ensure!(
                (0..0x300).contains(&row.canonical),
                "{} is no small number",
                row.name
            );
        }
        for row in self.rows() {
            ensure!(
                row.mpich.is_some(),
                "{} is not in the header of MPICH",
                row.name
            );
            let absent = groups::ABSENT_IN_OPEN_MPI.contains(&row.name.as_str());
            ensure!(
                row.openmpi.is_none() == absent,
                "{} and the list of what Open MPI lacks disagree",
                row.name
            );
        }
        for row in &self.nulls {
            for value in [&row.mpich, &row.openmpi].into_iter().flatten() {
                ensure!(
                    row.canonical == 0 && number(value) == Some(0),
                    "{} is not null everywhere",
                    row.name
                );
            }
        }
        for row in self.values.iter().flat_map(|(_, rows)| rows) {
            let equal =
                |value: &Option<Value>| value.as_ref().and_then(number) == Some(row.canonical);
            let must = groups::EQUAL.contains(&row.name.as_str());
            ensure!(
                !must || equal(&row.mpich) && equal(&row.openmpi),
                "{} differs",
                row.name
            );
        }
        Ok(())
    }
}

fn row(name: &str, value: &Value, headers: &Headers) -> Result<Row> {
    let (ty, canonical) = match value {
        Value::Int(value) => ("int".to_owned(), *value),
        Value::Cast(ty, value) => (ty.clone(), *value),
        Value::Symbol(symbol) => bail!("{name} of the standard is the symbol {symbol}"),
    };
    let pointer = ty.ends_with('*')
        || HANDLES
            .iter()
            .chain(TOOL_HANDLES)
            .any(|(known, _)| *known == ty);
    let known = pointer || ty == "int" || ty == "MPI_Offset";
    ensure!(known, "{name} has the unknown type {ty}");
    let mut openmpi = None;
    for header in &headers.openmpi {
        let value = header.values.get(name).cloned();
        ensure!(
            openmpi.is_none() || value.is_none() || openmpi == value,
            "{name} differs among versions of Open MPI: {openmpi:?}, {value:?}"
        );
        openmpi = openmpi.or(value);
    }
    Ok(Row {
        name: name.to_owned(),
        ty,
        canonical,
        mpich: headers.mpich.values.get(name).cloned(),
        openmpi,
    })
}

/// The integer, whatever it is cast to.
pub(crate) fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(value) | Value::Cast(_, value) => Some(*value),
        Value::Symbol(_) => None,
    }
}

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

/// Where a library has a pointer with a meaning.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Address {
    /// It has no such pointer.
    Absent,
    /// At this address; -1 is the last.
    At(isize),
    /// What the data symbol holds.
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
    /// Where the MPICH family has it.
    pub mpich: Address,
    /// Where Open MPI has it.
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
    File {
        path: "columns.rs".to_owned(),
        text,
    }
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
