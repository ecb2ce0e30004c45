//! Another processor, emulated: a linker and a C library for it, an emulator and MPIs, brought
//! below `target` without root and without installing anything.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use ranks_harness::place::EMULATION;
use ranks_harness::workspace;

use crate::command::succeeded;
use crate::mpi;

/// The packages whose tests run there, unless others are named.
pub(super) const PACKAGES: [&str; 7] = [
    "ranks-comm",
    "ranks-collectives",
    "ranks-rma-window",
    "ranks-load",
    "ranks-launch",
    "ranks-mpi-sys",
    "ranks-trace",
];

/// The packages of Debian that hold the linker, the C library to link with, the libraries to run
/// with and the emulator.
const DEBIAN: [&str; 5] = [
    "gcc-aarch64-linux-gnu",
    "libc6-dev-arm64-cross",
    "libstdc++6:arm64",
    "zlib1g:arm64",
    "qemu-user-static",
];

/// All of it, below one folder.
pub(super) struct Emulated {
    folder: PathBuf,
}

impl Emulated {
    /// The parts that are here; those that are missing are brought first if that is asked for.
    pub(super) fn of(bring: bool) -> Result<Self, String> {
        let emulated = Self {
            folder: workspace::root().join("target").join("aarch64"),
        };
        if bring {
            mpi::bring_aarch64(&emulated.mpis());
        }
        if !emulated.root().is_dir() {
            if !bring {
                return Err("without --offline the emulator is brought first".to_owned());
            }
            emulated.bring_root()?;
        }
        Ok(emulated)
    }

    /// The folder of its MPIs.
    pub(super) fn mpis(&self) -> PathBuf {
        self.folder.join("mpi")
    }

    fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    /// The emulator with its arguments.
    pub(super) fn runner(&self) -> Vec<OsString> {
        let emulator = self.root().join("usr/bin/qemu-aarch64-static");
        vec![emulator.into(), "-L".into(), self.root().into()]
    }

    /// Has a cargo build for the processor, in a folder of its own, and run by the emulator.
    pub(super) fn prepare(&self, cargo: &mut Command) {
        let variable = |name| format!("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_{name}");
        let linker = workspace::root().join("testing/aarch64/linker.sh");
        cargo
            .env("CARGO_BUILD_TARGET", "aarch64-unknown-linux-gnu")
            .env("CARGO_TARGET_DIR", &self.folder)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env(variable("LINKER"), linker)
            .env(variable("RUNNER"), self.runner().join(" ".as_ref()))
            .envs(EMULATION);
    }

    /// Fetches the packages of Debian and unpacks them, with lists and a state of their own: as if
    /// nothing were installed here.
    fn bring_root(&self) -> Result<(), String> {
        let work = self.folder.join(format!(".root.{}", std::process::id()));
        for folder in ["lists/partial", "archives/partial", "root"] {
            let folder = work.join(folder);
            fs::create_dir_all(&folder)
                .map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let apt = || {
            let mut apt = Command::new("apt-get");
            apt.arg("-qq")
                .arg(format!("-oDir::State={}", work.display()));
            apt.arg(format!("-oDir::Cache={}", work.display()));
            apt.args([
                "-oAPT::Architectures::=arm64",
                "-oDir::State::status=/dev/null",
            ]);
            apt.args(["-oDebug::NoLocking=1", "-oAPT::Sandbox::User="]);
            apt
        };
        succeeded(apt().arg("update"))?;
        let mut fetch = apt();
        fetch.args([
            "install",
            "--yes",
            "--download-only",
            "--no-install-recommends",
        ]);
        succeeded(fetch.args(DEBIAN))?;
        let archives = work.join("archives");
        let entries = fs::read_dir(&archives).map_err(|error| error.to_string())?;
        for package in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if package.extension().is_some_and(|ending| ending == "deb") {
                succeeded(
                    Command::new("dpkg")
                        .arg("-x")
                        .arg(&package)
                        .arg(work.join("root")),
                )?;
            }
        }
        let made = fs::rename(work.join("root"), self.root());
        let _ = fs::remove_dir_all(&work);
        made.map_err(|error| format!("{}: {error}", self.root().display()))
    }
}
