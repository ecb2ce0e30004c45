//! `cargo xtask pictures`: SVG made of the listings in ARCHITECTURE.md that name a picture, and of
//! what the crates depend on.

use std::fs;
use std::process::ExitCode;

use ranks_harness::workspace;

use crate::Outcome;
use crate::tidy::metadata::Metadata;

mod crates;
mod svg;
mod way;

/// The action on the pictures.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Writes nothing, and fails if a picture is not what would be written.
    #[arg(long)]
    check: bool,
}

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const CRATES: &str = "docs/pictures/crates.svg";

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let root = workspace::root();
    let text = fs::read_to_string(root.join(ARCHITECTURE))
        .map_err(|error| format!("{ARCHITECTURE}: {error}"))?;
    let mut pictures = vec![(CRATES.to_owned(), crates::draw(&Metadata::of_workspace()?))];
    pictures.extend(way::draw_all(&text));
    for (path, svg) in pictures {
        let file = root.join(&path);
        if !arguments.check {
            fs::write(&file, svg).map_err(|error| format!("{path}: {error}"))?;
            println!("{path} is written");
        } else if fs::read_to_string(&file).unwrap_or_default() != svg {
            return Err(format!("{path} is not current: cargo xtask pictures").into());
        }
    }
    Ok(ExitCode::SUCCESS)
}
