//! The reason why a communicator is unusable, and how the other ranks learn of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, TryLockError};
use std::time::{Duration, Instant};

use ranks_collectives::Collectives;
use ranks_comm::backend::last_words;
use ranks_comm::{Communicator, Error, ErrorKind, Result, Source};

/// The failure of a communicator, if there is one, and what tells others and is told by them.
#[derive(Debug)]
pub(crate) struct Failing {
    comm: Communicator,
    reason: OnceLock<String>,
    /// Set when `reason` is: one load on each call.
    failed: AtomicBool,
    abort_job: bool,
    /// A number that all ranks have drawn for this communicator: a library may give its context to
    /// another one while a message that nobody has received is still there.
    number: u64,
    /// The time at which others were last asked.
    asked: Mutex<Instant>,
}

/// The time after which a rank that waits asks again whether another one has failed.
const INTERVAL: Duration = Duration::from_millis(1);

/// The looks for what has been told, when nobody asks any more.
const LOOKS: usize = 4;

impl Failing {
    /// Collective.
    pub(crate) fn new(comm: &Communicator, abort_job: bool) -> Result<Self> {
        let mut number = [drawn()];
        comm.bcast(&mut number, 0)?;
        Ok(Self {
            comm: comm.clone(),
            reason: OnceLock::new(),
            failed: AtomicBool::new(false),
            abort_job,
            number: number[0],
            asked: Mutex::new(Instant::now()),
        })
    }

    /// The tag of messages about failures, which no other message has.
    pub(crate) fn tag(comm: &Communicator) -> i32 {
        comm.max_tag()
    }

    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.get().map(String::as_str)
    }

    /// An error if the communicator has failed.
    pub(crate) fn check(&self, operation: &'static str) -> Result<()> {
        if !self.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        let reason = self.reason().unwrap_or("it has failed");
        let text = format!("this communicator is not usable any more: {reason}");
        Err(Error::new(ErrorKind::Aborted, operation, text))
    }

    /// An operation has failed; the communicator has too, unless all ranks are still in step.
    pub(crate) fn note(&self, operation: &'static str, error: &Error) {
        let local = matches!(error.kind(), ErrorKind::Truncated | ErrorKind::Type);
        if !local {
            self.fail(&format!("{operation} has failed: {error}"));
        }
    }

    /// From now on nothing works, here and, as soon as they hear of it, on the other ranks. Only
    /// the first reason counts.
    pub(crate) fn fail(&self, reason: &str) {
        if !self.set(reason) {
            return;
        }
        let (rank, size) = (self.comm.rank(), self.comm.size());
        let mut message = self.number.to_ne_bytes().to_vec();
        message.extend(format!("rank {rank} has given up: {reason}").bytes());
        for other in (0..size).filter(|other| *other != rank) {
            // Who cannot be told finds out by its own time limit. What is not received is left to
            // the runtime.
            let _ = self
                .comm
                .isend(message.clone(), other, Self::tag(&self.comm));
        }
    }

    fn set(&self, reason: &str) -> bool {
        let first = self.reason.set(reason.to_owned()).is_ok();
        self.failed.store(true, Ordering::Release);
        if self.abort_job {
            last_words(format_args!("{reason}; the job ends"));
            self.comm.abort(1);
        }
        first
    }

    /// Asks from time to time whether another rank has failed, and fails then.
    pub(crate) fn hear(&self, operation: &'static str) -> Result<()> {
        let mut asked = match self.asked.try_lock() {
            Ok(asked) => asked,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return self.check(operation),
        };
        if asked.elapsed() >= INTERVAL {
            *asked = Instant::now();
            if let Some(message) = self.notice() {
                self.told(&message);
            }
        }
        self.check(operation)
    }

    /// A message about a failure, if one has come. A failure to ask is none of the communicator.
    fn notice(&self) -> Option<Vec<u8>> {
        let message = self.comm.improbe(Source::Any, Self::tag(&self.comm)).ok()?;
        message?.recv_vec().ok().map(|(bytes, _)| bytes)
    }

    fn told(&self, message: &[u8]) {
        let Some((number, reason)) = message.split_first_chunk() else {
            return;
        };
        if u64::from_ne_bytes(*number) == self.number {
            self.set(&String::from_utf8_lossy(reason));
        }
    }
}

impl Drop for Failing {
    /// Receives what others have told, which is no message of the program. Some libraries take in
    /// what has arrived at a later look.
    fn drop(&mut self) {
        while (0..LOOKS).any(|_| self.notice().is_some()) {}
    }
}

/// A number that no other communicator has, in all likelihood.
fn drawn() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}
