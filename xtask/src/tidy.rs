//! `cargo xtask tidy`: the rules of this tree that no compiler knows, each checked by one module.

use std::process::{Command, ExitCode};

use ranks_harness::workspace;

use crate::Outcome;

pub(crate) mod code;
mod complete;
mod devices;
mod docs;
mod edges;
mod finding;
mod folders;
mod layers;
mod length;
mod links;
mod manifests;
pub(crate) mod metadata;
mod names;
mod opening;
mod paths;
mod phrases;
mod promises;
mod publish;
mod table;
mod text;
pub(crate) mod tree;
mod umbrella;
mod unsafety;
mod variables;
mod waits;

use finding::Finding;
use metadata::Metadata;
use tree::Tree;

/// The checks to leave out.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Does not compare the generated files with what the generator writes, which needs python3 and
    /// pip.
    #[arg(long)]
    no_codegen: bool,
}

/// A rule about files, and what there is to say about those of this tree.
type OfFiles = (&'static str, fn(&Tree) -> Vec<Finding>);

/// A rule about packages.
type OfPackages = (&'static str, fn(&Tree, &Metadata) -> Vec<Finding>);

const OF_FILES: [OfFiles; 15] = [
    (
        "unsafe code lies where docs/safety.md says",
        unsafety::check,
    ),
    ("modules of a crate use those below", layers::check),
    ("the top of a crate has a dozen entries", folders::check),
    ("no file is too long", length::check),
    ("nothing waits outside of the one wait", waits::check),
    (
        "a function that calls C is found by its C name",
        names::check,
    ),
    ("what ARCHITECTURE.md names exists", paths::check),
    ("each promise has a test", promises::check),
    ("the umbrella has no code", umbrella::check),
    ("the umbrella leaves nothing out", complete::check),
    (
        "every crate has the lints of the workspace",
        manifests::check,
    ),
    ("docs and errors begin with a noun or a verb", docs::check),
    ("the guide has all variables", variables::check),
    ("no phrase is an empty one", phrases::check),
    ("text is clean", text::check),
];

const OF_PACKAGES: [OfPackages; 4] = [
    (
        "nothing links a native library, and nothing runs at build time",
        links::check,
    ),
    (
        "one crate opens libraries, one folder knows the families of ABIs",
        opening::check,
    ),
    (
        "crates depend on each other as the table says",
        edges::check,
    ),
    ("every crate is fit to be published", publish::check),
];

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let tree = Tree::of_workspace()?;
    let metadata = Metadata::of_workspace()?;
    let mut findings = 0;
    for (rule, check) in OF_FILES {
        findings += show(rule, &check(&tree));
    }
    for (rule, check) in OF_PACKAGES {
        findings += show(rule, &check(&tree, &metadata));
    }
    let rule = "a program for CPUs compiles no crate for GPUs";
    findings += show(rule, &devices::check());
    findings += run("docs/coverage.md is current", &["coverage", "--check"])?;
    if arguments.no_codegen {
        println!("left out  generated files are what the generator writes");
    } else {
        findings += run(
            "generated files are what the generator writes",
            &["codegen", "--check"],
        )?;
    }
    for advice in length::advice(&tree) {
        println!("advice    {advice}");
    }
    match findings {
        0 => Ok(ExitCode::SUCCESS),
        1 => Err("1 finding".into()),
        _ => Err(format!("{findings} findings").into()),
    }
}

/// Shows a rule with its findings; returns how many there are.
fn show(rule: &str, findings: &[Finding]) -> usize {
    println!(
        "{}  {rule}",
        if findings.is_empty() {
            "ok      "
        } else {
            "FINDINGS"
        }
    );
    for finding in findings {
        println!("{finding}");
    }
    findings.len()
}

/// A rule that another command of this program checks.
fn run(rule: &str, arguments: &[&str]) -> Result<usize, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args(arguments)
        .current_dir(workspace::root())
        .output()
        .map_err(|error| format!("cargo xtask {}: {error}", arguments.join(" ")))?;
    if output.status.success() {
        return Ok(show(rule, &[]));
    }
    println!("FINDINGS  {rule}");
    let said = [output.stdout, output.stderr].concat();
    for line in String::from_utf8_lossy(&said).lines() {
        println!("    {line}");
    }
    Ok(1)
}
