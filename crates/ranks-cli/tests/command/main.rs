//! The command on machines with something wrong: what it says first, and how it ends; and jobs that
//! it starts.
//!
//! Tests that need an MPI are ignored; `cargo xtask test` runs them on each one, and by hand it is
//! `RANKS_TEST_MPI=mpich-5.0.2,debian-openmpi cargo test -p ranks-cli -- --include-ignored`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests")]

mod arguments;
mod doctor;
mod dumps;
mod ends;
mod faults;
mod little_memory;
mod observed;
mod on_mpi;
mod postmortem;
mod run;
mod surviving;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The command.
const RANKS: &str = env!("CARGO_BIN_EXE_ranks");

/// The command on a machine where nothing is installed: no launcher in `PATH`, and no library under
/// the name that is looked for.
fn bare() -> Command {
    let mut command = Command::new(RANKS);
    command.env_clear().env("PATH", "/nonexistent");
    command.env("RANKS_MPI", "libmpi-of-nobody.so.12");
    command
}

/// What a job of this program fails with.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What a command wrote, and its status.
struct Said {
    text: String,
    errors: String,
    status: Option<i32>,
}

fn said(command: &mut Command) -> Said {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    Said {
        text: String::from_utf8_lossy(&stdout).into_owned(),
        errors: String::from_utf8_lossy(&stderr).into_owned(),
        status: status.code(),
    }
}

impl Said {
    /// All of these are in what it tells.
    #[track_caller]
    fn tells(&self, parts: &[&str]) {
        self.has(&self.text, parts);
    }

    /// All of these are in its errors.
    #[track_caller]
    fn complains(&self, parts: &[&str]) {
        self.has(&self.errors, parts);
    }

    /// Its text has this so many times.
    #[track_caller]
    fn repeats(&self, part: &str, times: usize) {
        let Said { text, errors, .. } = self;
        assert_eq!(
            text.matches(part).count(),
            times,
            "{part:?}: {text}{errors}"
        );
    }

    #[track_caller]
    fn has(&self, written: &str, parts: &[&str]) {
        for part in parts {
            assert!(
                written.contains(part),
                "no {part:?}: {}{}",
                self.text,
                self.errors
            );
        }
    }

    /// The first lines of a report are this trouble and this remedy, of which parts are given, and
    /// it ends with 1.
    #[track_caller]
    fn is_trouble(&self, trouble: &[&str], remedy: &[&str]) {
        let Said {
            text,
            errors,
            status,
        } = self;
        let whole = format!("{text}{errors}");
        assert_eq!(*status, Some(1), "{whole}");
        // The screen of a terminal has 24 lines.
        let lines: Vec<&str> = text.lines().take(24).collect();
        let has = |line: &str, parts: &[&str]| parts.iter().all(|part| line.contains(part));
        let at = lines
            .iter()
            .position(|line| line.starts_with("TROUBLE  ") && has(line, trouble))
            .unwrap_or_else(|| panic!("no trouble with {trouble:?}:\n{whole}"));
        let next = lines[at + 1];
        assert!(
            next.starts_with("remedy   ") && has(next, remedy),
            "{whole}"
        );
        assert!(!text.contains('\u{1b}'), "colours in a file: {whole}");
    }
}

/// A folder for one test, which is gone with this.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("ranks-cli-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    fn path(&self) -> &Path {
        &self.0
    }

    fn put(&self, file: &str, text: &str) -> PathBuf {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A program, as a script of the shell.
    fn script(&self, file: &str, text: &str) -> PathBuf {
        let path = self.put(file, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// What looks like an MPI of a family: a launcher that says how it was called, and a library
    /// that cannot be opened.
    fn mpi(&self, name: &str, library: &str) {
        self.script(&format!("{name}/bin/mpiexec"), "printf '%s\\n' \"$*\"");
        self.put(&format!("{name}/lib/{library}"), "\u{7f}ELF");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
