//! The programs of an archive, the command and those of the guide's page of examples, as one crate:
//! what they have in common is built once.

use std::fs;
use std::path::{Path, PathBuf};

use ranks_harness::workspace;

use crate::package::empty;

const PAGE: &str = "docs/guide/examples.md";

/// The command, whose main function is all of it.
pub(super) const COMMAND: &str = "ranks";
const MAIN: &str = "crates/ranks-cli/src/main.rs";

/// The names of the programs, in the page's order; a test follows them there.
const NAMES: [&str; 9] = [
    "hello", "ring", "pi", "gather", "halo", "scatter", "table", "queue", "tasks",
];

/// Writes a crate of these programs in a folder: where it is.
pub(super) fn write(folder: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let root = workspace::root();
    let page = fs::read_to_string(root.join(PAGE))?;
    let programs = programs(&page)?;
    empty(&folder.join("src/bin"))?;
    fs::copy(
        root.join(MAIN),
        folder.join(format!("src/bin/{COMMAND}.rs")),
    )?;
    for (name, program) in NAMES.iter().zip(programs) {
        fs::write(folder.join(format!("src/bin/{name}.rs")), program)?;
    }
    let manifest = format!(
        "[package]\nname = \"ranks-programs\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         ranks = {{ path = {:?}, features = [\"async\", \"topology\"] }}\nranks-cli = {{ path = {:?} }}\n\
         tokio = {{ version = \"1\", default-features = false, features = [\"rt\"] }}\n",
        root.join("crates/ranks"),
        root.join("crates/ranks-cli")
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    // The versions of others that the workspace is tested with.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(folder.to_path_buf())
}

/// The programs of the page, one for each name.
fn programs(page: &str) -> Result<Vec<&str>, String> {
    let blocks = page.split("\n```rust\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split_once("```"));
    let programs: Vec<&str> = blocks
        .map(|(block, _)| block)
        .filter(|block| block.contains("fn main()"))
        .collect();
    if programs.len() == NAMES.len() {
        return Ok(programs);
    }
    Err(format!(
        "{PAGE} has {} programs, and there are names for {}",
        programs.len(),
        NAMES.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_of_the_page_has_a_name() {
        let page = fs::read_to_string(workspace::root().join(PAGE)).unwrap();
        let programs = programs(&page).unwrap();
        for (name, word) in [
            ("hello", "hello from"),
            ("queue", "fetch_and_op"),
            ("tasks", "JoinSet"),
        ] {
            let at = NAMES.iter().position(|other| *other == name).unwrap();
            assert!(programs[at].contains(word), "{name}: {}", programs[at]);
        }
        assert!(super::programs("").unwrap_err().contains("0 programs"));
    }
}
