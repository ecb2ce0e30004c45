//! Compares the committed tables with what a C compiler makes of real headers.
//!
//! The tables are read from the committed text, so that this works, like the generator itself,
//! while the crate that they belong to does not compile.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use crate::layout;
use crate::probe::{self, Question};

/// Whose header it is; the number is the column's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Standard = 0,
    Mpich = 1,
    OpenMpi = 2,
}

/// The entry of a table for a constant in one family.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fact {
    Absent,
    Number(i64),
    Symbol(String),
}

#[derive(Debug)]
struct Row {
    name: String,
    facts: [Fact; 3],
}

/// Datatypes of optional Fortran types: a build without the type has `MPI_DATATYPE_NULL` for it.
const OPTIONAL: &str =
    "MPI_COMPLEX4 MPI_COMPLEX32 MPI_INTEGER16 MPI_LOGICAL16 MPI_REAL2 MPI_REAL16";

/// The numbers of extensions, seen from the generated folder.
const EXTENSIONS: &str = "../fault_tolerance.rs";

/// Known differences: a text that marks the header, its family, the constants, the reason.
///
/// A library with this header answers 1.0 to `MPI_Abi_get_version` and has the values of its
/// header.
const KNOWN: (&str, Family, &str, &str) = (
    "Copyright Intel Corporation",
    Family::Standard,
    "MPI_ERRORS_ABORT MPI_ERRORS_RETURN MPI_SEEK_CUR MPI_SEEK_END MPI_SEEK_SET MPI_APPNUM MPI_LASTUSEDCODE \
     MPI_UNIVERSE_SIZE",
    "Intel MPI 2021.19 has a draft of the standard ABI",
);

/// Reads the tables in `folder`, probes each header, prints a line for each and what differs.
pub(crate) fn check(folder: &Path, headers: &[std::path::PathBuf]) -> Result<ExitCode> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).with_context(|| name.to_owned());
    let mut rows = rows(&read("columns.rs")?)?;
    // What is in no standard is written by hand.
    rows.extend(self::rows(&read(EXTENSIONS)?)?);
    let lengths = lengths(&read("constants.rs")?);
    ensure!(
        rows.len() > 300 && lengths.len() == 10,
        "{} constants, {} lengths: the tables are not as expected",
        rows.len(),
        lengths.len()
    );
    ensure!(!headers.is_empty(), "no headers to compare with");
    let mut bad = false;
    for header in headers {
        let family = family(header)?;
        let report = compare(header, family, &rows, &lengths)?;
        println!(
            "{:<60} {family:?}: {} compared, {} not in this header, {} differ",
            header.display(),
            report.compared,
            report.absent,
            report.differences.len()
        );
        if !report.known.is_empty() {
            println!("    known: {} ({})", report.known.join(" "), KNOWN.3);
        }
        for difference in &report.differences {
            println!("    {difference}");
        }
        bad |= !report.differences.is_empty();
    }
    Ok(ExitCode::from(u8::from(bad)))
}

/// The family of a header, by what it says itself.
fn family(header: &Path) -> Result<Family> {
    let text = fs::read(header).with_context(|| header.display().to_string())?;
    let text = String::from_utf8_lossy(&text);
    Ok(if header.ends_with("mpi_abi.h") {
        Family::Standard
    } else if text.contains("#define OPEN_MPI") {
        Family::OpenMpi
    } else if text.contains("MPICH_NUMVERSION") || text.contains("I_MPI_NUMVERSION") {
        Family::Mpich
    } else {
        bail!("{}: a header of no known family", header.display())
    })
}

#[derive(Debug, Default)]
struct Report {
    compared: usize,
    absent: usize,
    known: Vec<String>,
    differences: Vec<String>,
}

fn compare(
    header: &Path,
    family: Family,
    rows: &[Row],
    lengths: &[(String, i64)],
) -> Result<Report> {
    let question = |row: &Row| match &row.facts[family as usize] {
        Fact::Number(_) => Question::Number,
        Fact::Symbol(_) | Fact::Absent => Question::Text,
    };
    let mut questions: Vec<_> = rows
        .iter()
        .map(|row| (row.name.clone(), question(row)))
        .collect();
    questions.extend(
        lengths
            .iter()
            .map(|(name, _)| (name.clone(), Question::Number)),
    );
    let expressions: Vec<_> = layout::expressions(family).collect();
    let texts: Vec<_> = expressions.iter().map(|(text, _)| *text).collect();
    let answers = probe::answers(header, &questions, &texts)?;
    let null = answers.get("MPI_DATATYPE_NULL");
    let known = known(header, family)?;
    let mut report = Report::default();
    for row in rows {
        let fact = &row.facts[family as usize];
        let Some(answer) = answers.get(&row.name) else {
            report.absent += 1;
            continue;
        };
        report.compared += 1;
        let optional = OPTIONAL.split(' ').any(|name| name == row.name) && Some(answer) == null;
        if agrees(fact, answer) || optional {
            continue;
        }
        if known.contains(&row.name.as_str()) {
            report.known.push(row.name.clone());
        } else {
            report.differences.push(format!(
                "{}: {fact:?} in the table, {answer} in the header",
                row.name
            ));
        }
    }
    for (name, longest) in lengths {
        let Some(answer) = answers.get(name) else {
            continue;
        };
        report.compared += 1;
        // Texts are received in buffers of the standard's length.
        if answer.parse::<i64>()? > *longest {
            report.differences.push(format!(
                "{name}: {longest} in the standard ABI, {answer} in the header"
            ));
        }
    }
    for (text, expected) in expressions {
        let answer = answers.get(text).with_context(|| text.to_owned())?;
        report.compared += 1;
        if answer.parse::<i64>()? != expected {
            report.differences.push(format!(
                "{text}: {expected} is relied upon, {answer} in the header"
            ));
        }
    }
    Ok(report)
}

/// The constants that are known to differ in this header.
fn known(header: &Path, family: Family) -> Result<Vec<&'static str>> {
    let (mark, of, names, _) = KNOWN;
    let text = fs::read(header)?;
    let marked = of == family && String::from_utf8_lossy(&text).contains(mark);
    Ok(if marked {
        names.split_whitespace().collect()
    } else {
        Vec::new()
    })
}

fn agrees(fact: &Fact, answer: &str) -> bool {
    match fact {
        // Declared, while the table knows it in no header of the family.
        Fact::Absent => false,
        Fact::Number(number) => {
            let answer = answer.parse::<i64>().unwrap_or(i64::MIN);
            // Handles of 32 bits are kept without their sign.
            answer == *number || (answer < 0 && answer & 0xffff_ffff == *number)
        }
        Fact::Symbol(symbol) => {
            let mut words = answer.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            words.any(|word| word == symbol)
        }
    }
}

/// The rows of `columns.rs`: lines `NAME: standard, MPICH, Open MPI;`.
fn rows(text: &str) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in text.lines() {
        let row = line
            .strip_prefix("    ")
            .and_then(|line| line.split_once(": "));
        let of_c = |name: &str| name.starts_with("MPI_") || name.starts_with("MPIX_");
        let Some((name, rest)) = row.filter(|(name, _)| of_c(name)) else {
            continue;
        };
        let cells: Vec<&str> = rest.trim_end_matches(';').split(", ").collect();
        let [standard, mpich, openmpi] = cells.as_slice() else {
            bail!("{line}: not three cells")
        };
        let facts = [fact(standard)?, fact(mpich)?, fact(openmpi)?];
        rows.push(Row {
            name: name.to_owned(),
            facts,
        });
    }
    Ok(rows)
}

fn fact(cell: &str) -> Result<Fact> {
    let inner = |cell: &str| -> Option<String> {
        Some(cell.split_once('(')?.1.strip_suffix(')')?.to_owned())
    };
    let inner = inner(cell).unwrap_or_else(|| cell.to_owned());
    if matches!(cell, "None" | "Address::Absent") {
        return Ok(Fact::Absent);
    }
    if let Some(symbol) = inner.strip_prefix("c\"") {
        return Ok(Fact::Symbol(symbol.trim_end_matches('"').to_owned()));
    }
    let number = match inner.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => inner.parse(),
    };
    Ok(Fact::Number(number.with_context(|| {
        format!("{cell:?} is no cell of a table")
    })?))
}

/// The lengths of texts in `constants.rs`.
fn lengths(text: &str) -> Vec<(String, i64)> {
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("pub const MPI_MAX_"));
    let pairs = lines.filter_map(|line| {
        let (name, value) = line.trim_end_matches(';').split_once(": c_int = ")?;
        Some((format!("MPI_MAX_{name}"), value.parse().ok()?))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_are_written() {
        let text = "values! {\n    MPI_A: -1, Some(3), None;\n    MPI_B: 0x101, 0x44000000, Some(c\"b\");\n\
                    \x20   MPI_C: 1, Address::In(c\"MPI_C\"), Address::At(-1);\n};\n";
        let rows = rows(text).unwrap();
        assert_eq!(rows.len(), 3);
        assert_eq!(
            rows[0].facts,
            [Fact::Number(-1), Fact::Number(3), Fact::Absent]
        );
        assert_eq!(
            rows[1].facts,
            [
                Fact::Number(0x101),
                Fact::Number(0x4400_0000),
                Fact::Symbol("b".into())
            ]
        );
        assert_eq!(
            rows[2].facts,
            [
                Fact::Number(1),
                Fact::Symbol("MPI_C".into()),
                Fact::Number(-1)
            ]
        );
    }

    #[test]
    fn a_line_of_another_form_is_an_error() {
        assert!(rows("    MPI_A: 1, 2;").is_err());
        assert!(rows("    MPI_A: 1, Some(x), None;").is_err());
    }

    #[test]
    fn agreement_is_of_values_and_of_whole_symbols() {
        assert!(agrees(&Fact::Number(0x8c00_0000), "-1946157056"));
        assert!(!agrees(&Fact::Number(1), "2"));
        assert!(agrees(
            &Fact::Symbol("ompi_a".into()),
            "((MPI_Comm) ((void *) &(ompi_a)))"
        ));
        assert!(!agrees(&Fact::Symbol("ompi_a".into()), "&(ompi_ab)"));
        assert!(!agrees(&Fact::Absent, "MPI_A"));
    }
}
