//! A trial of an archive: its programs run in a root of an old release of Debian.

use std::fs;
use std::path::Path;
use std::process::Command;

use ranks_harness::mpi;
use ranks_harness::root::Root;
use ranks_harness::{wheels, workspace};
use ranks_launch::{Family, Installation};

use crate::command::succeeded;
use crate::debian;
use crate::package::empty;

/// The packages of a root: the C library, and what MPIs and their launchers want besides.
const PACKAGES: [&str; 4] = ["libc6", "dash", "libstdc++6", "zlib1g"];

/// Where the archive and the MPIs lie in the root.
const HERE: &str = "/dist";
const MPIS: &str = "/mpi";

/// Unpacks an archive and runs its programs in a root of a release: in process, and on those MPIs
/// of wheels that are here.
pub(super) fn run(archive: &Path, release: &str) -> Result<(), String> {
    let target = workspace::root().join("target/dist");
    let folder = target.join(release);
    if !folder.is_dir() {
        debian::unpack(&PACKAGES, "amd64", Some(release), &folder)?;
    }
    let unpacked = target.join("unpacked");
    empty(&unpacked).map_err(|error| error.to_string())?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--strip-components=1", "--directory"]);
    succeeded(tar.arg(&unpacked).arg("--file").arg(archive))?;

    let root = Root::new(&folder)
        .bind("/tmp", "/tmp")
        .bind("/etc/hosts", "/etc/hosts")
        .bind(&unpacked, HERE)
        .bind(mpi::folder(), MPIS);
    let command = |program: &str| -> Result<Command, String> {
        let mut command = root.command().ok_or("nothing may be mounted here")?;
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", "/tmp");
        command
            .env("RANKS_MPI_DIR", MPIS)
            .arg(format!("{HERE}/{program}"));
        Ok(command)
    };
    let mut examples: Vec<_> = fs::read_dir(unpacked.join("examples"))
        .and_then(Iterator::collect::<Result<_, _>>)
        .map_err(|error| error.to_string())?;
    examples.sort_by_key(fs::DirEntry::file_name);
    for example in examples {
        let name = example.file_name().display().to_string();
        succeeded(command(&format!("examples/{name}"))?.env("RANKS_NP", "2"))?;
        println!("{release}: {name} on 2 ranks in process");
    }
    for Installation { name, family, .. } in mpi::matrix(&[])? {
        if wheels::named(&name).is_none() {
            continue;
        }
        let mut ranks = command("bin/ranks")?;
        ranks.args(["run", "--mpi", &name, "-n", "2", "/dist/examples/hello"]);
        if family == Family::OpenMpi {
            // Open MPI 4 looks for an ssh otherwise.
            ranks.env("OMPI_MCA_plm", "isolated");
            for runtime in ["OMPI", "PRTE"] {
                ranks.env(format!("{runtime}_ALLOW_RUN_AS_ROOT"), "1");
                ranks.env(format!("{runtime}_ALLOW_RUN_AS_ROOT_CONFIRM"), "1");
            }
        }
        let said = succeeded(&mut ranks)?;
        if said.matches(" of 2 on ").count() != 2 {
            return Err(format!("{release}, {name}: hello said {said:?}"));
        }
        println!("{release}: hello on 2 ranks of {name}");
    }
    Ok(())
}
