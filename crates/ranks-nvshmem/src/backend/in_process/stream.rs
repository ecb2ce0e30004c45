//! Streams of the host: a thread of its own does in order what a PE enqueues.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::{fmt, thread};

use ranks_comm::{Error, ErrorKind, Result};

use super::event::{Failure, HostEvent, Outcome};
use super::world::World;

/// A stream where PEs are threads: what a PE enqueues there is done in this order by a thread of
/// its own.
///
/// After an operation has failed, those behind it are not done any more, and whoever waits for the
/// stream is told. A stream that is dropped goes on until it has done everything, and nobody waits
/// for it.
pub struct HostStream {
    shared: Arc<Shared>,
}

struct Shared {
    world: Arc<World>,
    pe: usize,
    queue: Mutex<Queue>,
    changed: Condvar,
}

struct Queue {
    jobs: VecDeque<Job>,
    /// The worker is at one that it has taken out.
    busy: bool,
    /// The outcome of all that is complete.
    so_far: Outcome,
    closed: bool,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            jobs: VecDeque::new(),
            busy: false,
            so_far: Ok(()),
            closed: false,
        }
    }
}

enum Job {
    Operation(Box<dyn FnOnce() -> Result<()> + Send>),
    Record(HostEvent),
}

impl fmt::Debug for HostStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let jobs = self.shared.lock().jobs.len();
        f.debug_struct("HostStream")
            .field("pe", &self.shared.pe)
            .field("enqueued", &jobs)
            .finish_non_exhaustive()
    }
}

impl HostStream {
    pub(super) fn of(world: &Arc<World>, pe: usize) -> Result<HostStream> {
        let shared = Arc::new(Shared {
            world: Arc::clone(world),
            pe,
            queue: Mutex::default(),
            changed: Condvar::new(),
        });
        let worker = Arc::clone(&shared);
        let name = format!("stream of PE {pe}");
        thread::Builder::new()
            .name(name)
            .spawn(move || worker.work())
            .map_err(|error| {
                let why = format_args!("there is no thread for it: {error}");
                Error::new(ErrorKind::NotAvailable, "HostStream", why)
            })?;
        Ok(HostStream { shared })
    }

    pub(super) fn belongs_to(&self, world: &Arc<World>, pe: usize) -> bool {
        Arc::ptr_eq(&self.shared.world, world) && self.shared.pe == pe
    }

    /// Does it when all before it is done.
    pub(super) fn enqueue(&self, job: Box<dyn FnOnce() -> Result<()> + Send>) {
        let mut queue = self.shared.lock();
        self.shared.push(&mut queue, Job::Operation(job));
    }

    /// An event that is over when all is that was enqueued so far.
    pub(crate) fn record(&self) -> HostEvent {
        let event = HostEvent::new();
        let mut queue = self.shared.lock();
        if queue.busy || !queue.jobs.is_empty() {
            self.shared.push(&mut queue, Job::Record(event.clone()));
        } else {
            event.is_reached(queue.so_far.clone());
        }
        event
    }

    /// Makes what is enqueued from now on wait for an event of another stream, and fail as that one
    /// has.
    pub(crate) fn wait_event(&self, event: &HostEvent) {
        let event = event.clone();
        self.enqueue(Box::new(move || {
            let over = event.outcome(None).map_err(|failure| failure.error())?;
            debug_assert!(over, "without a limit it is over");
            Ok(())
        }));
    }

    #[cfg(test)]
    /// Waits until all is over that was enqueued so far.
    ///
    /// # Errors
    /// The error of an operation on the stream; `TimedOut` after the limit.
    pub(crate) fn synchronize(&self, limit: Option<std::time::Duration>) -> Result<()> {
        self.record().wait("HostStream::synchronize", limit)
    }
}

impl Drop for HostStream {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    /// No code of anybody else's runs under this lock, and every change is whole.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, queue: &mut Queue, job: Job) {
        self.world.enqueued(self.pe);
        queue.jobs.push_back(job);
        self.changed.notify_all();
    }

    /// Does all that comes, in order, until the stream is dropped and nothing is left.
    fn work(&self) {
        let mut so_far: Outcome = Ok(());
        while let Some(job) = self.next(&so_far) {
            match job {
                Job::Operation(job) => {
                    if so_far.is_ok() {
                        so_far = carry_out(job);
                    }
                }
                Job::Record(event) => event.is_reached(so_far.clone()),
            }
            self.world.carried_out(self.pe);
        }
    }

    /// Records the outcome so far and returns the next job.
    fn next(&self, so_far: &Outcome) -> Option<Job> {
        let mut queue = self.lock();
        if queue.busy {
            queue.so_far.clone_from(so_far);
            queue.busy = false;
        }
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                queue.busy = true;
                return Some(job);
            }
            if queue.closed {
                return None;
            }
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Whatever a job does, the stream goes on to say so to those who wait.
fn carry_out(job: Box<dyn FnOnce() -> Result<()> + Send>) -> Outcome {
    match catch_unwind(AssertUnwindSafe(job)) {
        Ok(done) => done.map_err(|error| Failure::of(&error)),
        Err(payload) => {
            // It may panic when it is dropped.
            std::mem::forget(payload);
            Err(Failure {
                kind: ErrorKind::Library,
                operation: "HostStream",
                text: "HostStream: an operation panicked".to_owned(),
            })
        }
    }
}
