//! Dumps at fault signals: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT.
//!
//! A handler may do very little: the fault may be in the allocator, and the stack may be full. So a
//! thread that was started before writes the dump. The handler asks it with one byte and waits for
//! its answer, no longer than [`PATIENCE`]: the faulting code may hold a lock that the thread
//! needs. Then the signal gets its previous disposition, so that the status of the process, a core
//! file, and the output of other handlers are what they were.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{mem, ptr};

use libc::{
    SIG_DFL, SIG_IGN, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, sigaction, siginfo_t, sigset_t,
};

use crate::call::background;
use crate::call::record::dump::{FAULTS as VARIABLE, Reason, write};

mod kernel;

use kernel::{is_elsewhere, send_again, this_thread};

/// The time that a thread that has faulted waits for the dump, in milliseconds.
const PATIENCE: c_int = 5_000;

/// A signal, and its previous disposition.
struct Fault {
    signal: c_int,
    name: &'static str,
    before: OnceLock<sigaction>,
}

static FAULTS: [Fault; 5] = [
    Fault::of(SIGSEGV, "SIGSEGV"),
    Fault::of(SIGBUS, "SIGBUS"),
    Fault::of(SIGFPE, "SIGFPE"),
    Fault::of(SIGILL, "SIGILL"),
    Fault::of(SIGABRT, "SIGABRT"),
];

/// The connection of a handler to the thread that writes.
struct Writer {
    socket: UnixStream,
    /// The process that has the thread: a forked child has none.
    process: c_int,
    /// The thread, which does not wait for itself where it aborts.
    thread: AtomicUsize,
    asked: AtomicBool,
}

static WRITER: OnceLock<Writer> = OnceLock::new();

/// Makes a process that one of these signals ends write a dump.
pub(in crate::call::record::dump) fn on_faults() {
    if let Err(reason) = listen() {
        eprintln!("ranks: faults will not be recorded ({VARIABLE}): {reason}");
    }
}

fn listen() -> std::io::Result<()> {
    let (mut asked, socket) = UnixStream::pair()?;
    let writer = Writer {
        socket,
        process: process(),
        thread: AtomicUsize::new(0),
        asked: AtomicBool::new(false),
    };
    if WRITER.set(writer).is_err() {
        return Ok(());
    }
    let wait = move || {
        if let Some(writer) = WRITER.get() {
            writer.thread.store(this_thread(), Ordering::Relaxed);
        }
        let mut signal = [0];
        if asked.read_exact(&mut signal).is_ok() {
            let fault = Fault::by_signal(signal[0].into());
            write(
                Reason::Fault(fault.map_or("", |fault| fault.name)),
                None,
                None,
            );
            // If nobody reads it, the process has ended.
            let _ = asked.write_all(&signal);
            // A thread that faults later finds the answer there too.
            mem::forget(asked);
        }
    };
    without_signals(|| background::start("ranks faults", wait))?;
    FAULTS.iter().try_for_each(Fault::handle)
}

/// Blocks all signals while `start` starts a thread, which inherits that: one that is sent to the
/// process would else reach the thread that writes, which cannot ask itself.
fn without_signals<R>(start: impl FnOnce() -> R) -> R {
    // SAFETY: all of a set are numbers, for which zeros are values.
    let (mut all, mut before): (sigset_t, sigset_t) = unsafe { mem::zeroed() };
    // SAFETY: the set is ours.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: both sets are ours.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before) };
    let started = start();
    // SAFETY: the set is the one that this thread had.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
    started
}

impl Fault {
    const fn of(signal: c_int, name: &'static str) -> Self {
        Self {
            signal,
            name,
            before: OnceLock::new(),
        }
    }

    fn by_signal(signal: c_int) -> Option<&'static Self> {
        FAULTS.iter().find(|fault| fault.signal == signal)
    }

    /// Installs [`on_fault`] for this signal, unless the process ignores it.
    fn handle(&self) -> std::io::Result<()> {
        let before = self.exchange(None)?;
        if before.sa_sigaction == SIG_IGN {
            return Ok(());
        }
        let _ = self.before.set(before);
        let mut action = default_action();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // No other handler interrupts the wait.
        // SAFETY: the set is ours.
        unsafe { libc::sigfillset(&raw mut action.sa_mask) };
        self.exchange(Some(&action)).map(drop)
    }

    /// Returns the disposition of the signal, and sets it to `action` if that is given.
    fn exchange(&self, action: Option<&sigaction>) -> std::io::Result<sigaction> {
        let mut before = default_action();
        let action = action.map_or(ptr::null(), ptr::from_ref);
        // SAFETY: null, or an action whose handler calls only what a handler may; the answer is
        // ours.
        match unsafe { libc::sigaction(self.signal, action, &raw mut before) } {
            0 => Ok(before),
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}

/// Requests a dump, and restores the previous disposition of the signal.
extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, _context: *mut c_void) {
    let Some(fault) = Fault::by_signal(signal) else {
        return;
    };
    let writer = WRITER.get().filter(|writer| writer.process == process());
    if let Some(writer) =
        writer.filter(|writer| writer.thread.load(Ordering::Relaxed) != this_thread())
    {
        writer.ask(signal);
    }
    let default = default_action();
    let _ = fault.exchange(Some(fault.before.get().unwrap_or(&default)));
    // SAFETY: the system passes the information on the signal, for which the handler asks.
    let code = unsafe { (*info).si_code };
    if !is_found_again(signal, code) {
        // It is blocked until this returns.
        send_again(signal, info);
    }
}

/// Returns `true` if a signal recurs when its handler returns: a fault of the instruction, which is
/// then tried anew. A signal that was sent does not, nor one for a fault elsewhere, such as broken
/// memory that nobody is using.
fn is_found_again(signal: c_int, code: c_int) -> bool {
    code > 0 && !is_elsewhere(signal, code)
}

impl Writer {
    /// Requests a dump, if nobody has, and waits for it. Calls only async-signal-safe functions.
    fn ask(&self, signal: c_int) {
        let socket = self.socket.as_raw_fd();
        if !self.asked.swap(true, Ordering::Relaxed) {
            let signal = u8::try_from(signal).unwrap_or_default();
            // SAFETY: one byte that is there; if it cannot be written, nobody answers.
            unsafe { libc::write(socket, ptr::from_ref(&signal).cast(), 1) };
        }
        let mut answer = libc::pollfd {
            fd: socket,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one descriptor, which is ours.
        unsafe { libc::poll(&raw mut answer, 1, PATIENCE) };
    }
}

fn default_action() -> sigaction {
    // SAFETY: all of it are numbers and pointers, for which zeros are values.
    let mut action: sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = SIG_DFL;
    action
}

fn process() -> c_int {
    // SAFETY: asks for a number.
    unsafe { libc::getpid() }
}
