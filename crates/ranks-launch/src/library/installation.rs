//! An MPI of this machine: a library, and the launcher that belongs to it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::Family;
use crate::library::names;
use crate::machine::files::{self, owner};

#[cfg(feature = "jobs")]
mod command;
#[cfg(feature = "jobs")]
mod cores;
#[cfg(feature = "jobs")]
mod flux_run;
mod in_path;
mod parameters;
#[cfg(feature = "jobs")]
mod srun;

pub use parameters::{NETWORK_ATOMICS, RDMA_PER_REQUEST, WITHOUT_RDMA, has_user_set};

/// A library and a launcher that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// Its name, such as `mpich-5.0.2`; `…-abi` where the library is the one with the standard
    /// interface.
    pub name: String,
    /// Its family.
    pub family: Family,
    /// Its version, where it is known without asking.
    pub version: Option<String>,
    /// The library.
    pub library: PathBuf,
    /// Its `mpiexec`.
    pub launcher: PathBuf,
    /// Variables that its launcher needs here, whatever the job.
    pub env: Vec<(String, String)>,
}

impl Installation {
    /// Every installation that is found: those in the folders below `provisioned`, then those of
    /// the system.
    ///
    /// Names are unique; the first of a name counts.
    pub fn all(provisioned: Option<&Path>) -> Vec<Installation> {
        let mut all = provisioned.map(Self::below).unwrap_or_default();
        all.append(&mut Self::of_system());
        let mut list: Vec<Installation> = Vec::new();
        for found in all {
            if list.iter().all(|known| known.name != found.name) {
                list.push(found);
            }
        }
        list
    }

    /// The installations whose prefixes are the folders in `folder`, each named after its folder.
    pub fn below(folder: &Path) -> Vec<Installation> {
        // Ranks may start in another folder than this process.
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
        let mut list = Vec::new();
        for prefix in files::entries(&folder) {
            let name = prefix.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with('.') {
                list.append(&mut Self::at(&prefix, &name));
            }
        }
        list
    }

    /// The installations at one prefix: two where a library with the standard interface lies beside
    /// MPICH's own.
    ///
    /// Empty when there is no launcher, no library, or libraries of several families.
    pub fn at(prefix: &Path, name: &str) -> Vec<Installation> {
        let launcher =
            ["mpiexec", "mpiexec.hydra", "mpirun"].map(|file| prefix.join("bin").join(file));
        let Some(launcher) = launcher.into_iter().find(|file| file.is_file()) else {
            return Vec::new();
        };
        let version = name.split_once('-').map(|(_, version)| version.to_owned());
        let version =
            version.filter(|version| version.starts_with(|first: char| first.is_ascii_digit()));
        for folder in names::library_folders(prefix) {
            let open_mpi = names::native_library(&folder, Family::OpenMpi);
            let mpich = names::native_library(&folder, Family::Mpich);
            let (family, library) = match (open_mpi, mpich) {
                (Some(library), None) => (Family::OpenMpi, library),
                (None, Some(library)) if names::is_intel(&folder) => (Family::Intel, library),
                (None, Some(library)) => (Family::Mpich, library),
                (Some(_), Some(_)) => return Vec::new(),
                (None, None) => continue,
            };
            let native = Self::new(name.to_owned(), family, version, library, launcher);
            let mut list = vec![native.clone()];
            if family == Family::Mpich
                && let Some(library) = names::standard_library(&folder)
            {
                list.push(Installation {
                    name: format!("{name}-abi"),
                    library,
                    ..native
                });
            }
            return list;
        }
        Vec::new()
    }

    /// The one that a library belongs to: of those that are [found](Self::all), or else by the
    /// prefix that the library lies in.
    pub fn of_library(file: &Path, provisioned: Option<&Path>) -> Option<Installation> {
        let library = files::real(file)?;
        let known = Self::all(provisioned);
        let same = |found: &&Installation| files::real(&found.library).as_ref() == Some(&library);
        known.iter().find(same).cloned().or_else(|| {
            // The prefix that its path names is its own, even where that is a link to another.
            let mut prefixes = [file, &library]
                .into_iter()
                .flat_map(|file| file.ancestors().skip(2));
            let at = |prefix: &Path| {
                let name = prefix.file_name().unwrap_or_default().to_string_lossy();
                Self::at(prefix, &name)
                    .into_iter()
                    .find(|found| same(&found))
            };
            prefixes.find_map(at)
        })
    }

    fn new(
        name: String,
        family: Family,
        version: Option<String>,
        library: PathBuf,
        launcher: PathBuf,
    ) -> Installation {
        let env = environment(family, version.as_deref(), is_root());
        Installation {
            name,
            family,
            version,
            library,
            launcher,
            env,
        }
    }

    /// The options with which its launcher lets a job go on without a rank that dies; `None` if it
    /// has none that work.
    ///
    /// Hydra has `-disable-auto-cleanup`, but the ranks that are left wait forever then.
    pub fn fault_tolerance(&self) -> Option<&'static [&'static str]> {
        self.is_prrte().then_some(&["--with-ft", "ulfm"])
    }

    /// Returns `true` if the launcher is Open MPI's of version 5 or later, whose options differ.
    pub(crate) fn is_prrte(&self) -> bool {
        let major = |version: &String| {
            version
                .split('.')
                .next()
                .and_then(|major| major.parse::<u32>().ok())
        };
        let beside = |name: &str| self.launcher.with_file_name(name).is_file();
        self.family == Family::OpenMpi
            && self.version.as_ref().and_then(major).map_or_else(
                || beside("prterun") && !beside("orterun"),
                |major| major >= 5,
            )
    }
}

/// Returns `true` if this process is root's, as the kernel shows it.
fn is_root() -> bool {
    owner(Path::new("/proc/self")) == Some(0)
}

/// The variables that the launcher of a family needs, whatever the job.
fn environment(family: Family, version: Option<&str>, root: bool) -> Vec<(String, String)> {
    let pairs: &[(&str, &str)] = match family {
        // Open MPI refuses to start anything as root, unless told twice.
        Family::OpenMpi if root => &[
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ],
        // Up to here its MPI_Init fails where it finds no libfabric.
        Family::Intel if version.is_some_and(|version| release(version) <= (2021, 17)) => {
            &[("I_MPI_FABRICS", "shm")]
        }
        _ => &[],
    };
    pairs
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn release(version: &str) -> (u32, u32) {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

impl AsRef<OsStr> for Installation {
    /// The name, as it is typed.
    fn as_ref(&self) -> &OsStr {
        self.name.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    pub(super) fn scratch(name: &str, files: &[&str]) -> PathBuf {
        let root = std::env::temp_dir().join(format!(
            "ranks-launch-installation-{}-{name}",
            std::process::id()
        ));
        let _ = fs::remove_dir_all(&root);
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"\x7fELF").unwrap();
        }
        root
    }

    #[test]
    fn folders_are_told_apart_by_what_lies_in_them() {
        let root = scratch(
            "below",
            &[
                "mpich-5.0.2/bin/mpiexec",
                "mpich-5.0.2/lib/libmpi.so.12",
                "mpich-5.0.2/lib/libmpi_abi.so.1",
                "openmpi-5.0.11/bin/mpiexec",
                "openmpi-5.0.11/lib/libmpi.so.40",
                "impi-2021.14.2/bin/mpiexec",
                "impi-2021.14.2/lib/libmpi.so.12",
                "impi-2021.14.2/lib/libmpi_abi.so.1",
                "impi-2021.14.2/lib/libmpi_shm_heap_proxy.so",
                "headers-1/include/mpi.h",
                ".half-1/bin/mpiexec",
                ".half-1/lib/libmpi.so.12",
            ],
        );
        let list = Installation::below(&root);
        let short: Vec<_> = list
            .iter()
            .map(|found| (found.name.as_str(), found.family))
            .collect();
        assert_eq!(
            short,
            [
                ("impi-2021.14.2", Family::Intel),
                ("mpich-5.0.2", Family::Mpich),
                ("mpich-5.0.2-abi", Family::Mpich),
                ("openmpi-5.0.11", Family::OpenMpi),
            ]
        );
        assert_eq!(
            list[0].env,
            [("I_MPI_FABRICS".to_owned(), "shm".to_owned())]
        );
        assert_eq!(
            list[2].library,
            root.join("mpich-5.0.2/lib/libmpi_abi.so.1")
        );
        assert_eq!(list[2].launcher, list[1].launcher);
        assert_eq!(list[3].version.as_deref(), Some("5.0.11"));
        assert!(list[3].is_prrte() && !list[1].is_prrte());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn root_needs_leave_and_old_intel_a_fabric() {
        let text = |family, version, root| {
            environment(family, version, root)
                .into_iter()
                .map(|(name, _)| name)
                .collect::<Vec<_>>()
        };
        assert_eq!(text(Family::OpenMpi, None, false), [""; 0]);
        assert_eq!(text(Family::OpenMpi, None, true).len(), 2);
        assert_eq!(
            text(Family::Intel, Some("2021.17.2"), true),
            ["I_MPI_FABRICS"]
        );
        assert_eq!(text(Family::Intel, Some("2021.19.0"), true), [""; 0]);
        assert_eq!(text(Family::Mpich, Some("5.0.2"), true), [""; 0]);
    }
}
