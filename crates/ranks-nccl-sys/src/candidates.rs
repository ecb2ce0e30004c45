//! Where an NCCL may be, in the order in which it is looked for.

use std::env::var_os;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use ranks_load::Candidate;

/// The name that every release of NCCL 2 has.
pub(crate) const SONAME: &str = "libnccl.so.2";

/// The file that the environment names. A folder stands for the library in it.
pub(crate) fn named() -> Option<PathBuf> {
    let named = PathBuf::from(set("RANKS_NCCL")?);
    let inside = [
        named.join(SONAME),
        named.join("lib").join(SONAME),
        named.join("lib64").join(SONAME),
    ];
    Some(
        inside
            .into_iter()
            .find(|file| file.is_file())
            .unwrap_or(named),
    )
}

/// All others.
pub(crate) fn others() -> Vec<Candidate> {
    let mut candidates = vec![Candidate::new(SONAME, "the dynamic linker's own search")];
    if let Some(home) = set("NCCL_HOME") {
        for lib in ["lib", "lib64"] {
            let file = Path::new(&home).join(lib).join(SONAME);
            candidates.push(Candidate::new(file, "$NCCL_HOME"));
        }
    }
    for (variable, why) in [
        ("VIRTUAL_ENV", "$VIRTUAL_ENV"),
        ("CONDA_PREFIX", "$CONDA_PREFIX"),
    ] {
        if let Some(prefix) = set(variable) {
            candidates.extend(in_python(Path::new(&prefix), why));
        }
    }
    candidates
}

/// Where Python's packages put it below a prefix, if they did.
fn in_python(prefix: &Path, why: &str) -> Vec<Candidate> {
    let lib = prefix.join("lib");
    let mut files = vec![lib.join(SONAME)];
    let pythons = fs::read_dir(&lib).into_iter().flatten().flatten();
    let mut pythons: Vec<PathBuf> = pythons.map(|entry| entry.path()).collect();
    pythons.sort();
    files.extend(
        pythons
            .iter()
            .map(|python| python.join("site-packages/nvidia/nccl/lib").join(SONAME)),
    );
    files.retain(|file| file.is_file());
    files
        .into_iter()
        .map(|file| Candidate::new(file, why))
        .collect()
}

fn set(variable: &str) -> Option<OsString> {
    var_os(variable).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_of_python_is_found_below_its_prefix() {
        let prefix = std::env::temp_dir().join(format!("ranks-nccl-sys-{}", std::process::id()));
        let folder = prefix.join("lib/python3.11/site-packages/nvidia/nccl/lib");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(prefix.join("lib/pkgconfig")).unwrap();
        fs::write(folder.join(SONAME), "").unwrap();
        let found = in_python(&prefix, "here");
        fs::remove_dir_all(&prefix).unwrap();
        assert_eq!(found, [Candidate::new(folder.join(SONAME), "here")]);
    }
}
