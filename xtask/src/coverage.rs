//! `cargo xtask coverage`: which functions of MPI the safe crates have, as a page.

use std::fs;
use std::process::ExitCode;

use ranks_harness::workspace;

use crate::Outcome;
use crate::tidy::tree::Tree;

pub(crate) mod aliases;
pub(crate) mod functions;
mod page;
mod reasons;

/// The action on the page.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Writes nothing, and fails if the page is not what would be written.
    #[arg(long)]
    check: bool,
}

const PAGE: &str = "docs/coverage.md";

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let tree = Tree::of_workspace()?;
    let functions = functions::functions(&tree);
    if functions.is_empty() {
        return Err(
            "no functions in crates/ranks-mpi-sys/src/generated/functions: cargo xtask codegen"
                .into(),
        );
    }
    let reasons = reasons::Reasons::read()?;
    let page = page::page(&functions, &aliases::aliases(&tree), &reasons);
    if !arguments.check {
        fs::write(workspace::root().join(PAGE), page)
            .map_err(|error| format!("{PAGE}: {error}"))?;
        println!("{PAGE} is written");
    } else if tree.text(PAGE) != Some(page.as_str()) {
        return Err(format!("{PAGE} is not current: cargo xtask coverage").into());
    }
    Ok(ExitCode::SUCCESS)
}
