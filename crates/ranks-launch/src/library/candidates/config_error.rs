//! Errors of the variables that name an MPI.

use std::path::{Path, PathBuf};

use super::{CHOICE, system};

/// The reason why `RANKS_MPI`, or another variable that names an MPI, cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It names a path that is not there.
    #[error(
        "RANKS_MPI={value}: there is no such file or folder; name the file of a libmpi, the prefix of an MPI, or a family: mpich, openmpi, intel, cray, abi"
    )]
    NotThere {
        /// The value it was set to.
        value: String,
    },
    /// It names a file that the dynamic linker cannot open.
    #[error(
        "RANKS_MPI={value}: this file is no library ({what}){}",
        advice(instead)
    )]
    NotALibrary {
        /// The value it was set to.
        value: String,
        /// The kind of file it is.
        what: &'static str,
        /// A library beside it.
        instead: Option<PathBuf>,
    },
    /// It names a library that is no MPI.
    #[error("RANKS_MPI={value}: {} is a library, but no MPI: it has no MPI_Init; name the file of a libmpi", file.display())]
    NotAnMpi {
        /// The value it was set to.
        value: String,
        /// The library.
        file: PathBuf,
    },
    /// It names a folder without an MPI.
    #[error(
        "RANKS_MPI={value}: no MPI library lies in this folder nor in its {}; name the prefix of an MPI, or the file of its libmpi",
        folders(searched)
    )]
    NoLibraryIn {
        /// The value it was set to.
        value: String,
        /// The folders that were searched.
        searched: Vec<PathBuf>,
    },
    /// A variable holds a relative path.
    #[error(
        "{variable}={value} is relative, and leads elsewhere from each folder that a rank may start in; write it from the root: {variable}={}",
        absolute(value)
    )]
    Relative {
        /// The variable.
        variable: &'static str,
        /// The value it was set to.
        value: String,
    },
    /// It is a name that the dynamic linker would look for in the current folder.
    #[error(
        "RANKS_MPI={value}: the dynamic linker would open the one in the folder that each rank starts in, by the entry {entry:?} of {}; \
         take it out or write it from the root, or name the library by its path",
        system::HERE.linker_path
    )]
    FromHere {
        /// The value it was set to.
        value: String,
        /// The entry of the linker's path.
        entry: String,
    },
    /// It is a word that names nothing.
    #[error(
        "RANKS_MPI={value} is no file, no family (mpich, openmpi, intel, cray, abi) and no installation; {}",
        known(names)
    )]
    Unknown {
        /// The value it was set to.
        value: String,
        /// The installations there are.
        names: Vec<String>,
    },
}

impl ConfigError {
    /// Returns `true` if it is about `RANKS_MPI`, by which a user asks for an MPI, rather than
    /// about a variable that a module may have set.
    pub(crate) fn is_of_choice(&self) -> bool {
        !matches!(self, ConfigError::Relative { variable, .. } if *variable != CHOICE)
    }
}

fn advice(instead: &Option<PathBuf>) -> String {
    let name = |file: &PathBuf| format!("; did you mean {}?", file.display());
    instead.as_ref().map(name).unwrap_or_default()
}

fn absolute(value: &str) -> String {
    let path = std::path::absolute(value).unwrap_or_else(|_| Path::new("/").join(value));
    path.display().to_string()
}

fn folders(searched: &[PathBuf]) -> String {
    if searched.is_empty() {
        return "lib, lib64 and lib/release".into();
    }
    let names: Vec<String> = searched
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    names.join(", ")
}

fn known(names: &[String]) -> String {
    if names.is_empty() {
        return "none is installed".into();
    }
    format!("installed are {}", names.join(", "))
}
