//! One thread a job, which starts the launcher, outlives it, and reaps it.
#![allow(unsafe_code)]

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::Pid;

use super::detour::Detour;
use super::kernel::{die_with, wait_for_end};
use super::proxies::Proxies;
use super::session::Session;
use super::tree::{self, Mark};
use crate::job::output::Streams;

/// The time that a launcher may take to end its job after it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// The time to wait for an event that cannot fail to come soon: the end of a killed process, the
/// end of its output.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// A launcher that was started, with its output.
///
/// The thread that starts it must live as long as it does: the kernel counts the end of that thread
/// as the end of the parent, on which the launcher is to be signalled. So a thread of its own does
/// it.
#[derive(Debug)]
pub(in crate::job) struct Supervised {
    pid: Pid,
    mark: Mark,
    /// `true` once it was reaped, from when on its number may be another process's. Held while it
    /// is signalled.
    reaped: Arc<Mutex<bool>>,
    ended: Receiver<ExitStatus>,
    status: Option<ExitStatus>,
    stdout: Stream,
    stderr: Stream,
    /// The output of ranks, where stand-ins hand it on.
    detour: Option<Detour>,
    /// The looks at its proxies, if it is one that may wait for them when they have ended.
    proxies: Option<Proxies>,
    /// Dropped after all processes of the job have ended.
    _session: Option<Session>,
}

impl Supervised {
    /// Starts `command`, whose output must be piped.
    pub(super) fn start(
        mut command: Command,
        mark: Mark,
        session: Option<Session>,
        detour: Option<Detour>,
        is_hydra: bool,
    ) -> io::Result<Supervised> {
        let reaped = Arc::new(Mutex::new(false));
        let (tell_started, started) = channel();
        let (tell_ended, ended) = channel();
        let shared = Arc::clone(&reaped);
        command.process_group(0);
        end_with_parent(&mut command, Signal::SIGTERM);
        let thread = std::thread::Builder::new().name("ranks-job".into());
        thread.spawn(move || match spawn(&mut command) {
            Ok((child, streams)) => {
                if tell_started.send(Ok((child.id(), streams))).is_ok() {
                    reap(child, &shared, &tell_ended, wait_for_end);
                }
            }
            Err(error) => {
                // The caller waits for exactly this message.
                let _ = tell_started.send(Err(error));
            }
        })?;
        let gone = |_| io::Error::other("the thread that starts the job ended");
        let (pid, (stdout, stderr)) = started.recv().map_err(gone)??;
        let pid = i32::try_from(pid)
            .map(Pid::from_raw)
            .map_err(io::Error::other)?;
        Ok(Supervised {
            pid,
            mark,
            reaped,
            ended,
            status: None,
            stdout,
            stderr,
            detour,
            proxies: is_hydra.then(Proxies::default),
            _session: session,
        })
    }

    pub(in crate::job) fn id(&self) -> u32 {
        self.pid.as_raw().unsigned_abs()
    }

    /// Waits for the end of the launcher, not beyond `deadline`, and ends one that has lost its
    /// proxies; then nothing of the job is left. `None` when it was too late.
    pub(in crate::job) fn wait(&mut self, deadline: Instant) -> Option<ExitStatus> {
        if self.status.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            self.status = self.ended.recv_timeout(left).ok();
        }
        if self.status.is_none() && self.has_lost_its_proxies() {
            return self.kill();
        }
        if self.status.is_some() {
            tree::kill_all(&self.mark, None, PATIENCE);
        }
        self.status
    }

    /// Ends the job: asks the launcher, which knows best how, then kills whatever is left.
    pub(in crate::job) fn kill(&mut self) -> Option<ExitStatus> {
        // A launcher that waits with its output does not listen.
        self.treat_output(Beyond::Waits, Beyond::Dropped);
        if self.status.is_none() && self.signal(Signal::SIGTERM) {
            // Remote and local ranks end, and files in shared memory go, if the launcher does it
            // itself.
            self.status = self.ended.recv_timeout(GRACE).ok();
        }
        if self.status.is_none() {
            // Its children first: once it is gone they are told from others only by their mark.
            tree::kill_all(&self.mark, Some(self.id()), Duration::ZERO);
            self.signal(Signal::SIGKILL);
            self.status = self.ended.recv_timeout(PATIENCE).ok();
        }
        tree::kill_all(&self.mark, None, PATIENCE);
        self.status
    }

    fn has_lost_its_proxies(&mut self) -> bool {
        let launcher = self.id();
        let streams = [&self.stdout, &self.stderr];
        let has_a_reader = || streams.iter().all(|stream| !stream.unread.is_waited_for());
        let lost = |proxies: &mut Proxies| proxies.are_lost(launcher) && has_a_reader();
        self.proxies.as_mut().is_some_and(lost)
    }

    /// Signals the process group of the launcher, unless it was reaped.
    fn signal(&self, signal: Signal) -> bool {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        !*reaped && killpg(self.pid, signal).is_ok()
    }

    /// Lets the job wait with its output until it was taken by [`fresh`](Self::fresh).
    pub(in crate::job) fn follow(&self) {
        self.treat_output(Beyond::Kept, Beyond::Waits);
    }

    fn treat_output(&self, from: Beyond, to: Beyond) {
        let of_ranks = self.detour.iter().flat_map(|detour| &detour.streams);
        for stream in [&self.stdout, &self.stderr].into_iter().chain(of_ranks) {
            stream.unread.treat(from, to);
        }
    }

    /// The output since the last call.
    pub(in crate::job) fn fresh(&mut self) -> Streams {
        let detour = self.detour.as_ref();
        Streams {
            own: [&self.stdout, &self.stderr].map(|stream| stream.unread.take()),
            of_ranks: detour.map(|detour| detour.streams.each_ref().map(|one| one.unread.take())),
        }
    }

    /// The output so far that was not taken; all of it once no process of the job is left.
    pub(in crate::job) fn output(&mut self) -> Streams {
        let until = Instant::now() + PATIENCE;
        let own = [&mut self.stdout, &mut self.stderr].map(|stream| stream.take(until));
        let of_ranks = self.detour.as_mut().map(|detour| {
            detour.let_go();
            detour.streams.each_mut().map(|stream| stream.take(until))
        });
        Streams { own, of_ranks }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        if self.status.is_none() {
            self.kill();
        }
    }
}

/// Starts a process, and the threads that hand on its input and take its output. Where these cannot
/// be started, the process is ended.
fn spawn(command: &mut Command) -> io::Result<(Child, (Stream, Stream))> {
    let mut child = command.spawn()?;
    let streams = streams_of(&mut child);
    if streams.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    Ok((child, streams?))
}

fn streams_of(child: &mut Child) -> io::Result<(Stream, Stream)> {
    child.stdin.take().map(super::input::hand_on).transpose()?;
    let stdout = Stream::read(child.stdout.take())?;
    Ok((stdout, Stream::read(child.stderr.take())?))
}

/// Lets the kernel, where it can, send a signal to the process when the thread that started it is
/// gone, however that came about, and lets signals reach it that this process has blocked for
/// itself.
pub(super) fn end_with_parent(command: &mut Command, signal: Signal) {
    let none_blocked = SigSet::empty();
    let me = Pid::this();
    // SAFETY: the hook runs in the child between fork and exec and does nothing but system calls,
    // `sigprocmask`, `prctl` and `getppid`, which are safe to call there; it allocates nothing and
    // takes no lock.
    unsafe {
        command.pre_exec(move || {
            none_blocked.thread_set_mask()?;
            die_with(me, signal)
        });
    }
}

/// Waits until `child` has ended, then takes its status while nobody can signal its number.
///
/// `wait_for_end` may return earlier.
fn reap(
    mut child: Child,
    reaped: &Mutex<bool>,
    ended: &Sender<ExitStatus>,
    wait_for_end: fn(&Child),
) {
    let status = loop {
        wait_for_end(&child);
        let mut reaped = reaped.lock().unwrap_or_else(PoisonError::into_inner);
        let status = match child.try_wait() {
            Ok(None) => continue,
            Ok(Some(status)) => status,
            Err(_) => ExitStatus::from_raw(-1),
        };
        *reaped = true;
        break status;
    };
    // Nobody listens any more when the job was dropped.
    let _ = ended.send(status);
}

/// The bytes read from one pipe, by a thread of its own.
#[derive(Debug)]
pub(super) struct Stream {
    unread: Arc<Unread>,
    finished: Receiver<()>,
}

/// The bytes that were read and not taken yet.
#[derive(Debug, Default)]
struct Unread {
    state: Mutex<(Vec<u8>, Beyond)>,
    changed: Condvar,
}

/// The size, in bytes, of output that is not taken and yet harmless.
const ENOUGH: usize = 256 * 1024;

/// The treatment of output when there is [`ENOUGH`] of it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Beyond {
    /// It is kept: no rank waits for a reader.
    #[default]
    Kept,
    /// Ranks wait for who takes it as it comes.
    Waits,
    /// It is dropped: the job is being ended.
    Dropped,
}

impl Unread {
    fn lock(&self) -> MutexGuard<'_, (Vec<u8>, Beyond)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, bytes: &[u8]) {
        let is_full = |(so_far, beyond): &mut (Vec<u8>, Beyond)| {
            *beyond == Beyond::Waits && so_far.len() >= ENOUGH
        };
        let state = self.changed.wait_while(self.lock(), is_full);
        let (so_far, beyond) = &mut *state.unwrap_or_else(PoisonError::into_inner);
        if *beyond != Beyond::Dropped || so_far.len() < ENOUGH {
            so_far.extend_from_slice(bytes);
        }
    }

    /// Treats output so from now on, if it was treated as `from`.
    fn treat(&self, from: Beyond, to: Beyond) {
        let mut state = self.lock();
        if state.1 == from {
            state.1 = to;
            self.changed.notify_one();
        }
    }

    /// Returns `true` if the job may wait until output is taken.
    fn is_waited_for(&self) -> bool {
        let (so_far, beyond) = &*self.lock();
        *beyond == Beyond::Waits && !so_far.is_empty()
    }

    fn take(&self) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.lock().0);
        self.changed.notify_one();
        bytes
    }
}

impl Stream {
    pub(super) fn read(pipe: Option<impl Read + Send + 'static>) -> io::Result<Stream> {
        let unread = Arc::new(Unread::default());
        let (finish, finished) = channel();
        if let Some(mut pipe) = pipe {
            let into = Arc::clone(&unread);
            std::thread::Builder::new().spawn(move || {
                let mut buffer = vec![0; 64 * 1024];
                loop {
                    match pipe.read(&mut buffer) {
                        Ok(0) => break,
                        Ok(count) => into.add(buffer.get(..count).unwrap_or_default()),
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(_) => break,
                    }
                }
                drop(finish);
            })?;
        }
        Ok(Stream { unread, finished })
    }

    /// The bytes that were read and not taken yet, after waiting for the end of the pipe, not
    /// beyond `until`.
    pub(super) fn take(&mut self, until: Instant) -> Vec<u8> {
        self.unread.treat(Beyond::Waits, Beyond::Kept);
        // The sender is dropped at the end: either answer means that there is nothing more to wait
        // for.
        let _ = self
            .finished
            .recv_timeout(until.saturating_duration_since(Instant::now()));
        self.unread.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::system::kernel::elsewhere;

    #[test]
    fn a_child_can_be_signalled_while_the_system_only_lets_it_be_looked_at() {
        for wait_for_end in [wait_for_end, elsewhere::wait_for_end] {
            let child = Command::new("sleep").arg("60").spawn().unwrap();
            let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
            let reaped = Arc::new(Mutex::new(false));
            let (tell_ended, ended) = channel();
            let shared = Arc::clone(&reaped);
            let reaper =
                std::thread::spawn(move || reap(child, &shared, &tell_ended, wait_for_end));
            assert!(ended.recv_timeout(Duration::from_millis(50)).is_err());
            let held = reaped.lock().unwrap();
            assert!(!*held);
            nix::sys::signal::kill(pid, Signal::SIGKILL).unwrap();
            drop(held);
            let status = ended.recv_timeout(PATIENCE).unwrap();
            assert_eq!(status.signal(), Some(9));
            reaper.join().unwrap();
            assert!(*reaped.lock().unwrap());
        }
    }
}
