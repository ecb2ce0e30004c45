//! Another processor, emulated: a linker and a C library for it, an emulator and MPIs, brought
//! below `target` without root and without installing anything.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use ranks_harness::place::EMULATION;
use ranks_harness::workspace;

use crate::{debian, mpi};

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
            debian::unpack(&DEBIAN, "arm64", None, &emulated.root())?;
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
}
