//! The MPIs that `PATH` leads to.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::Installation;
use crate::Family;
use crate::library::names;
use crate::machine::files;

impl Installation {
    /// The first `mpiexec` in the folders of `path`, and the MPI that it belongs to where that can
    /// be told.
    pub fn of_first_launcher(path: &OsStr) -> Option<(PathBuf, Option<Installation>)> {
        let mut files = folders(path)
            .into_iter()
            .map(|folder| folder.join("mpiexec"));
        let file = files.find(|file| file.is_file())?;
        let installation = Self::of_launcher(&file);
        Some((file, installation))
    }

    /// The MPI that a launcher belongs to: of its prefix, or of the prefix of the file behind its
    /// links.
    ///
    /// If libraries of several families lie there, the name of that file tells which is its own.
    pub fn of_launcher(file: &Path) -> Option<Installation> {
        let real = files::real(file)?;
        let family = Family::of_launcher(&real);
        let prefixes = [file, &real].map(|file| file.parent().and_then(Path::parent));
        prefixes.into_iter().flatten().find_map(|prefix| {
            let name = prefix.file_name().unwrap_or_default().to_string_lossy();
            let found = Self::at(prefix, &name).into_iter().next();
            let own = found.filter(|found| family.is_none_or(|family| family.starts(found.family)));
            own.map(|found| Installation {
                launcher: file.to_path_buf(),
                ..found
            })
            .or_else(|| Self::of_family(prefix, family?, file, kind()))
        })
    }

    /// The installations of the system: launchers in the folders of `PATH` and the libraries in the
    /// prefixes of those folders.
    ///
    /// They are named `debian-mpich` and `debian-openmpi` on Debian and its descendants, `system-…`
    /// elsewhere.
    pub fn of_system() -> Vec<Installation> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self::in_path(&folders(&path), kind())
    }

    fn in_path(folders: &[PathBuf], kind: &str) -> Vec<Installation> {
        // A launcher that bears its family's name comes first: the plain one is an alias of it, or
        // the only one.
        const FILES: [(&str, Option<Family>); 5] = [
            ("mpiexec.mpich", Some(Family::Mpich)),
            ("mpiexec.openmpi", Some(Family::OpenMpi)),
            ("mpiexec.hydra", Some(Family::Mpich)),
            ("prterun", Some(Family::OpenMpi)),
            ("mpiexec", None),
        ];
        let mut list: Vec<Installation> = Vec::new();
        for (file, family) in FILES {
            for launcher in folders
                .iter()
                .map(|folder| folder.join(file))
                .filter(|launcher| launcher.is_file())
            {
                let found = match (family, launcher.parent().and_then(Path::parent)) {
                    (Some(family), Some(prefix)) => {
                        Self::of_family(prefix, family, &launcher, kind)
                    }
                    (None, Some(prefix)) => {
                        Self::at(prefix, "")
                            .into_iter()
                            .next()
                            .map(|found| Installation {
                                name: format!("{kind}-{}", found.family.word()),
                                ..found
                            })
                    }
                    (_, None) => None,
                };
                // One of a family is enough: a second launcher is an alias, or hidden behind the
                // first by PATH itself.
                list.extend(
                    found.filter(|found| list.iter().all(|other| other.name != found.name)),
                );
            }
        }
        list
    }

    fn of_family(
        prefix: &Path,
        family: Family,
        launcher: &Path,
        kind: &str,
    ) -> Option<Installation> {
        let folders = names::library_folders(prefix);
        let (folder, library) = folders
            .iter()
            .find_map(|folder| Some((folder, names::native_library(folder, family)?)))?;
        let family = if family == Family::Mpich && names::is_intel(folder) {
            Family::Intel
        } else {
            family
        };
        // `prterun` alone proves that an Open MPI is here, but does not start ranks as Open MPI's
        // own launcher does.
        let own = launcher.with_file_name("mpiexec");
        let launcher = if launcher.ends_with("prterun") && own.is_file() {
            own
        } else {
            launcher.to_path_buf()
        };
        Some(Self::new(
            format!("{kind}-{}", family.word()),
            family,
            None,
            library,
            launcher,
        ))
    }
}

/// The folders of a `PATH`: a relative one is another one for each rank.
fn folders(path: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .collect()
}

/// The first part of the names of installations of the system.
fn kind() -> &'static str {
    if Path::new("/etc/debian_version").exists() {
        "debian"
    } else {
        "system"
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::library::installation::tests::scratch;

    #[test]
    fn two_families_in_one_prefix_are_told_apart_by_their_launchers() {
        let root = scratch(
            "path",
            &[
                "bin/mpiexec.mpich",
                "bin/mpiexec.openmpi",
                "bin/mpiexec",
                "bin/mpiexec.hydra",
                "lib/libmpi.so.40",
                "lib/libmpich.so.12",
            ],
        );
        let list = Installation::in_path(&[root.join("bin")], "debian");
        let names: Vec<_> = list.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["debian-mpich", "debian-openmpi"]);
        assert!(
            list[0].library.ends_with("libmpich.so.12")
                && list[0].launcher.ends_with("mpiexec.mpich")
        );
        assert!(list[1].library.ends_with("libmpi.so.40") && !list[1].is_prrte());
        assert!(Installation::at(&root, "x").is_empty());
        fs::remove_dir_all(root).unwrap();
    }

    /// It was taken for an Open MPI, and its launcher for Open MPI's.
    #[test]
    fn a_launcher_beside_a_library_of_another_family_is_not_its_own() {
        let root = scratch(
            "alien",
            &[
                "bin/mpiexec.hydra",
                "bin/mpiexec.openmpi",
                "lib/libmpi.so.40",
            ],
        );
        let link = root.join("bin/mpiexec");
        std::os::unix::fs::symlink("mpiexec.hydra", &link).unwrap();
        assert_eq!(Installation::of_launcher(&link), None);
        let own = Installation::of_launcher(&root.join("bin/mpiexec.openmpi")).unwrap();
        assert_eq!(own.library, root.join("lib/libmpi.so.40"));
        assert!(own.launcher.ends_with("mpiexec.openmpi"));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_launcher_behind_a_link_leads_to_its_own_prefix() {
        let root = scratch(
            "linked",
            &["m/bin/mpiexec", "m/lib/libmpi.so.12", "home/bin/x"],
        );
        let link = root.join("home/bin/mpiexec");
        std::os::unix::fs::symlink(root.join("m/bin/mpiexec"), &link).unwrap();
        let (file, found) =
            Installation::of_first_launcher(root.join("home/bin").as_os_str()).unwrap();
        let library = found.unwrap().library.canonicalize().unwrap();
        assert_eq!(
            library,
            root.join("m/lib/libmpi.so.12").canonicalize().unwrap()
        );
        assert_eq!(file, link);
        assert_eq!(Installation::of_first_launcher(OsStr::new("bin:.")), None);
        fs::remove_dir_all(root).unwrap();
    }
}
