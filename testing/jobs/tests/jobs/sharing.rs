//! Communicators, datatypes and requests go to and fro between this program and a part of it in C,
//! which is linked to the same MPI; windows of ours go there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ranks_launch::{Family, Installation};

use super::{all, assert_done, is_mpich, job, named, scratch};

#[test]
#[ignore = "needs an MPI"]
fn handles_are_shared_with_code_in_c() {
    for installation in named() {
        let name = installation.name.clone();
        let folder = scratch(&format!("sharing-{name}"));
        let library = build(&installation, &folder);
        let handles = if is_mpich(&installation) && !is_standard(&installation) {
            "int"
        } else {
            "pointer"
        };
        let arguments = ["sharing", library.to_str().unwrap(), handles];
        for ranks in [2, 3] {
            let job = job(&arguments).on(installation.clone()).ranks(ranks);
            assert_done(&name, &job.run().unwrap());
        }
        fs::remove_dir_all(folder).unwrap();
    }
}

/// Returns `true` if the library is that of the standard ABI.
fn is_standard(installation: &Installation) -> bool {
    installation.name.ends_with("-abi")
}

/// Compiles `c/sharing.c` with the installation's header and links it to its library.
fn build(installation: &Installation, folder: &Path) -> PathBuf {
    let header = header(installation);
    let library = fs::canonicalize(&installation.library).unwrap();
    let beside = library.parent().unwrap();
    let built = folder.join("libsharing.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/sharing.c");
    let output = Command::new("cc")
        .args([
            "-std=gnu11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
            "-fPIC",
        ])
        .arg(format!("-DMPI_HEADER=\"{}\"", header.display()))
        .arg("-I")
        .arg(header.parent().unwrap())
        .arg(source)
        .arg("-o")
        .arg(&built)
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", beside.display()))
        .output()
        .unwrap_or_else(|error| panic!("cc: {error}; install a C compiler (apt install gcc)"));
    assert!(
        output.status.success(),
        "{}: {}",
        installation.name,
        String::from_utf8_lossy(&output.stderr)
    );
    built
}

/// The header that belongs to the library. Intel's MPI comes without one from the Python index; it
/// has the ABI of MPICH, and so its header may be that of any MPICH.
fn header(installation: &Installation) -> PathBuf {
    let own = headers(installation);
    let others = all()
        .into_iter()
        .filter(|other| other.family == Family::Mpich && !is_standard(other));
    let others = others.flat_map(|other| headers(&other));
    let mut found = own.into_iter();
    let header = if installation.family == Family::Intel {
        found.chain(others).next()
    } else {
        found.next()
    };
    header.unwrap_or_else(|| {
        panic!(
            "no header for {}; on Debian and Ubuntu: apt install libmpich-dev libopenmpi-dev",
            installation.name
        )
    })
}

/// The headers in the places where this installation's may be.
fn headers(installation: &Installation) -> Vec<PathBuf> {
    let file = if is_standard(installation) {
        "mpi_abi.h"
    } else {
        "mpi.h"
    };
    let prefix = installation.library.ancestors().nth(2).unwrap();
    let places = match installation.name.as_str() {
        "debian-mpich" => "/usr/include/x86_64-linux-gnu/mpich".into(),
        "debian-openmpi" => "/usr/lib/x86_64-linux-gnu/openmpi/include".into(),
        _ => prefix.join("include"),
    };
    Some(places.join(file))
        .into_iter()
        .filter(|file| file.is_file())
        .collect()
}
