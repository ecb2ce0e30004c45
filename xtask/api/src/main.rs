//! Lists the public items of all published crates, from the JSON that rustdoc writes of them: the
//! files of `docs/api`, which a change of an interface changes too.
//!
//! `cargo xtask api` writes them, and compares them with `--check`. It is a program of its own, so
//! that the other chores need not be built where it alone runs.

#![allow(clippy::print_stdout, reason = "a command talks to its user")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// rustdoc, with its JSON.
const RUSTDOC: &str = "xtask/api/rustdoc.sh";
/// A folder for each published crate, of its name.
const CRATES: &str = "crates";
const LISTS: &str = "docs/api";

/// The format of the JSON that the pinned public-api reads.
const FORMAT: u32 = 57;

/// The text of each file, by its path.
type Lists = BTreeMap<PathBuf, String>;

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run() -> Result<ExitCode> {
    let words: Vec<String> = env::args().skip(1).collect();
    let checks = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        _ => bail!("usage: api [--check]"),
    };
    env::set_current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let crates = documented(&target.join("doc"))?;
    if let Some(format) = other_format(&crates)? {
        let why =
            format!("rustdoc writes format {format}, and the pinned public-api reads {FORMAT}");
        ensure!(checks, "{why}: pin another one in xtask/api/Cargo.toml");
        println!("left out: {why}");
        return Ok(ExitCode::SUCCESS);
    }
    let current = crates
        .iter()
        .map(|json| list(json))
        .collect::<Result<_>>()?;
    let present = present()?;
    if checks {
        Ok(compare(&present, &current))
    } else {
        write(&present, &current)
    }
}

/// The JSON of each crate, which rustdoc writes now.
fn documented(folder: &Path) -> Result<Vec<PathBuf>> {
    // The features of `cargo doc` in .ci/checks, so that what it has compiled serves here too.
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["doc", "--quiet", "--workspace", "--all-features"])
        .args(["--no-deps", "--lib"])
        .env("RUSTDOC", fs::canonicalize(RUSTDOC)?)
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json")
        .status()?;
    ensure!(status.success(), "cargo doc ended with {status}");
    let json = |entry: std::io::Result<fs::DirEntry>| {
        let name = entry?.file_name().to_string_lossy().replace('-', "_");
        Ok(folder.join(format!("{name}.json")))
    };
    fs::read_dir(CRATES)?.map(json).collect()
}

/// The head of the JSON of a crate.
#[derive(Deserialize)]
struct Head {
    format_version: u32,
}

/// The format of the JSON, if it is another than the one that can be read.
fn other_format(crates: &[PathBuf]) -> Result<Option<u32>> {
    let first = crates.first().context("there is no crate")?;
    let text = fs::read_to_string(first).with_context(|| first.display().to_string())?;
    let Head { format_version } = serde_json::from_str(&text)?;
    Ok((format_version != FORMAT).then_some(format_version))
}

/// The list of a crate as it has to be.
fn list(json: &Path) -> Result<(PathBuf, String)> {
    let items = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()
        .with_context(|| json.display().to_string())?;
    let name = json.file_stem().unwrap_or_default().to_string_lossy();
    let file = format!("{LISTS}/{}.txt", name.replace('_', "-"));
    let lines = items.items().map(|item| format!("{item}\n"));
    let lines = lines.filter(|line| !is_generated(line));
    Ok((PathBuf::from(file), lines.collect()))
}

/// Returns true for a C function of MPI. They are left out, 1600 lines: generated, and compared
/// with headers (`cargo xtask codegen --check`).
fn is_generated(item: &str) -> bool {
    let function = item.strip_prefix("pub unsafe fn ranks_mpi_sys::");
    let path = function.and_then(|function| function.split('(').next());
    path.and_then(|path| path.rsplit("::").next())
        .is_some_and(|name| name.starts_with("MPI"))
}

/// The lists that are there.
fn present() -> Result<Lists> {
    fs::create_dir_all(LISTS)?;
    let list = |entry: std::io::Result<fs::DirEntry>| {
        let file = entry?.path();
        let text = fs::read_to_string(&file)?;
        Ok((file, text))
    };
    fs::read_dir(LISTS)?.map(list).collect()
}

fn write(present: &Lists, current: &Lists) -> Result<ExitCode> {
    for file in present.keys().filter(|file| !current.contains_key(*file)) {
        fs::remove_file(file)?;
    }
    for (file, text) in current {
        fs::write(file, text)?;
    }
    println!("{} lists are written to {LISTS}", current.len());
    Ok(ExitCode::SUCCESS)
}

fn compare(present: &Lists, current: &Lists) -> ExitCode {
    let mut outcome = ExitCode::SUCCESS;
    for file in present
        .keys()
        .chain(current.keys())
        .collect::<BTreeSet<_>>()
    {
        let [old, new] = [present, current].map(|lists| lists.get(file).map_or("", |text| text));
        if old == new {
            continue;
        }
        outcome = ExitCode::FAILURE;
        println!("{} is not current: cargo xtask api", file.display());
        let [old, new] = [old, new].map(|text| text.lines().collect::<BTreeSet<_>>());
        old.difference(&new).for_each(|line| println!("-{line}"));
        new.difference(&old).for_each(|line| println!("+{line}"));
    }
    outcome
}
