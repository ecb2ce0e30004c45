//! All constants of the standard, each with its value in the three families and in exactly one
//! group.

use anyhow::{Context, Result, bail, ensure};

use crate::groups::{self, Group};
use crate::headers::{Headers, Value};
use crate::kinds::HANDLES;
use crate::table::rows;
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
    pub values: Vec<(Group, Vec<Row>)>,
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
            values: groups::values().map(|group| (group, Vec::new())).collect(),
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
                .filter(|(list, _)| rows(list).any(|[known, _]| known == name))
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
