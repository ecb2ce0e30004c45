//! A process between a launcher and a rank, which sees how the rank ends: launchers do not tell, or
//! in words of their own.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::{Pid, getppid};

use super::detour;
use super::kernel::die_with;
use super::supervisor::{PATIENCE, end_with_parent};
use super::tree::{self, Mark};
use crate::Environment;

/// The signal that says that the launcher is gone: Open MPI's leaves what it has started behind
/// where it cannot write any more. It says nothing to a program that does not wait for it.
const ALONE: Signal = Signal::SIGURG;

/// Runs a program with all that this process was given, its open files too, and returns how it
/// ended. Where the job has [asked for it](crate::Job::stand_ins), its output is handed on through
/// that folder.
///
/// Signals that end or tell a program something go on to it, and it does not outlive this process.
/// Where the launcher is gone, on Linux, all of the job that is left is killed. To be called on the
/// first thread, before there are others.
///
/// # Errors
/// The reason why it could not be started.
pub fn stand_in(
    program: &Path,
    args: impl IntoIterator<Item = std::ffi::OsString>,
    folder: &Path,
) -> io::Result<ExitStatus> {
    let signals = SigSet::from_iter([
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
        ALONE,
    ]);
    // Until there is somebody whom they can go to; threads that are started from here on inherit
    // it.
    signals.thread_block()?;
    let launcher = getppid();
    die_with(launcher, ALONE)?;
    let mut command = Command::new(as_launchers_find(program));
    command.args(args);
    end_with_parent(&mut command, Signal::SIGKILL);
    let rank = Environment::detect().rank;
    let pipes = detour::NAMES.map(|name| Some((rank?, detour::of_job(folder, name)?)));
    if pipes[0].is_some() {
        command.stdout(Stdio::piped());
    }
    if pipes[1].is_some() {
        command.stderr(Stdio::piped());
    }
    let mut child = command.spawn()?;
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    thread::Builder::new().spawn(move || {
        while let Ok(signal) = signals.wait() {
            match signal {
                // A thread of the launcher may have ended alone.
                ALONE if getppid() == launcher => {}
                ALONE => {
                    if let Some(mark) = Mark::of_this_process() {
                        tree::kill_all(&mark, None, PATIENCE);
                    }
                }
                // It may have ended just now; this process ends with it.
                signal => drop(kill(Pid::from_raw(pid), signal)),
            }
        }
    })?;
    let [to_stdout, to_stderr] = pipes;
    let stdout = hand_on(child.stdout.take(), to_stdout)?;
    let stderr = hand_on(child.stderr.take(), to_stderr)?;
    let status = child.wait()?;
    // What the program has left running may write for ever.
    let until = Instant::now() + PATIENCE;
    for finished in [stdout, stderr].into_iter().flatten() {
        let _ = finished.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
    Ok(status)
}

/// Hands on a stream on a thread of its own, the end of which is the end of what is returned.
fn hand_on(
    from: Option<impl Read + Send + 'static>,
    to: Option<(usize, File)>,
) -> io::Result<Option<Receiver<()>>> {
    let Some((from, (rank, to))) = from.zip(to) else {
        return Ok(None);
    };
    let (finish, finished) = channel();
    thread::Builder::new().spawn(move || {
        // An error says that nobody reads any more: the program is told by its own pipe.
        let _ = detour::hand_on(rank, from, to);
        drop(finish);
    })?;
    Ok(Some(finished))
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
