//! Open MPI away from the place that it was built for.

use std::path::{Path, PathBuf};

/// The settings that were made so that the library finds its own files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relocation {
    /// Nothing had to be done.
    NotNeeded,
    /// `OPAL_PREFIX` and `PMIX_PREFIX` were set to this prefix.
    Set(PathBuf),
    /// They would have been set to this prefix, but other threads run, which may read the
    /// environment, or a system without `/proc` does not tell that none does. If MPI does not
    /// start, set `OPAL_PREFIX` to it before the program starts.
    Refused(PathBuf),
}

/// Tells an Open MPI outside of `/usr` where it lies, unless somebody else has.
pub(crate) fn openmpi(library: &Path) -> Relocation {
    let Some(prefix) = prefix_of(library) else {
        return Relocation::NotNeeded;
    };
    if std::env::var_os("OPAL_PREFIX").is_some() || prefix.starts_with("/usr") {
        return Relocation::NotNeeded;
    }
    if !is_single_threaded() {
        return Relocation::Refused(prefix);
    }
    for variable in ["OPAL_PREFIX", "PMIX_PREFIX"] {
        if std::env::var_os(variable).is_none() {
            // SAFETY: this is the process's only thread, so nobody reads the environment meanwhile.
            unsafe { std::env::set_var(variable, &prefix) };
        }
    }
    Relocation::Set(prefix)
}

/// The prefix of an installation, told by the program that each has.
fn prefix_of(library: &Path) -> Option<PathBuf> {
    let library = library.canonicalize().ok()?;
    let prefix = library
        .parent()?
        .ancestors()
        .find(|folder| folder.join("bin/ompi_info").is_file());
    prefix.map(Path::to_path_buf)
}

fn is_single_threaded() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}
