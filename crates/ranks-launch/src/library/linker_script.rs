//! Text in the place of a library, which compilers understand and the dynamic linker does not.

use std::path::{Path, PathBuf};

use crate::library::names::{self, Content};
use crate::machine::files;

/// A linker script: packages of Python have one as `libmpi.so`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LinkerScript {
    /// The file.
    pub file: PathBuf,
    /// The libraries that it stands for, as far as they lie beside it or where it says.
    pub libraries: Vec<PathBuf>,
}

impl LinkerScript {
    /// Reads a file; `None` if it is a library, or nothing that a linker reads.
    pub fn read(file: &Path) -> Option<LinkerScript> {
        if names::what_it_is(file) != Content::Text {
            return None;
        }
        let text = files::read(file)?;
        let folder = file.parent().unwrap_or(Path::new("."));
        let libraries = named(&text)?
            .map(|name| folder.join(name))
            .filter(|library| library.is_file())
            .collect();
        Some(LinkerScript {
            file: file.to_path_buf(),
            libraries,
        })
    }

    /// The linker scripts that lie in a folder under the names of MPI libraries.
    pub fn in_folder(folder: &Path) -> Vec<LinkerScript> {
        ["libmpi.so", "libmpi_abi.so", "libmpich.so"]
            .iter()
            .filter_map(|name| Self::read(&folder.join(name)))
            .collect()
    }
}

/// The libraries that the text of a script names; `None` if it is no script.
pub(crate) fn named(text: &str) -> Option<impl Iterator<Item = &str>> {
    if !["INPUT", "GROUP"].iter().any(|word| text.contains(word)) {
        return None;
    }
    let words = text.split(|c: char| c.is_whitespace() || "(),".contains(c));
    Some(words.filter(|word| word.contains(".so")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_script_names_what_it_stands_for() {
        let folder =
            std::env::temp_dir().join(format!("ranks-launch-script-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("libmpi.so"), "INPUT(libmpi.so.12)\n").unwrap();
        fs::write(folder.join("libmpi.so.12"), "\x7fELF").unwrap();
        fs::write(folder.join("libmpich.so"), "some words\n").unwrap();
        let found = LinkerScript::in_folder(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].libraries, [folder.join("libmpi.so.12")]);
    }
}
