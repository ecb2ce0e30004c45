//! The programs that are timed, built from `benches/peers` and from the registries below `target/`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ranks_harness::place::{self, Place};
use ranks_harness::workspace;
use ranks_launch::{Family, Installation, RDMA_PER_REQUEST};

use super::{IN_PROCESS, ON_MPI, Operation};
use crate::bench::samples::Run;
use crate::bench::yardstick;
use crate::command::succeeded;
use crate::mpi;

/// A program that is timed.
pub(super) struct Peer {
    pub(super) name: String,
    /// With its launcher, and without the rows.
    pub(super) command: Vec<OsString>,
    pub(super) environment: Vec<(String, OsString)>,
}

/// Programs that are compared: those on one library, or those in process.
pub(super) struct Track {
    pub(super) name: String,
    pub(super) operations: &'static [Operation],
    /// The first is the yardstick.
    pub(super) peers: Vec<Peer>,
}

const FOLDER: &str = "benches/peers";
/// C with the parameter of Open MPI that ranks sets, so that no message is written past its buffer.
pub(super) const WITHOUT_RDMA: &str = "C (no RDMA)";
/// Who is timed at `MPI_THREAD_MULTIPLE` as well, which ranks asks for by default.
pub(super) const MULTIPLE: [(&str, &str); 2] =
    [("C", "C (multiple)"), ("ranks", "ranks (multiple)")];
/// What pip is to bring.
pub(in crate::bench) const MPI4PY: &str = "mpi4py==4.1.2";
/// Where it brings it, beside the folders of the libraries.
const PACKAGES: &str = "python";

/// Builds everything for these MPIs; what cannot be built is left out of the run.
///
/// # Errors
/// A sentence if ranks cannot be built, or the machine not be looked through.
pub(super) fn build(
    mpis: &[String],
    folder: &Path,
    run: &mut Run,
) -> Result<(Vec<Track>, Vec<Place>), String> {
    let ranks = cargo("ranks", folder, &[])?;
    let mut tracks = Vec::new();
    let mut here = Vec::new();
    for place in place::places(mpis)? {
        match &place.installation {
            Ok(installation) => {
                tracks.push(on_mpi(&place, installation, &ranks, folder, run));
                here.push(place);
            }
            Err(why) => run.leave_out(&place.name, "everything", why),
        }
    }
    tracks.push(in_process(&ranks, folder)?);
    Ok((tracks, here))
}

/// All peers on one library.
fn on_mpi(
    place: &Place,
    installation: &Installation,
    ranks: &Path,
    folder: &Path,
    run: &mut Run,
) -> Track {
    let folder = folder.join(&place.name);
    let c = yardstick::build(installation, &format!("{FOLDER}/c/peer.c"), &folder);
    let built = [
        ("C", c),
        ("ranks", Ok(ranks.to_path_buf())),
        ("rsmpi", linked("rsmpi", installation, &folder)),
        ("ferrompi", linked("ferrompi", installation, &folder)),
        ("mpi4py", python(installation, &folder)),
    ];
    let environment = environment(place, installation, &folder);
    let mut peers = Vec::new();
    let mut add = |name: &str, program: &Path, set: &[(&str, &str)]| {
        let mut environment = environment.clone();
        environment.extend(
            set.iter()
                .map(|&(name, value)| (name.to_owned(), value.into())),
        );
        let interpreter = (name == "mpi4py").then(|| "python3".into());
        let launcher = [installation.launcher.clone().into_os_string()].into_iter();
        // Each rank has a core of its own.
        let options = ["-n", "2", "--bind-to", "core"].map(OsString::from);
        let command = launcher
            .chain(options)
            .chain(interpreter)
            .chain([program.into()]);
        peers.push(Peer {
            name: name.to_owned(),
            command: command.collect(),
            environment,
        });
    };
    for (name, program) in built {
        match program {
            Ok(program) => {
                add(name, &program, &[]);
                if name == "C" && installation.family == Family::OpenMpi {
                    let off = [(RDMA_PER_REQUEST, "0")];
                    let set = off.into_iter().chain(ranks_launch::WITHOUT_RDMA);
                    add(WITHOUT_RDMA, &program, &set.collect::<Vec<_>>());
                }
                if let Some((_, name)) = MULTIPLE.iter().find(|(single, _)| *single == name) {
                    add(name, &program, &[("BENCH_THREADS", "multiple")]);
                }
            }
            Err(why) => run.leave_out(&place.name, name, &why),
        }
    }
    Track {
        name: place.name.clone(),
        operations: &ON_MPI,
        peers,
    }
}

/// The library for those that open one, and for those that were linked with it.
fn environment(
    place: &Place,
    installation: &Installation,
    folder: &Path,
) -> Vec<(String, OsString)> {
    let library = &installation.library;
    let folders = [folder, library.parent().unwrap_or(folder)];
    let own = installation
        .env
        .iter()
        .map(|(name, value)| (name.as_str(), value.into()));
    let of_place = place
        .environment()
        .map(|(name, value)| (name, value.into()));
    let variables = [
        ("RANKS_MPI", library.into()),
        ("MPI4PY_LIBMPI", library.into()),
        ("PYTHONPATH", folder.with_file_name(PACKAGES).into()),
        (
            "LD_LIBRARY_PATH",
            std::env::join_paths(folders).unwrap_or_default(),
        ),
    ];
    let all = variables.into_iter().chain(own).chain(of_place);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A program of `benches/peers`.
fn cargo(name: &str, folder: &Path, variables: &[(&str, OsString)]) -> Result<PathBuf, String> {
    let target = folder.join("cargo");
    let mut cargo = workspace::cargo();
    cargo.args([
        "build",
        "--quiet",
        "--release",
        "--features",
        name,
        "--bin",
        name,
    ]);
    cargo.arg(format!("--manifest-path={FOLDER}/Cargo.toml"));
    cargo.arg("--target-dir").arg(&target);
    cargo.envs(variables.iter().map(|(name, value)| (name, value)));
    succeeded(&mut cargo)?;
    Ok(target.join("release").join(name))
}

/// A program of `benches/peers` that links the library which the compiler beside the launcher
/// names. Each library has a target folder, since cargo does not see that it is another one.
fn linked(name: &str, installation: &Installation, folder: &Path) -> Result<PathBuf, String> {
    not_standard(installation)?;
    let compiler = installation
        .launcher
        .to_string_lossy()
        .replace("mpiexec", "mpicc");
    if !Path::new(&compiler).is_file() {
        return Err(format!("there is no {compiler}"));
    }
    let headers = succeeded(Command::new("cc").arg("-print-file-name=include"))?;
    let libclang = mpi::library("libclang-18.1.1", "clang/native/libclang.so", true)?;
    // The wheel of libclang lacks the headers that a compiler brings.
    let headers = format!("-isystem {}", headers.trim());
    let variables = [
        ("MPICC", compiler.into()),
        ("LIBCLANG_PATH", libclang.with_file_name("").into()),
        ("BINDGEN_EXTRA_CLANG_ARGS", headers.into()),
    ];
    cargo(name, folder, &variables)
}

/// The program in Python; mpi4py is the same for all libraries.
fn python(installation: &Installation, folder: &Path) -> Result<PathBuf, String> {
    not_standard(installation)?;
    let packages = folder.with_file_name(PACKAGES);
    if !packages.is_dir() {
        let mut pip = Command::new("python3");
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            MPI4PY,
            "--target",
        ]);
        succeeded(pip.arg(&packages))?;
    }
    if installation.family != Family::OpenMpi {
        // The name that it asks for, which Debian's MPICH has not.
        let link = folder.join("libmpi.so.12");
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&installation.library, &link)
            .map_err(|error| format!("{}: {error}", link.display()))?;
    }
    Ok(workspace::root().join(FOLDER).join("peer.py"))
}

fn not_standard(installation: &Installation) -> Result<(), String> {
    if yardstick::is_standard(installation) {
        return Err("not for the standard ABI in this version".to_owned());
    }
    Ok(())
}

fn in_process(ranks: &Path, folder: &Path) -> Result<Track, String> {
    let threads = cargo("threads", folder, &[])?;
    let peers = ["mpsc", "crossbeam", "rayon", "rayon-twice"].map(|name| Peer {
        name: name.to_owned(),
        command: vec![threads.clone().into(), name.into()],
        environment: Vec::new(),
    });
    let variables = [("RANKS_BACKEND", "inprocess"), ("RANKS_NP", "2")];
    let ranks = Peer {
        name: "ranks".to_owned(),
        command: vec![ranks.into()],
        environment: variables
            .map(|(name, value)| (name.to_owned(), value.into()))
            .into(),
    };
    Ok(Track {
        name: "in process".to_owned(),
        operations: &IN_PROCESS,
        peers: peers.into_iter().chain([ranks]).collect(),
    })
}
