//! The places of a library that is installed in ways of its own: named by a variable, below a
//! folder of its vendor, in a package of Python.

use std::env::var_os;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Candidate, LoadError};

/// The places where one library may be.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// The name that the dynamic linker knows it by.
    pub soname: &'static str,
    /// The variable that names the file, or a folder with it.
    pub variable: &'static str,
    /// The variable that names the prefix of an installation, with the `$` that errors have.
    pub home: &'static str,
    /// The folder of the library in `site-packages`.
    pub package: &'static str,
}

impl Places {
    /// The file that the environment names. A folder stands for the library in it. `what` is as in
    /// [`Library::open`](crate::Library::open).
    ///
    /// # Errors
    /// As [`Candidate::named_by`].
    pub fn named(&self, what: &'static str) -> Result<Option<Candidate>, LoadError> {
        let named = Candidate::named_by(what, self.variable)?;
        Ok(named.map(|named| self.inside(named)))
    }

    /// The library in a folder. Any other candidate is what it was.
    fn inside(&self, mut named: Candidate) -> Candidate {
        if named.file.is_absolute() {
            let lies = |folder: &str| named.file.join(folder).join(self.soname);
            let mut inside = ["", "lib", "lib64"].map(lies).into_iter();
            if let Some(file) = inside.find(|file| file.is_file()) {
                named.file = file;
            }
        }
        named
    }

    /// All other candidates, in the order in which they are to be tried. Relative paths in
    /// variables name none.
    pub fn others(&self) -> Vec<Candidate> {
        self.others_by(|variable| var_os(variable))
    }

    fn others_by(&self, variable: impl Fn(&str) -> Option<OsString>) -> Vec<Candidate> {
        let folder = |name: &str| {
            let folder = PathBuf::from(variable(name.trim_start_matches('$'))?);
            folder.is_absolute().then_some(folder)
        };
        let mut candidates = vec![Candidate::new(
            self.soname,
            "the dynamic linker's own search",
        )];
        if let Some(home) = folder(self.home) {
            for lib in ["lib", "lib64"] {
                let file = home.join(lib).join(self.soname);
                candidates.push(Candidate::new(file, self.home));
            }
        }
        for prefix in ["$VIRTUAL_ENV", "$CONDA_PREFIX"] {
            if let Some(folder) = folder(prefix) {
                candidates.extend(self.in_python(&folder, prefix));
            }
        }
        candidates
    }

    /// The files that Python's packages put below a prefix, if they did.
    fn in_python(&self, prefix: &Path, why: &str) -> Vec<Candidate> {
        let lib = prefix.join("lib");
        let mut files = vec![lib.join(self.soname)];
        let pythons = fs::read_dir(&lib).into_iter().flatten().flatten();
        let mut pythons: Vec<PathBuf> = pythons.map(|entry| entry.path()).collect();
        pythons.sort();
        files.extend(pythons.iter().map(|python| {
            let packages = python.join("site-packages");
            packages.join(self.package).join(self.soname)
        }));
        files.retain(|file| file.is_file());
        files
            .into_iter()
            .map(|file| Candidate::new(file, why))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: Places = Places {
        soname: "libsome.so.2",
        variable: "RANKS_SOME",
        home: "$SOME_HOME",
        package: "vendor/some/lib",
    };

    /// A prefix with the library in a package of Python, while `look` looks.
    fn with_prefix(name: &str, look: impl FnOnce(&Path, PathBuf)) {
        let prefix = std::env::temp_dir().join(format!("ranks-load-{name}-{}", std::process::id()));
        let folder = prefix
            .join("lib/python3.11/site-packages")
            .join(PLACES.package);
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(prefix.join("lib/pkgconfig")).unwrap();
        let file = folder.join(PLACES.soname);
        fs::write(&file, "").unwrap();
        look(&prefix, file);
        fs::remove_dir_all(&prefix).unwrap();
    }

    #[test]
    fn a_package_of_python_is_found_below_its_prefix() {
        with_prefix("python", |prefix, file| {
            let found = PLACES.in_python(prefix, "here");
            assert_eq!(found, [Candidate::new(file, "here")]);
        });
    }

    #[test]
    fn a_relative_prefix_is_not_looked_into() {
        with_prefix("relative", |prefix, file| {
            let depth = std::env::current_dir().unwrap().components().count();
            let relative = Path::new(&"../".repeat(depth)).join(prefix.strip_prefix("/").unwrap());
            assert!(relative.is_dir());
            let others = |prefix: &Path| PLACES.others_by(|_| Some(prefix.into()));
            let found = others(prefix);
            assert_eq!(found.len(), 5);
            assert_eq!(found[4], Candidate::new(&file, "$CONDA_PREFIX"));
            assert_eq!(others(&relative), found[..1]);
            assert_eq!(others(Path::new("")), found[..1]);
        });
    }

    #[test]
    fn a_folder_stands_for_the_library_in_it() {
        with_prefix("folder", |_, file| {
            let inside = |named: &Path| PLACES.inside(Candidate::new(named, "here")).file;
            assert_eq!(inside(file.parent().unwrap()), file);
            assert_eq!(inside(file.parent().unwrap().parent().unwrap()), file);
            assert_eq!(inside(&file), file);
            // The dynamic linker finds it, whatever lies here.
            assert_eq!(inside(Path::new("src")), Path::new("src"));
        });
    }
}
