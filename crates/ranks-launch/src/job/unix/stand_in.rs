//! A process between a launcher and a rank, which sees how the rank ends: launchers do not tell, or
//! in words of their own.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;

use super::supervisor::end_with_parent;

/// Runs a program with all that this process was given, its open files too, and returns how it
/// ended.
///
/// Signals that end or tell a program something go on to it, and it does not outlive this process.
/// To be called on the first thread, before there are others.
///
/// # Errors
/// The reason why it could not be started.
pub fn stand_in(
    program: &Path,
    args: impl IntoIterator<Item = std::ffi::OsString>,
) -> io::Result<ExitStatus> {
    let signals = SigSet::from_iter([
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
    ]);
    // Until there is somebody whom they can go to; threads that are started from here on inherit
    // it.
    signals.thread_block()?;
    let mut command = Command::new(as_launchers_find(program));
    command.args(args);
    end_with_parent(&mut command, Signal::SIGKILL);
    let mut child = command.spawn()?;
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    thread::Builder::new().spawn(move || {
        while let Ok(signal) = signals.wait() {
            // It may have ended just now; this process ends with it.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    })?;
    child.wait()
}

/// Launchers look into the folder that they are in as well, after those of `PATH`.
fn as_launchers_find(program: &Path) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = || std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if program.components().count() == 1 && program.is_file() && !in_path() {
        return Path::new(".").join(program);
    }
    program.to_path_buf()
}
