//! Signals and folders of Unix.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::close;
use signal_hook::low_level::emulate_default_handler;

/// The signal that has ended a process.
pub(in crate::run) fn signal(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// The name of a signal: `SIGSEGV`.
pub(in crate::run) fn name(signal: i32) -> Option<&'static str> {
    Some(Signal::try_from(signal).ok()?.as_str())
}

/// Closes the socket of Hydra's process manager some time before this process ends. By the end of
/// that socket it knows that a rank has gone without MPI_Finalize, and ends the job; unless it has
/// seen the status of the process before.
pub(in crate::run) fn hang_up() {
    const LEAD: Duration = Duration::from_millis(20);
    let number = std::env::var("PMI_FD").ok();
    if let Some(socket) = number.and_then(|number| number.parse::<i32>().ok()) {
        // There may be none, and then the launcher is another one.
        if close(socket).is_ok() {
            thread::sleep(LEAD);
        }
    }
}

/// Ends this process by a signal as if it had no handler of it, as the standard library has for
/// some, and without a core of its own. Returns for what is no such signal.
pub(crate) fn end_by(signal: i32) -> io::Result<()> {
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    // A signal that is not known there is told as a status.
    emulate_default_handler(signal).or(Ok(()))
}

/// Takes the signals that end a program, for a thread that notes them: the job is in a process
/// group of its own, and does not get them. Those that whoever started this process has it ignore,
/// as `nohup` does with SIGHUP, stay ignored where the system tells: taken, they would not be.
pub(crate) fn watch_signals() -> io::Result<Arc<AtomicI32>> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let all = [
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
        Signal::SIGHUP,
    ];
    let signals = all.into_iter().filter(|&one| !is_ignored(one, &status));
    let signals: SigSet = signals.collect();
    // Threads that are started from here on inherit it; the job does not, as `Job` sees to.
    signals.thread_block()?;
    let signalled = Arc::new(AtomicI32::new(0));
    let noted = Arc::clone(&signalled);
    let watching = thread::Builder::new().spawn(move || {
        while let Ok(signal) = signals.wait() {
            noted.store(signal as i32, Ordering::Relaxed);
        }
    });
    watching.map_err(|error| {
        let text = format!(
            "no thread to watch signals: {error}; raise the limit of processes (ulimit -u, pids.max)"
        );
        io::Error::new(error.kind(), text)
    })?;
    Ok(signalled)
}

/// Returns `true` if the process of this `/proc/PID/status` ignores the signal.
fn is_ignored(signal: Signal, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal as i32 - 1) & 1 == 1)
}

/// Makes a folder for this user alone; not if there is one, whosever it is.
pub(in crate::run) fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use crate::run::system::OF_LAUNCHERS;

    #[test]
    fn launchers_send_what_has_these_numbers() {
        let names = OF_LAUNCHERS.map(super::name);
        assert_eq!(names, ["SIGINT", "SIGKILL", "SIGTERM"].map(Some));
        assert_eq!(super::name(-1), None);
    }
}
