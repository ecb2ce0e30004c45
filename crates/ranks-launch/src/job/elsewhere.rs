//! Systems on which no jobs are started: launchers of MPI are for Unix, and so is what ends the
//! processes that a job leaves.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Instant;

use super::Job;
use super::output::{Labels, Streams};

/// A job that was started, of which there is none.
#[derive(Debug)]
pub(super) enum Supervised {}

/// Starts nothing.
///
/// # Errors
/// Always, with the reason.
pub(super) fn start(_: &Job, _: Command, _: Labels) -> io::Result<Supervised> {
    Err(unsupported())
}

/// Runs nothing on this system.
///
/// # Errors
/// Always, with the reason.
pub fn stand_in(
    _: &Path,
    _: impl IntoIterator<Item = OsString>,
    _: &Path,
) -> io::Result<ExitStatus> {
    Err(unsupported())
}

fn unsupported() -> io::Error {
    let why = "jobs are started on Unix only; a program that is started without a launcher has its ranks as threads";
    io::Error::new(io::ErrorKind::Unsupported, why)
}

impl Supervised {
    pub(super) fn id(&self) -> u32 {
        match *self {}
    }

    pub(super) fn wait(&mut self, _: Instant) -> Option<ExitStatus> {
        match *self {}
    }

    pub(super) fn kill(&mut self) -> Option<ExitStatus> {
        match *self {}
    }

    pub(super) fn follow(&self) {
        match *self {}
    }

    pub(super) fn fresh(&mut self) -> Streams {
        match *self {}
    }

    pub(super) fn output(&mut self) -> Streams {
        match *self {}
    }
}
