//! `cargo xtask pictures`: SVG made of the listings in pages that name a picture, of what the crates
//! depend on, and of a job and a screen that were recorded.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use ranks_harness::workspace;

use crate::Outcome;
use crate::command::succeeded;
use crate::tidy::metadata::Metadata;

mod crates;
mod screen;
mod states;
mod svg;
mod way;

/// The action on the pictures.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Writes nothing, and fails if a picture is not what would be written.
    #[arg(long)]
    check: bool,
}

/// The pages with such listings.
const PAGES: [&str; 2] = ["ARCHITECTURE.md", "docs/guide/windows.md"];
const CRATES: &str = "docs/pictures/crates.svg";
const TIMELINE: &str = "docs/pictures/timeline.svg";
/// The files of the ranks of that job.
const JOB: &str = "docs/pictures/timeline";
const DOCTOR: &str = "docs/pictures/doctor.svg";
/// The output of doctor that this draws.
const SCREEN: &str = "docs/pictures/doctor.txt";

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let root = workspace::root();
    let mut pictures = vec![
        (CRATES.to_owned(), crates::draw(&Metadata::of_workspace()?)),
        (TIMELINE.to_owned(), timeline(&root)?),
    ];
    let read = |path: &str| {
        fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
    };
    pictures.push((DOCTOR.to_owned(), screen::draw(&read(SCREEN)?)));
    for page in PAGES {
        pictures.extend(of_page(&read(page)?));
    }
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

/// The pictures that the listings of a page are, each with its path: those whose opening fence
/// names one.
fn of_page(page: &str) -> Vec<(String, String)> {
    let mut pictures = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(path) = line.strip_prefix("```text ") else {
            continue;
        };
        let listing: Vec<&str> = lines
            .by_ref()
            .take_while(|line| !line.starts_with("```"))
            .collect();
        let svg = if states::is_one(&listing) {
            states::draw(&listing)
        } else {
            way::draw(&listing)
        };
        pictures.push((path.trim().to_owned(), svg));
    }
    pictures
}

/// The drawing of the recorded job, by `ranks timeline`.
fn timeline(root: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let drawing = root.join("target/timeline.svg");
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--quiet", "--package", "ranks-cli", "--", "timeline"]);
    succeeded(cargo.arg(root.join(JOB)).arg("--output").arg(&drawing))?;
    Ok(fs::read_to_string(drawing)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_that_names_a_picture_is_one() {
        let page = "# Page\n```rust\nfn f() {}\n```\n```text docs/a.svg\nf(&x)  calls\n> g  instead\nh\n```\n\
            ```text docs/b.svg\nOne\nOther\nOne -> Other  go()\n```\n";
        let pictures = of_page(page);
        let paths: Vec<&str> = pictures.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["docs/a.svg", "docs/b.svg"]);
        assert!(
            pictures[0].1.contains(">instead</text>") && pictures[1].1.contains(">go()</text>")
        );
    }
}
