//! The functions that the crates of ranks call: the others are compiled for those who ask for the
//! whole of MPI.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The crates that call them.
const CALLERS: [&str; 4] = [
    "ranks-collectives",
    "ranks-comm",
    "ranks-raw",
    "ranks-rma-window",
];

/// The names in the sources of these crates, outside of comments. Those of constants and types are
/// among them, and names in strings, by which functions are looked up.
pub(crate) fn called() -> Result<BTreeSet<String>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let mut called = BTreeSet::new();
    for caller in CALLERS {
        read(&crates.join(caller).join("src"), &mut called)?;
    }
    // What shims call: the only ones that are compiled anyhow.
    for shims in ["by_hand/alltoallw.rs", "large.rs"] {
        let shims = fs::read_to_string(crates.join("ranks-mpi-sys/src/abi").join(shims))?;
        called.extend(names(&shims, "crate::MPI_"));
    }
    // A library without the one is asked for the other.
    let small: Vec<String> = called
        .iter()
        .filter_map(|name| name.strip_suffix("_c"))
        .map(str::to_owned)
        .collect();
    called.extend(small);
    Ok(called)
}

fn read(folder: &Path, called: &mut BTreeSet<String>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            read(&path, called)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            called.extend(names(&fs::read_to_string(&path)?, "MPI_"));
        }
    }
    Ok(())
}

/// The names that stand behind `sign` in a source, of which it is the begin or the path.
fn names<'a>(source: &'a str, sign: &'a str) -> impl Iterator<Item = String> + 'a {
    let is_code = |line: &&str| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.starts_with("#[doc(alias")
    };
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    source.lines().filter(is_code).flat_map(move |line| {
        line.match_indices(sign).map(move |(at, _)| {
            let begin = at + sign.len() - "MPI_".len();
            let length = line[begin..].find(|letter| !is_part(letter));
            line[begin..][..length.unwrap_or(line.len() - begin)].to_owned()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_outside_of_comments() {
        let source = "
            /// `MPI_Send`
            #[doc(alias = \"MPI_Recv\")]
            sys::MPI_Bcast(buffer); crate::MPI_Wait()
            has(\"MPI_Bcast_c\")";
        let all: Vec<String> = names(source, "MPI_").collect();
        assert_eq!(all, ["MPI_Bcast", "MPI_Wait", "MPI_Bcast_c"]);
        let own: Vec<String> = names(source, "crate::MPI_").collect();
        assert_eq!(own, ["MPI_Wait"]);
    }
}
