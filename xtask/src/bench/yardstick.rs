//! The C program, built against one installation's own header and library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ranks_harness::workspace;
use ranks_launch::{Family, Installation};

/// The header of the standard ABI, which lies beside the implementation's own.
const STANDARD: &str = "mpi_abi.h";

/// Returns `true` if the installation's library is one of the standard ABI: its own functions are
/// called, with no shim.
pub(super) fn is_standard(installation: &Installation) -> bool {
    let name = installation.library.file_name();
    name.is_some_and(|name| name.to_string_lossy().starts_with("libmpi_abi"))
}

/// Builds a program of one C file of the workspace into `folder`; returns it.
///
/// # Errors
/// Errors if the header, a C compiler or valgrind's header is missing.
pub(super) fn build(
    installation: &Installation,
    source: &str,
    folder: &Path,
) -> Result<PathBuf, String> {
    let header = header(installation)?;
    let (Some(include), Some(name)) = (header.parent(), header.file_name()) else {
        return Err(format!("{} is no header", header.display()));
    };
    let library = fs::canonicalize(&installation.library)
        .map_err(|error| format!("{}: {error}", installation.library.display()))?;
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = folder.join("c");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-std=gnu11", "-O3", "-Wall", "-Wextra"])
        .arg(format!("-DMPI_HEADER=\"{}\"", name.to_string_lossy()))
        .arg("-I")
        .arg(include)
        .arg(workspace::root().join(source))
        .arg("-o")
        .arg(&program)
        .arg(&library);
    if let Some(beside) = library.parent() {
        compiler.arg(format!("-Wl,-rpath,{}", beside.display()));
    }
    let output = compiler
        .output()
        .map_err(|error| format!("cc: {error}; install a C compiler (apt install gcc)"))?;
    if output.status.success() {
        Ok(program)
    } else {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let hint = if complaint.contains("callgrind.h") {
            "\n(apt install valgrind brings callgrind.h)"
        } else {
            ""
        };
        Err(format!(
            "the C program was not built for {}:\n{complaint}{hint}",
            installation.name
        ))
    }
}

/// The header that belongs to the library.
fn header(installation: &Installation) -> Result<PathBuf, String> {
    let folders = include_folders(&installation.library);
    let found = if is_standard(installation) {
        folders
            .iter()
            .map(|folder| folder.join(STANDARD))
            .find(|file| file.is_file())
    } else {
        let own = folders.iter().map(|folder| folder.join("mpi.h"));
        own.into_iter().find(|file| {
            fs::read_to_string(file).is_ok_and(|text| is_of(&text, installation.family))
        })
    };
    found.ok_or_else(|| {
        let places: Vec<String> = folders
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        format!(
            "no header for {} in {}; on Debian and Ubuntu: apt install libmpich-dev libopenmpi-dev",
            installation.name,
            places.join(", ")
        )
    })
}

/// The folders of headers for a library: below its prefix, and where Debian puts those of several
/// MPIs.
fn include_folders(library: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for folder in library.ancestors().skip(1) {
        folders.push(folder.join("include"));
        for name in ["mpich", "openmpi"] {
            folders.push(folder.join(name).join("include"));
            folders.push(folder.join("include").join(name));
            if let Some(triple) = library.parent().and_then(Path::file_name) {
                folders.push(folder.join("include").join(triple).join(name));
            }
        }
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Returns `true` if the text of an `mpi.h` is of that family.
fn is_of(text: &str, family: Family) -> bool {
    let open_mpi = text.contains("OMPI_MAJOR_VERSION");
    let mpich = text.contains("MPICH_VERSION") || text.contains("I_MPI_VERSION");
    match family {
        Family::OpenMpi => open_mpi,
        _ => mpich && !open_mpi,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_told_apart() {
        assert!(is_of("#define OMPI_MAJOR_VERSION 4", Family::OpenMpi));
        assert!(is_of("#define MPICH_VERSION \"4.0\"", Family::Mpich));
        assert!(!is_of("#define OMPI_MAJOR_VERSION 4", Family::Mpich));
        assert!(!is_of("#define MPICH_VERSION \"4.0\"", Family::OpenMpi));
    }

    #[test]
    fn the_headers_of_this_machines_installations_are_found() {
        for installation in Installation::of_system() {
            if let Ok(header) = header(&installation) {
                assert!(header.is_file());
            }
        }
    }
}
