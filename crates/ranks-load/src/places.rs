//! The places of a library that is installed in ways of its own: named by a variable, below a
//! folder of its vendor, in a package of Python.

use std::env::var_os;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Candidate;

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
    /// The file that the environment names. A folder stands for the library in it.
    pub fn named(&self) -> Option<PathBuf> {
        let named = PathBuf::from(set(self.variable)?);
        let inside = [
            named.join(self.soname),
            named.join("lib").join(self.soname),
            named.join("lib64").join(self.soname),
        ];
        Some(
            inside
                .into_iter()
                .find(|file| file.is_file())
                .unwrap_or(named),
        )
    }

    /// All other candidates, in the order in which they are to be tried.
    pub fn others(&self) -> Vec<Candidate> {
        let mut candidates = vec![Candidate::new(
            self.soname,
            "the dynamic linker's own search",
        )];
        if let Some(home) = set(self.home.trim_start_matches('$')) {
            for lib in ["lib", "lib64"] {
                let file = Path::new(&home).join(lib).join(self.soname);
                candidates.push(Candidate::new(file, self.home));
            }
        }
        for (variable, why) in [
            ("VIRTUAL_ENV", "$VIRTUAL_ENV"),
            ("CONDA_PREFIX", "$CONDA_PREFIX"),
        ] {
            if let Some(prefix) = set(variable) {
                candidates.extend(self.in_python(Path::new(&prefix), why));
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

fn set(variable: &str) -> Option<OsString> {
    var_os(variable).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_of_python_is_found_below_its_prefix() {
        let places = Places {
            soname: "libsome.so.2",
            variable: "RANKS_SOME",
            home: "$SOME_HOME",
            package: "vendor/some/lib",
        };
        let prefix = std::env::temp_dir().join(format!("ranks-load-{}", std::process::id()));
        let folder = prefix.join("lib/python3.11/site-packages/vendor/some/lib");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(prefix.join("lib/pkgconfig")).unwrap();
        fs::write(folder.join(places.soname), "").unwrap();
        let found = places.in_python(&prefix, "here");
        fs::remove_dir_all(&prefix).unwrap();
        assert_eq!(found, [Candidate::new(folder.join(places.soname), "here")]);
    }
}
