//! The MPI libraries that may be opened for this process, best first.

use std::path::{Path, PathBuf};

use ranks_load::Candidate;

use crate::Family;
use crate::environment::ancestors::Ancestor;
use crate::environment::{Environment, process_variable};
use crate::library::installation::Installation;
use crate::library::names::{self, Content, Names, Preference, Wanted};
use crate::library::system::{self, System};
use crate::machine::files;

mod config_error;
mod linker;

pub use config_error::ConfigError;

/// The variable by which a user names the MPI: a file, a prefix, a family or an installation.
pub(crate) const CHOICE: &str = "RANKS_MPI";

/// The variable that names the folder of installations that are not in their usual places.
const INSTALLATIONS: &str = "RANKS_MPI_DIR";

/// The variable in which Open MPI's launcher names the folder of its libraries.
const LIBRARIES: &str = "OMPI_LIBDIR_LOC";

/// The variables in which modules and users name the prefix of an MPI.
const PREFIXES: [&str; 5] = [
    "OPAL_PREFIX",
    "I_MPI_ROOT",
    "MPI_HOME",
    "MPICH_DIR",
    "CRAY_MPICH_DIR",
];

/// The libraries for this process in the order in which they are to be tried, each with the reason.
///
/// `RANKS_MPI`, if set, decides alone: it is the file of a library, the prefix of an MPI, a family
/// (`mpich`, `openmpi`, `intel`, `cray`), `abi` for any library with the interface of the MPI-5
/// standard, or the name of an [`Installation`], in `RANKS_MPI_DIR` too. Otherwise: what the
/// launcher says, `OMPI_LIBDIR_LOC`; the prefixes in `OPAL_PREFIX`, `I_MPI_ROOT`, `MPI_HOME`,
/// `MPICH_DIR`, `CRAY_MPICH_DIR`; the prefix of the launcher above this process; Cray's folders;
/// the folders in `LD_LIBRARY_PATH` (on macOS `DYLD_LIBRARY_PATH`); the MPI of the first `mpiexec`
/// in `PATH`; on macOS the folders of Homebrew and MacPorts; at last the bare names, for the
/// dynamic linker to find. Libraries of another family than the launcher's come after all that fit.
///
/// Programs, `ranks run` and `ranks doctor` all take the first of these that opens.
///
/// # Errors
/// [`ConfigError`] when `RANKS_MPI` names what is not there or is no library: that is never a
/// reason to take another. A relative path in any of these variables too: ranks may start in
/// folders of their own, and each would mean another file.
pub fn candidates(environment: &Environment) -> Result<Vec<Candidate>, ConfigError> {
    let installations = || {
        Installation::all(
            process_variable(INSTALLATIONS)
                .map(PathBuf::from)
                .as_deref(),
        )
    };
    Search {
        variables: &process_variable,
        ancestor: environment.launcher.and_then(|_| Ancestor::find()),
        preference: Preference::default(),
        installations: &installations,
    }
    .candidates(environment)
}

/// The error of a library that `RANKS_MPI` names and that is no MPI, as far as its bytes tell: it
/// is not opened. A name that only the dynamic linker finds may be one.
pub(crate) fn chosen_is_no_mpi(
    variable: &dyn Fn(&str) -> Option<String>,
    candidates: &[Candidate],
) -> Option<ConfigError> {
    let value = variable(CHOICE).filter(|value| !value.trim().is_empty())?;
    let usual = ["/", "/usr"].map(|prefix| names::library_folders(Path::new(prefix)));
    let mut folders = absolute_ones(variable(system::HERE.linker_path));
    folders.extend(usual.into_iter().flatten());
    let find = |candidate: &Candidate| {
        let lies = folders.iter().map(|folder| folder.join(&candidate.file));
        lies.into_iter().find(|file| file.is_file())
    };
    let none = |candidate: &Candidate| find(candidate).filter(|file| !names::may_be_mpi(file));
    let files: Option<Vec<PathBuf>> = candidates.iter().map(none).collect();
    let file = files?.into_iter().next()?;
    Some(ConfigError::NotAnMpi { value, file })
}

/// Everything that the order of candidates depends on; [`candidates`] takes it from this process.
#[derive(Clone)]
pub struct Search<'a> {
    /// The environment variables.
    pub variables: &'a dyn Fn(&str) -> Option<String>,
    /// The launcher above the process.
    pub ancestor: Option<Ancestor>,
    /// The interface that goes first.
    pub preference: Preference,
    /// The installations that `RANKS_MPI` may name; asked for only then.
    pub installations: &'a dyn Fn() -> Vec<Installation>,
}

impl std::fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search")
            .field("ancestor", &self.ancestor)
            .field("preference", &self.preference)
            .finish_non_exhaustive()
    }
}

/// Folders that are searched for one reason.
struct SearchedFolders {
    folders: Vec<PathBuf>,
    why: String,
    /// The only family whose libraries are looked for there, where that is known.
    family: Option<Family>,
}

impl SearchedFolders {
    fn new(folders: Vec<PathBuf>, why: impl Into<String>) -> SearchedFolders {
        SearchedFolders {
            folders,
            why: why.into(),
            family: None,
        }
    }

    /// Returns `true` if it is of use in a search for `wanted`: its library with the standard
    /// interface is of its family too.
    fn fits(&self, wanted: Wanted) -> bool {
        match (wanted, self.family) {
            (Wanted::Any(Some(likely)), Some(family)) => likely.starts(family),
            (Wanted::Only(only), Some(family)) => only == family,
            _ => true,
        }
    }
}

impl Search<'_> {
    /// The libraries in the order in which they are to be tried: see [`candidates`].
    ///
    /// # Errors
    /// The errors of [`candidates`].
    pub fn candidates(&self, environment: &Environment) -> Result<Vec<Candidate>, ConfigError> {
        if let Some(value) = self.variable(CHOICE) {
            return self.chosen(value.trim());
        }
        let likely = environment
            .launcher
            .and_then(|launcher| launcher.likely_family());
        Ok(self.search(Wanted::Any(likely), &self.places()?, ""))
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.variables)(name).filter(|value| !value.trim().is_empty())
    }

    /// The libraries that `RANKS_MPI` names.
    fn chosen(&self, value: &str) -> Result<Vec<Candidate>, ConfigError> {
        let why = "$RANKS_MPI";
        if let Ok(family) = value.parse::<Family>() {
            return self.of_family(Wanted::Only(family), value);
        }
        if value.eq_ignore_ascii_case("abi") {
            return self.of_family(Wanted::Standard, value);
        }
        // A word is no path: what lies in the folder of a rank does not count.
        if value.contains('/') {
            return self.chosen_path(value);
        }
        if value.contains(".so") || value.contains(".dylib") {
            if let Some(entry) = linker::from_here(self.variable(system::HERE.linker_path), value) {
                return Err(ConfigError::FromHere {
                    value: value.into(),
                    entry,
                });
            }
            return Ok(vec![Candidate {
                file: value.into(),
                why: format!("{why}, found by the dynamic linker"),
            }]);
        }
        let mut names = Vec::new();
        for installation in self.installations()? {
            if installation.name == value {
                return Ok(vec![Candidate {
                    file: installation.library,
                    why: format!("{why}={value}"),
                }]);
            }
            names.push(installation.name);
        }
        Err(ConfigError::Unknown {
            value: value.into(),
            names,
        })
    }

    /// The path that `RANKS_MPI` names.
    fn chosen_path(&self, value: &str) -> Result<Vec<Candidate>, ConfigError> {
        let why = "$RANKS_MPI";
        let path = from_root(CHOICE, value)?;
        if path.is_dir() {
            let place = SearchedFolders::new(names::library_folders(path), why);
            let mut found = Vec::new();
            let names = Names::of(Wanted::Any(None), self.preference);
            let mut seen = Vec::new();
            for name in [names.first, names.then] {
                self.in_place(&place, &name, &mut seen, &mut found);
            }
            if !found.is_empty() {
                return Ok(found);
            }
            let mut searched = place.folders;
            searched.retain(|folder| folder != path);
            return Err(ConfigError::NoLibraryIn {
                value: value.into(),
                searched,
            });
        }
        if path.is_file() {
            let file = self.chosen_file(value, path)?;
            return Ok(vec![Candidate::new(file, why)]);
        }
        Err(ConfigError::NotThere {
            value: value.into(),
        })
    }

    /// A file that `RANKS_MPI` names.
    fn chosen_file(&self, value: &str, file: &Path) -> Result<PathBuf, ConfigError> {
        let what = match names::what_it_is(file) {
            Content::Library => return Ok(file.to_path_buf()),
            Content::Text => "it is text, as the linker scripts that only compilers understand",
            Content::Other => "it does not begin as one does, or cannot be read",
        };
        let folder = file.parent().unwrap_or(Path::new("."));
        let names = Names::of(Wanted::Any(None), Preference::Native);
        let beside = |name: &names::Name| {
            name.in_folder(folder)
                .into_iter()
                .find(|other| other != file)
        };
        Err(ConfigError::NotALibrary {
            value: value.into(),
            what,
            instead: names.first.iter().find_map(beside),
        })
    }

    /// The libraries of one family: in the usual places, then in the installations there are.
    fn of_family(&self, wanted: Wanted, value: &str) -> Result<Vec<Candidate>, ConfigError> {
        let mut places = self.places()?;
        for installation in self.installations()? {
            let fits = match wanted {
                Wanted::Only(family) => installation.family == family,
                _ => true,
            };
            if let (true, Some(folder)) = (fits, installation.library.parent()) {
                let why = format!("the installation {}", installation.name);
                places.push(SearchedFolders::new(vec![folder.to_path_buf()], why));
            }
        }
        Ok(self.search(wanted, &places, &format!(", chosen by $RANKS_MPI={value}")))
    }

    /// The installations, if each rank finds the same.
    fn installations(&self) -> Result<Vec<Installation>, ConfigError> {
        if let Some(folder) = self.variable(INSTALLATIONS) {
            from_root(INSTALLATIONS, &folder)?;
        }
        Ok((self.installations)())
    }

    /// The places to look for libraries, in order.
    fn places(&self) -> Result<Vec<SearchedFolders>, ConfigError> {
        let mut places = Vec::new();
        if let Some(folder) = self.variable(LIBRARIES) {
            let folder = from_root(LIBRARIES, &folder)?.to_path_buf();
            let why = format!("${LIBRARIES}, set by the launcher");
            places.push(SearchedFolders::new(vec![folder], why));
        }
        for name in PREFIXES {
            if let Some(prefix) = self.variable(name) {
                let folders = prefix_folders(from_root(name, &prefix)?);
                places.push(SearchedFolders::new(folders, format!("${name}")));
            }
        }
        if let Some(ancestor) = &self.ancestor
            && let Some(prefix) = ancestor.prefix()
        {
            let why = format!(
                "the launcher {} (process {})",
                ancestor.file.display(),
                ancestor.pid
            );
            places.push(SearchedFolders::new(names::library_folders(prefix), why));
        }
        let cray = self.folders_in("CRAY_LD_LIBRARY_PATH");
        if !cray.is_empty() {
            places.push(SearchedFolders::new(cray, "$CRAY_LD_LIBRARY_PATH"));
        }
        let cray = Path::new("/opt/cray/pe/lib64");
        if cray.is_dir() {
            places.push(SearchedFolders::new(
                vec![cray.into()],
                "the Cray programming environment",
            ));
        }
        // Before the linker, which takes any folder's library of one name before any of another:
        // here a folder is one MPI's.
        let linker_path = system::HERE.linker_path;
        for folder in self.folders_in(linker_path) {
            let why = format!("{} in {linker_path}", folder.display());
            places.push(SearchedFolders {
                family: names::only_family(&folder),
                ..SearchedFolders::new(vec![folder], why)
            });
        }
        places.extend(self.of_first_launcher());
        places.extend(of_package_managers(system::HERE));
        Ok(places)
    }

    /// The absolute ones of the folders in a variable.
    fn folders_in(&self, variable: &str) -> Vec<PathBuf> {
        absolute_ones(self.variable(variable))
    }

    /// The place of the library of the first `mpiexec` in `PATH`: a program that is started alone
    /// opens the one that this would start it with.
    fn of_first_launcher(&self) -> Option<SearchedFolders> {
        let path = self.variable("PATH")?;
        let (launcher, of) = Installation::of_first_launcher(path.as_ref())?;
        let of = of?;
        let why = format!("the first mpiexec in PATH, {}", launcher.display());
        Some(SearchedFolders {
            family: Some(of.family),
            ..SearchedFolders::new(vec![of.library.parent()?.to_path_buf()], why)
        })
    }

    fn search(&self, wanted: Wanted, places: &[SearchedFolders], suffix: &str) -> Vec<Candidate> {
        let names = Names::of(wanted, self.preference);
        let mut seen = Vec::new();
        let mut list = Vec::new();
        for (at, names) in [names.first, names.then].into_iter().enumerate() {
            for place in places {
                if at == 0 && !place.fits(wanted) {
                    continue;
                }
                let found = list.len();
                self.in_place(place, &names, &mut seen, &mut list);
                // A variable that leads nowhere shows up in the error, if it comes to one.
                let leads_nowhere = at == 0 && list.len() == found && place.why.starts_with('$');
                if let (true, Some(folder), Some(name)) = (
                    leads_nowhere,
                    place.folders.first(),
                    names.first().and_then(|name| name.soname()),
                ) {
                    list.push(Candidate {
                        file: folder.join(name),
                        why: place.why.clone(),
                    });
                }
            }
            let by_linker = |name: &str| Candidate {
                file: name.into(),
                why: "the dynamic linker's search".into(),
            };
            let path = self.variable(system::HERE.linker_path);
            let found = names.iter().filter_map(|name| name.soname());
            let found = found.filter(|name| linker::from_here(path.clone(), name).is_none());
            list.extend(found.map(by_linker));
        }
        for candidate in &mut list {
            candidate.why.push_str(suffix);
        }
        list
    }

    /// Adds the files of `place` that bear one of `names` and were not seen yet.
    fn in_place(
        &self,
        place: &SearchedFolders,
        names: &[names::Name],
        seen: &mut Vec<PathBuf>,
        list: &mut Vec<Candidate>,
    ) {
        for folder in &place.folders {
            let (mut files, mut last) = (Vec::new(), Vec::new());
            let is_intel = names::is_intel(folder);
            for name in names {
                if place.family.is_none_or(|family| name.may_be_of(family)) {
                    for file in name.in_folder(folder) {
                        // For any preference: see `Preference::StandardAbi`.
                        let is_last = is_intel && names::is_standard(&file);
                        let to = if is_last { &mut last } else { &mut files };
                        to.push(file);
                    }
                }
            }
            files.append(&mut last);
            for file in files {
                let real = files::real(&file).unwrap_or_else(|| file.clone());
                if !seen.contains(&real) {
                    seen.push(real);
                    list.push(Candidate {
                        file,
                        why: place.why.clone(),
                    });
                }
            }
        }
    }
}

/// The folders of package managers, each of which may have libraries of several families.
fn of_package_managers(system: &System) -> impl Iterator<Item = SearchedFolders> {
    let folders = system.folders.iter();
    folders.map(|(folder, manager)| {
        let why = format!("{manager}'s folder {folder}");
        SearchedFolders::new(vec![folder.into()], why)
    })
}

/// The absolute ones of a list of folders.
fn absolute_ones(folders: Option<String>) -> Vec<PathBuf> {
    std::env::split_paths(&folders.unwrap_or_default())
        .filter(|folder| folder.is_absolute())
        .collect()
}

/// The path in a variable, which must be absolute.
fn from_root<'a>(variable: &'static str, value: &'a str) -> Result<&'a Path, ConfigError> {
    let path = Path::new(value);
    if path.is_absolute() {
        return Ok(path);
    }
    Err(ConfigError::Relative {
        variable,
        value: value.into(),
    })
}

/// The library folders of a prefix that a variable names; its `lib` at least, for the error, if
/// nothing is there.
fn prefix_folders(prefix: &Path) -> Vec<PathBuf> {
    let folders = names::library_folders(prefix);
    if folders.is_empty() {
        vec![prefix.join("lib")]
    } else {
        folders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_package_managers_are_named_as_such() {
        let places: Vec<SearchedFolders> = of_package_managers(&system::MACOS).collect();
        assert_eq!(places.len(), system::MACOS.folders.len());
        assert_eq!(places[0].folders, [Path::new("/opt/homebrew/lib")]);
        assert_eq!(places[0].why, "Homebrew's folder /opt/homebrew/lib");
        // Any family may lie there, under whichever launcher.
        assert!(places.iter().all(|place| place.fits(Wanted::Standard)));
        assert_eq!(of_package_managers(&system::ELF).count(), 0);
    }
}
