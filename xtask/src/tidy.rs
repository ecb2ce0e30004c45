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

/// A rule and what there is to say about this tree.
type Check = (&'static str, fn(&Tree, &Metadata) -> Vec<Finding>);

const CHECKS: [Check; 20] = [
    (
        "nothing links a native library, and nothing runs at build time",
        links::check,
    ),
    (
        "one crate opens libraries, one folder knows the families of ABIs",
        opening::check,
    ),
    ("unsafe code lies where docs/safety.md says", |tree, _| {
        unsafety::check(tree)
    }),
    (
        "crates depend on each other as the table says",
        edges::check,
    ),
    ("modules of a crate use those below", |tree, _| {
        layers::check(tree)
    }),
    ("the top of a crate has a dozen entries", |tree, _| {
        folders::check(tree)
    }),
    ("a program for CPUs compiles no crate for GPUs", |_, _| {
        devices::check()
    }),
    ("no file is too long", |tree, _| length::check(tree)),
    ("nothing waits outside of the one wait", |tree, _| {
        waits::check(tree)
    }),
    (
        "a function that calls C is found by its C name",
        |tree, _| names::check(tree),
    ),
    ("what ARCHITECTURE.md names exists", |tree, _| {
        paths::check(tree)
    }),
    ("each promise has a test", |tree, _| promises::check(tree)),
    ("the umbrella has no code", |tree, _| umbrella::check(tree)),
    ("the umbrella leaves nothing out", |tree, _| {
        complete::check(tree)
    }),
    ("every crate has the lints of the workspace", |tree, _| {
        manifests::check(tree)
    }),
    ("every crate is fit to be published", publish::check),
    ("docs and errors begin with a noun or a verb", |tree, _| {
        docs::check(tree)
    }),
    ("the guide has all variables", |tree, _| {
        variables::check(tree)
    }),
    ("no phrase is an empty one", |tree, _| phrases::check(tree)),
    ("text is clean", |tree, _| text::check(tree)),
];

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let tree = Tree::of_workspace()?;
    let metadata = Metadata::of_workspace()?;
    let mut findings = 0;
    for (rule, check) in CHECKS {
        findings += show(rule, &check(&tree, &metadata));
    }
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
