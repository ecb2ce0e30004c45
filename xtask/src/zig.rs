//! Programs for systems older than this one: linked by zig, which has the symbols of every release
//! of glibc and comes in a wheel.

use std::path::PathBuf;
use std::process::Command;

use ranks_harness::workspace;

use crate::glibc::Release;
use crate::mpi;

/// The wheel of zig, below `target/mpi`.
const ZIG: &str = "ziglang-0.17.1";

/// The systems that programs are built for: Linux on a processor, from a release of glibc on.
#[derive(Debug, Clone)]
pub(crate) struct System {
    /// As Rust and zig name it.
    pub(crate) processor: String,
    pub(crate) oldest: Release,
}

impl System {
    /// Old ones on this processor.
    pub(crate) fn old() -> Self {
        Self {
            processor: std::env::consts::ARCH.to_owned(),
            oldest: Release::OLD,
        }
    }

    /// The target, as Rust names it.
    pub(crate) fn target(&self) -> String {
        format!("{}-unknown-linux-gnu", self.processor)
    }

    /// Has a cargo build programs for them, stripped and without paths of this machine, in a folder
    /// of their own. With `provision` zig is fetched first.
    ///
    /// # Errors
    /// A sentence if there is no zig.
    pub(crate) fn prepare(&self, cargo: &mut Command, provision: bool) -> Result<(), String> {
        let Self { processor, oldest } = self;
        let target = self.target();
        let variable = target.to_uppercase().replace('-', "_");
        let root = workspace::root();
        let here = root.join("target/dist");
        // The linker is no part of what cargo compares: each release has a folder.
        cargo
            .env(
                "CARGO_TARGET_DIR",
                here.join(format!("{processor}-glibc-{oldest}")),
            )
            .env("CARGO_BUILD_TARGET", &target)
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
            .env("CARGO_ENCODED_RUSTFLAGS", without_paths().join("\x1f"))
            .env(
                format!("CARGO_TARGET_{variable}_LINKER"),
                root.join("xtask/src/zig/linker.sh"),
            )
            .env("ZIG", mpi::library(ZIG, "zig", provision)?)
            .env("ZIG_TARGET", format!("{processor}-linux-gnu.{oldest}"))
            .env("ZIG_GLOBAL_CACHE_DIR", here.join("zig"))
            .env("ZIG_LOCAL_CACHE_DIR", here.join("zig"));
        Ok(())
    }
}

/// The licences of what zig links into a program, as files.
pub(crate) fn licences(provision: bool) -> Result<[PathBuf; 2], String> {
    Ok([
        mpi::library(ZIG, "LICENSE", provision)?,
        mpi::library(ZIG, "lib/libunwind/LICENSE.TXT", provision)?,
    ])
}

/// The options that take this machine's folders out of programs.
fn without_paths() -> Vec<String> {
    let home = std::env::home_dir().unwrap_or_default();
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    [(workspace::root(), "ranks"), (cargo, "cargo")]
        .map(|(path, name)| format!("--remap-path-prefix={}=/{name}", path.display()))
        .to_vec()
}
