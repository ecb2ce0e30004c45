//! Writes the generated part of `ranks-mpi-sys` from the headers of MPI libraries.
//!
//! Called by `cargo xtask codegen`, which provisions the headers and libclang below `target/mpi`.

#![allow(clippy::print_stdout, reason = "a command talks to its user")]

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

mod classes;
mod columns;
mod constants;
mod defines;
mod families;
mod functions;
mod groups;
mod headers;
mod kinds;
mod output;
mod types;

const USAGE: &str = "usage: codegen --headers <target/mpi> --out <generated folder> [--check]";

struct Arguments {
    headers: PathBuf,
    out: PathBuf,
    check: bool,
}

fn arguments() -> Result<Arguments> {
    let (mut headers, mut out, mut check) = (None, None, false);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--headers" => headers = words.next().map(PathBuf::from),
            "--out" => out = words.next().map(PathBuf::from),
            "--check" => check = true,
            other => bail!("unknown argument {other:?}\n{USAGE}"),
        }
    }
    Ok(Arguments {
        headers: headers.context(USAGE)?,
        out: out.context(USAGE)?,
        check,
    })
}

fn run() -> Result<ExitCode> {
    let arguments = arguments()?;
    let headers = headers::Headers::read(&arguments.headers)?;
    let model = columns::Model::new(&headers)?;
    let mut files = functions::files(&headers)?;
    files.push(types::file(&headers.canonical)?);
    files.push(constants::file(&model)?);
    files.push(columns::file(&model, headers.canonical.functions.len()));
    files.push(output::root());
    let files = output::formatted(files)?;
    if arguments.check {
        output::compare(&files, &arguments.out)
    } else {
        output::write(&files, &arguments.out)
    }
}

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
