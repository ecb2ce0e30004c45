//! The file names of MPI libraries: by family, in the order in which they are tried.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::system::{self, System, multiarch};
use crate::Family;
use crate::machine::files;

/// The interface that is tried first of a library that offers two.
///
/// MPICH and Intel MPI ship their own interface and the one of the MPI-5 standard side by side,
/// Open MPI will. Their own has more extensions; the standard's needs no translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preference {
    /// The library's own interface first, then `libmpi_abi`.
    #[default]
    Native,
    /// `libmpi_abi` first. Intel MPI stays native: its `libmpi_abi` ends the process on errors that
    /// the caller asked to have returned.
    StandardAbi,
}

/// The aim of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Any library; the family named, if any, is the launcher's and goes first.
    Any(Option<Family>),
    /// One family only, because the user said so.
    Only(Family),
    /// The standard interface only, because the user said so.
    Standard,
}

/// The names to look for: those that fit, and those that are looked for only after everything that
/// fits.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) first: Vec<Name>,
    pub(crate) then: Vec<Name>,
}

/// One file name, or a pattern of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    /// A name as it stands.
    Exact(&'static str),
    /// A name as it stands, which may be that of a text file for compilers: a candidate only if it
    /// is a library.
    Unversioned(&'static str),
    /// Every name of this beginning and this end.
    Between(&'static str, &'static str),
}

impl Names {
    /// The names for a search on this system, in order.
    pub(crate) fn of(wanted: Wanted, preference: Preference) -> Names {
        Self::on(system::HERE, wanted, preference)
    }

    fn on(system: &System, wanted: Wanted, preference: Preference) -> Names {
        let mut names = Names::default();
        let (first, then) = (&mut names.first, &mut names.then);
        match wanted {
            Wanted::Standard => {
                push(first, system.standard);
                push(first, system.unversioned_standard);
            }
            Wanted::Only(family) => {
                push(first, system.native(family));
                push(first, system.unversioned);
            }
            Wanted::Any(likely) => {
                if preference == Preference::StandardAbi {
                    push(first, system.standard);
                }
                if let Some(likely) = likely {
                    push(first, system.native(likely));
                }
                for family in Family::ALL {
                    // Families that start under the same launcher fit; without a launcher all do.
                    let fits = likely.is_none_or(|likely| likely.starts(family));
                    push(
                        if fits { &mut *first } else { &mut *then },
                        system.native(family),
                    );
                }
                push(first, system.standard);
                push(then, system.unversioned);
                push(then, system.unversioned_standard);
            }
        }
        names
    }
}

/// Adds the names that are not there yet.
fn push(list: &mut Vec<Name>, more: &[Name]) {
    for name in more {
        if !list.contains(name) {
            list.push(*name);
        }
    }
}

impl Name {
    /// Returns `true` if a library of `family` may bear this name: no other family's own does.
    pub(crate) fn may_be_of(self, family: Family) -> bool {
        let own = |family| system::HERE.native(family).contains(&self);
        own(family) || !Family::ALL.into_iter().any(own)
    }

    /// The name that the dynamic linker can be asked for; none for a pattern or a name for
    /// compilers.
    pub(crate) fn soname(self) -> Option<&'static str> {
        match self {
            Name::Exact(name) => Some(name),
            Name::Unversioned(_) | Name::Between(..) => None,
        }
    }

    /// The files in `folder` that bear this name.
    pub(crate) fn in_folder(self, folder: &Path) -> Vec<PathBuf> {
        let mut files = match self {
            Name::Exact(name) | Name::Unversioned(name) => vec![folder.join(name)],
            Name::Between(..) => files::entries(folder),
        };
        files.retain(|file| match self {
            Name::Exact(_) => file.is_file(),
            Name::Unversioned(_) => what_it_is(file) == Content::Library,
            Name::Between(beginning, end) => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with(beginning) && name.ends_with(end)
            }
        });
        files
    }
}

/// Returns `true` if a library bears the name of those with the standard interface.
pub(crate) fn is_standard(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("libmpi_abi")
}

/// Returns `true` if the libraries in `folder` are Intel's.
pub(crate) fn is_intel(folder: &Path) -> bool {
    folder.join(system::HERE.of_intel).is_file()
}

/// The one library in `folder` of `family`, by its own interface.
pub(crate) fn native_library(folder: &Path, family: Family) -> Option<PathBuf> {
    let names = system::HERE.native(family);
    names
        .iter()
        .find_map(|name| name.in_folder(folder).into_iter().next())
}

/// The only family whose own libraries lie in `folder`.
pub(crate) fn only_family(folder: &Path) -> Option<Family> {
    let has = |family| native_library(folder, family).is_some();
    let cray = has(Family::Cray);
    match (has(Family::OpenMpi), cray || has(Family::Mpich)) {
        (true, false) => Some(Family::OpenMpi),
        (false, true) if cray => Some(Family::Cray),
        (false, true) if is_intel(folder) => Some(Family::Intel),
        (false, true) => Some(Family::Mpich),
        (true, true) | (false, false) => None,
    }
}

/// The library in `folder` with the standard interface.
pub(crate) fn standard_library(folder: &Path) -> Option<PathBuf> {
    system::HERE
        .standard
        .iter()
        .find_map(|name| name.in_folder(folder).into_iter().next())
}

/// The content of a file, by its first bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Something the dynamic linker may open.
    Library,
    /// A linker script or other text, which only compilers understand.
    Text,
    /// Neither, or it cannot be read.
    Other,
}

pub(crate) fn what_it_is(file: &Path) -> Content {
    const ELF: &[u8] = b"\x7fELF";
    const MACH_O: [[u8; 4]; 3] = [
        [0xcf, 0xfa, 0xed, 0xfe],
        [0xca, 0xfe, 0xba, 0xbe],
        [0xca, 0xfe, 0xba, 0xbf],
    ];
    let mut bytes = Vec::new();
    let read = fs::File::open(file).and_then(|file| file.take(256).read_to_end(&mut bytes));
    match bytes.get(..4) {
        _ if read.is_err() => Content::Other,
        Some(start) if start == ELF || MACH_O.iter().any(|magic| start == magic) => {
            Content::Library
        }
        _ if bytes
            .iter()
            .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) =>
        {
            Content::Text
        }
        _ => Content::Other,
    }
}

/// Returns `true` if a library may be an MPI: among its bytes are the name of a function that each
/// has, or that of a library that may have it for this one. What cannot be read may be.
pub(crate) fn may_be_mpi(file: &Path) -> bool {
    const NAMES: [&[u8]; 2] = [b"MPI_Init", b"libmpi"];
    const LONGEST: usize = 8;
    let Ok(mut file) = fs::File::open(file) else {
        return true;
    };
    let mut bytes = vec![0; 1 << 16];
    // The end of what was read before, as a name may lie across.
    let mut kept = 0;
    loop {
        let read = match file.read(bytes.get_mut(kept..).unwrap_or_default()) {
            Ok(0) => return false,
            Ok(read) => kept + read,
            Err(_) => return true,
        };
        let seen = bytes.get(..read).unwrap_or_default();
        let has = |name: &[u8]| seen.windows(name.len()).any(|window| window == name);
        if NAMES.into_iter().any(has) {
            return true;
        }
        let before = read.saturating_sub(LONGEST);
        bytes.copy_within(before..read, 0);
        kept = read - before;
    }
}

/// The folders of `prefix` that may hold libraries, those that exist.
pub(crate) fn library_folders(prefix: &Path) -> Vec<PathBuf> {
    let multiarch = format!("lib/{}", multiarch(std::env::consts::ARCH));
    let mut folders = Vec::new();
    for folder in ["lib", "lib64", &multiarch, "lib/release"] {
        folders.push(prefix.join(folder));
    }
    folders.push(prefix.to_path_buf());
    folders.retain(|folder| folder.is_dir());
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    type Order = (Vec<&'static str>, Vec<&'static str>);

    fn order(wanted: Wanted, preference: Preference) -> Order {
        order_on(&system::ELF, wanted, preference)
    }

    fn order_on(system: &System, wanted: Wanted, preference: Preference) -> Order {
        let text = |name: &Name| match *name {
            Name::Exact(name) | Name::Unversioned(name) | Name::Between(name, _) => name,
        };
        let names = Names::on(system, wanted, preference);
        (
            names.first.iter().map(text).collect(),
            names.then.iter().map(text).collect(),
        )
    }

    #[test]
    fn the_family_of_the_launcher_goes_first_and_the_others_last() {
        let (first, then) = order(Wanted::Any(Some(Family::OpenMpi)), Preference::Native);
        assert_eq!(
            first,
            ["libmpi.so.40", "libmpi_abi.so.1", "libmpi_abi.so.0"]
        );
        assert_eq!(then[..3], ["libmpi.so.12", "libmpich.so.12", "libmpi_gnu_"]);
        let (first, then) = order(Wanted::Any(Some(Family::Intel)), Preference::Native);
        assert_eq!(first[..2], ["libmpi.so.12", "libmpich.so.12"]);
        assert_eq!(then[0], "libmpi.so.40");
        assert_eq!(then.last(), Some(&"libmpi_abi.so"));
    }

    #[test]
    fn the_preference_moves_the_standard_interface() {
        let (native, _) = order(Wanted::Any(Some(Family::Mpich)), Preference::Native);
        assert_eq!(
            (native[0], native.last()),
            ("libmpi.so.12", Some(&"libmpi_abi.so.0"))
        );
        let (standard, _) = order(Wanted::Any(None), Preference::StandardAbi);
        assert_eq!(
            standard[..3],
            ["libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.12"]
        );
        assert!(standard.contains(&"libmpi.so.40"));
    }

    #[test]
    fn what_the_user_names_is_all_there_is() {
        assert_eq!(
            order(Wanted::Standard, Preference::Native),
            (
                vec!["libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi_abi.so"],
                vec![]
            )
        );
        let (first, then) = order(Wanted::Only(Family::OpenMpi), Preference::StandardAbi);
        assert_eq!(first[0], "libmpi.so.40");
        assert!(!first.contains(&"libmpi.so.12") && then.is_empty());
    }

    #[test]
    fn on_macos_names_end_otherwise() {
        let wanted = Wanted::Any(Some(Family::OpenMpi));
        let (first, then) = order_on(&system::MACOS, wanted, Preference::Native);
        let standard = ["libmpi_abi.1.dylib", "libmpi_abi.0.dylib"];
        assert_eq!(first, ["libmpi.40.dylib", standard[0], standard[1]]);
        assert_eq!(
            then,
            ["libmpi.12.dylib", "libmpi.dylib", "libmpi_abi.dylib"]
        );
    }
}
