//! The MPIs that `RANKS_TEST_MPI` names.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ranks_launch::Installation;

use crate::record;

/// The installations that the variable names; none if it is not set.
///
/// Installations are looked for in the system, and in `target/mpi` of the folder that the test runs
/// in or one above it.
pub(crate) fn named() -> Result<Vec<Installation>, String> {
    let text = text(std::env::var_os(record::MPIS))?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let known = Installation::all(provisioned().as_deref());
    let mut chosen: Vec<Installation> = Vec::new();
    for word in text
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
    {
        for installation in choose(word, &known)? {
            if !chosen.contains(&installation) {
                chosen.push(installation);
            }
        }
    }
    Ok(chosen)
}

/// The value of the variable, empty if it is not set.
fn text(value: Option<OsString>) -> Result<String, String> {
    value.unwrap_or_default().into_string().map_err(|value| {
        format!(
            "{} is {value:?}, which is not text; it must be names of MPIs, or `all`",
            record::MPIS
        )
    })
}

/// The folder of unpacked MPIs that is nearest to where the test runs.
fn provisioned() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors()
        .map(|folder| folder.join("target/mpi"))
        .find(|folder| folder.is_dir())
}

/// The installations that one word of the variable names.
fn choose(word: &str, known: &[Installation]) -> Result<Vec<Installation>, String> {
    let such = |chosen: &dyn Fn(&Installation) -> bool| -> Vec<Installation> {
        known.iter().filter(|mpi| chosen(mpi)).cloned().collect()
    };
    let found = if word == "all" {
        such(&|_| true)
    } else if word.contains('/') {
        let path = Path::new(word);
        if path.is_relative() {
            return Err(format!(
                "{} names `{word}`, which is relative, and leads elsewhere from the folder of each package, in which cargo runs its tests; \
                 write it from the root",
                record::MPIS
            ));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Installation::at(path, &name)
    } else {
        let exact = such(&|mpi| mpi.name == word);
        if exact.is_empty() {
            such(&|mpi| mpi.name.split('-').any(|part| part == word))
        } else {
            exact
        }
    };
    if found.is_empty() {
        let names: Vec<&str> = known.iter().map(|mpi| mpi.name.as_str()).collect();
        let names = if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        };
        return Err(format!(
            "{} names `{word}`, and no such MPI is found; there are: {names}",
            record::MPIS
        ));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use ranks_launch::Family;

    use super::*;

    fn known() -> Vec<Installation> {
        [
            "mpich-5.0.2",
            "mpich-5.0.2-abi",
            "openmpi-5.0.11",
            "debian-openmpi",
        ]
        .map(|name| Installation {
            name: name.to_owned(),
            family: Family::Mpich,
            version: None,
            library: PathBuf::from("lib"),
            launcher: PathBuf::from("mpiexec"),
            env: Vec::new(),
        })
        .to_vec()
    }

    fn names(word: &str) -> Vec<String> {
        choose(word, &known())
            .unwrap()
            .into_iter()
            .map(|mpi| mpi.name)
            .collect()
    }

    #[test]
    fn a_word_names_one_a_kind_or_all() {
        assert_eq!(names("mpich-5.0.2"), ["mpich-5.0.2"]);
        assert_eq!(names("mpich"), ["mpich-5.0.2", "mpich-5.0.2-abi"]);
        assert_eq!(names("openmpi"), ["openmpi-5.0.11", "debian-openmpi"]);
        assert_eq!(names("all").len(), 4);
    }

    #[test]
    fn what_is_not_there_is_an_error_that_lists_what_is() {
        let text = choose("mpih", &known()).unwrap_err();
        assert!(
            text.contains("`mpih`") && text.contains("debian-openmpi"),
            "{text}"
        );
        assert!(choose("/no/such/folder", &known()).is_err());
    }

    /// The ranks were told that `RANKS_MPI`, which nobody had set, was relative.
    #[test]
    fn a_relative_folder_is_refused_by_the_name_of_its_variable() {
        for word in ["target/mpi/mpich-5.0.2", "./mpich", "../mpich"] {
            let text = choose(word, &known()).unwrap_err();
            let said = format!("RANKS_TEST_MPI names `{word}`, which is relative");
            assert!(text.starts_with(&said), "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn names_that_are_not_text_are_an_error() {
        use std::os::unix::ffi::OsStringExt;

        let error = text(Some(OsString::from_vec(b"mpich\xff".to_vec()))).unwrap_err();
        let said = "RANKS_TEST_MPI is \"mpich\\xFF\", which is not text";
        assert!(error.starts_with(said), "{error}");
        assert_eq!(text(None).unwrap(), "");
    }
}
