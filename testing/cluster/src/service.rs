//! What the first process of a host does: it starts what it is asked to, and buries all that ends
//! there.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::namespaces::Caller;
use super::wire::{self, Incoming, Program, Request};
use super::{START, stage};

/// A host at work.
struct Service {
    caller: Option<Caller>,
    /// The programs that run, by their processes, and who asked for them.
    running: BTreeMap<i32, UnixStream>,
    /// Those who have not said yet what they want.
    callers: Vec<(UnixStream, Incoming)>,
}

/// What has happened to a host.
#[derive(Debug, Default)]
struct Happened {
    /// Somebody calls.
    called: bool,
    /// Those who asked for these programs are gone.
    gone: Vec<i32>,
    /// These of the callers have said something, in their order.
    said: Vec<usize>,
}

/// Serves until it is asked to end; its end is that of everything on the host.
pub(super) fn serve(listener: &UnixListener, caller: Option<Caller>) -> Result<(), String> {
    let mut service = Service {
        caller,
        running: BTreeMap::new(),
        callers: Vec::new(),
    };
    service
        .work(listener)
        .map_err(|error| format!("the host stops: {error}"))
}

impl Service {
    fn work(&mut self, listener: &UnixListener) -> io::Result<()> {
        let mut children = SigSet::empty();
        children.add(Signal::SIGCHLD);
        children.thread_block()?;
        let ended =
            SignalFd::with_flags(&children, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        loop {
            let happened = self.wait(listener, &ended)?;
            while let Ok(Some(_)) = ended.read_signal() {}
            self.bury();
            for process in happened.gone {
                self.hang_up(process);
            }
            // From the last one on, as those that are served leave the list. A caller that fails
            // harms no other.
            for caller in happened.said.into_iter().rev() {
                if matches!(self.hear(caller), Ok(Next::End)) {
                    return Ok(());
                }
            }
            if happened.called
                && let Ok((socket, _)) = listener.accept()
            {
                self.callers.push((socket, Incoming::default()));
            }
        }
    }

    /// Waits until something happens, or a program ends.
    fn wait(&self, listener: &UnixListener, ended: &SignalFd) -> io::Result<Happened> {
        let end = |end| PollFd::new(end, PollFlags::POLLIN);
        let mut ends = vec![end(listener.as_fd()), end(ended.as_fd())];
        ends.extend(self.running.values().map(|caller| end(caller.as_fd())));
        ends.extend(self.callers.iter().map(|(caller, _)| end(caller.as_fd())));
        match poll(&mut ends, PollTimeout::NONE) {
            Err(nix::Error::EINTR) => return Ok(Happened::default()),
            other => other?,
        };
        let mut happened = ends.iter().map(|end| end.any().unwrap_or(true));
        let called = happened.next().unwrap_or(false);
        let mut rest = happened.skip(1);
        let gone = self.running.keys().zip(rest.by_ref());
        let gone = gone.filter(|(_, gone)| *gone).map(|(process, _)| *process);
        let gone = gone.collect();
        let said = (0..self.callers.len()).zip(rest);
        let said = said.filter(|(_, said)| *said).map(|(caller, _)| caller);
        Ok(Happened {
            called,
            gone,
            said: said.collect(),
        })
    }

    /// Hears what a caller says, and serves it when that is all.
    fn hear(&mut self, caller: usize) -> io::Result<Next> {
        let Some((socket, incoming)) = self.callers.get_mut(caller) else {
            return Ok(Next::GoOn);
        };
        match incoming.take(socket) {
            Ok(None) => Ok(Next::GoOn),
            Ok(Some((request, streams))) => {
                let (socket, _) = self.callers.remove(caller);
                self.serve(socket, request, streams)
            }
            Err(error) => {
                self.callers.remove(caller);
                Err(error)
            }
        }
    }

    /// Takes in every process that has ended, also those whose parents did not, and tells who
    /// waits.
    fn bury(&mut self) {
        while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            let (process, code) = match status {
                WaitStatus::Exited(process, code) => (process, code),
                WaitStatus::Signaled(process, signal, _) => (process, 128 + signal as i32),
                WaitStatus::StillAlive => return,
                _ => continue,
            };
            if let Some(caller) = self.running.remove(&process.as_raw()) {
                // Whoever asked may be gone by now.
                let _ = wire::answer(&caller, code);
            }
        }
    }

    /// Ends a program whose caller is gone, as the end of a terminal does.
    fn hang_up(&mut self, process: i32) {
        if self.running.remove(&process).is_some() {
            let process = Pid::from_raw(process);
            for signal in [Signal::SIGHUP, Signal::SIGTERM, Signal::SIGCONT] {
                // It has no group before it is in a session of its own, and may have ended by
                // itself.
                let _ = killpg(process, signal).or_else(|_| kill(process, signal));
            }
        }
    }

    fn serve(
        &mut self,
        socket: UnixStream,
        request: Request,
        streams: [OwnedFd; 3],
    ) -> io::Result<Next> {
        match request {
            Request::End => {
                let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
                while waitpid(None, None).is_ok() {}
                // Nothing runs here any more, which the caller may rely on.
                let _ = wire::answer(&socket, 0);
                return Ok(Next::End);
            }
            Request::Signal(number) => {
                let signal = Signal::try_from(number)?;
                // From here this means everybody but this process; there may be nobody.
                let _ = kill(Pid::from_raw(-1), signal);
                wire::answer(&socket, 0)?;
            }
            Request::Run(program) => match self.start(&program, streams) {
                Ok(process) => {
                    self.running.insert(process, socket);
                }
                Err(_) => wire::answer(&socket, 126)?,
            },
        }
        Ok(Next::GoOn)
    }

    fn start(&self, program: &Program, streams: [OwnedFd; 3]) -> io::Result<i32> {
        let [input, output, errors] = streams;
        let caller = self.caller.filter(|_| !program.privileged);
        let mut command: Command = stage(START);
        command
            .arg(Caller::word(caller))
            .args(&program.arguments)
            .env_clear()
            .envs(
                program
                    .environment
                    .iter()
                    .map(|(name, value)| (name, value)),
            )
            .current_dir(&program.directory)
            .stdin(input)
            .stdout(output)
            .stderr(errors);
        let child = command.spawn()?;
        i32::try_from(child.id()).map_err(io::Error::other)
    }
}

/// Whether a host goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    End,
}
