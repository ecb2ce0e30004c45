//! Operations in flight on a communicator, and the ways to wait for them.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ranks_comm::backend::{Count, Pause};
use ranks_comm::{Communicator, Error, ErrorKind, Request, Result};

use super::failure::Failing;
use super::options::RawOptions;
use crate::memory::elements::{PromisedMemory, Received};

/// An operation of any type.
pub(crate) trait Operation: Send {
    /// Returns `true` if it is complete; `Err` if this thread may not ask.
    fn is_over(&mut self) -> Result<bool>;
    /// Its outcome, once it is over; results are where the caller wants them.
    fn end(self: Box<Self>) -> Result<()>;
}

/// An operation, and where its results go if they are in a copy.
pub(crate) struct StartedOp<B: Send + 'static> {
    request: Request<B>,
    out: Option<PromisedMemory>,
    /// True if the status says how much was received into the copy, else it is all.
    is_message: bool,
}

impl<B: Received + Send + 'static> StartedOp<B> {
    /// # Safety
    /// `out` may be written until the operation is over, or given up.
    pub(crate) unsafe fn new(request: Request<B>, out: Option<PromisedMemory>) -> Box<Self> {
        Box::new(Self {
            request,
            out,
            is_message: false,
        })
    }

    /// A message, which may be shorter.
    ///
    /// # Safety
    /// As for [`new`](Self::new).
    pub(crate) unsafe fn message(request: Request<B>, out: Option<PromisedMemory>) -> Box<Self> {
        Box::new(Self {
            request,
            out,
            is_message: true,
        })
    }
}

impl<B: Received + Send + 'static> Operation for StartedOp<B> {
    fn is_over(&mut self) -> Result<bool> {
        self.request.test()
    }

    fn end(self: Box<Self>) -> Result<()> {
        let (buffer, status) = self.request.wait()?;
        let Some(out) = self.out else {
            return Ok(());
        };
        let received = buffer.received();
        let length = match self.is_message {
            true => status.count::<u8>().unwrap_or(0),
            false => received.len(),
        };
        // SAFETY: by the contract of `new` and `message`: the operation has not been given up, as
        // it would be dropped.
        unsafe { out.write(&received[..length.min(received.len())]) }
    }
}

/// One of them in the order of beginning.
struct Entry {
    number: u64,
    operation: Box<dyn Operation>,
    name: &'static str,
    /// Bytes of a message that `sync` does not wait for.
    unawaited: Option<usize>,
}

#[derive(Default)]
struct List {
    entries: VecDeque<Entry>,
    next: u64,
    /// Bytes of all messages that `sync` does not wait for.
    unawaited: usize,
    /// The first that failed since `sync` has returned.
    failed: Option<Error>,
    /// The progress thread is to end.
    stop: bool,
}

/// Everything that is under way on one communicator.
pub(crate) struct InFlight {
    list: Mutex<List>,
    /// There is something to look after, or nothing ever again.
    changed: Condvar,
    pub(crate) failing: Failing,
    time_limit: Option<Duration>,
    staged_sends: usize,
}

impl InFlight {
    pub(crate) fn new(comm: &Communicator, options: &RawOptions) -> Result<Self> {
        Ok(Self {
            list: Mutex::default(),
            changed: Condvar::new(),
            failing: Failing::new(comm, options.abort_job)?,
            time_limit: options.time_limit,
            staged_sends: options.staged_sends,
        })
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if there is room for a message that nobody waits for.
    pub(crate) fn may_go_unawaited(&self, bytes: usize) -> bool {
        self.staged_sends
            .checked_sub(self.list().unawaited)
            .is_some_and(|room| bytes <= room)
    }

    /// Takes charge of an operation; of `unawaited` bytes, or one that `sync` waits for.
    pub(crate) fn push(
        &self,
        name: &'static str,
        operation: Box<dyn Operation>,
        unawaited: Option<usize>,
    ) -> Result<()> {
        let mut list = self.list();
        // Whoever has aborted meanwhile has dropped the others.
        self.failing.check(name)?;
        let number = list.next;
        list.next += 1;
        list.unawaited += unawaited.unwrap_or(0);
        list.entries.push_back(Entry {
            number,
            operation,
            name,
            unawaited,
        });
        drop(list);
        self.changed.notify_one();
        Ok(())
    }

    /// Looks once at all of them; whether any is over that was not.
    fn look(&self, list: &mut List) -> Result<bool> {
        let mut any = false;
        let mut index = 0;
        while let Some(entry) = list.entries.get_mut(index) {
            if !entry.operation.is_over()? {
                index += 1;
                continue;
            }
            any = true;
            let Some(entry) = list.entries.remove(index) else {
                break;
            };
            list.unawaited -= entry.unawaited.unwrap_or(0);
            let name = entry.name;
            if let Err(error) = entry.operation.end() {
                self.failing.note(name, &error);
                list.failed.get_or_insert(error);
            }
        }
        Ok(any)
    }

    /// Lets everything go on; whether all is over that `sync` would wait for.
    pub(crate) fn progress(&self) -> Result<bool> {
        const OPERATION: &str = "RawComm::progress";
        let mut list = self.list();
        let looked = self.look(&mut list);
        let heard = self.failing.hear(OPERATION);
        self.give_up_if_failed(&mut list);
        if let Some(error) = list.failed.take() {
            return Err(error);
        }
        heard?;
        looked?;
        Ok(list.entries.iter().all(|entry| entry.unawaited.is_some()))
    }

    /// Waits for all that was begun until now, at most for as long as the communicator's time limit
    /// says.
    pub(crate) fn sync(&self, operation: &'static str) -> Result<()> {
        self.wait(operation, self.time_limit)
    }

    /// The same with another limit.
    pub(crate) fn wait(&self, operation: &'static str, limit: Option<Duration>) -> Result<()> {
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        let last = self.list().next;
        let mut pause = Pause::default();
        loop {
            let mut list = self.list();
            let over = self.look(&mut list);
            if let Err(error) = &over {
                // Nobody may see its memory while somebody else may still look after it.
                self.failing
                    .fail(&format!("{operation} could not ask: {error}"));
            }
            self.give_up_if_failed(&mut list);
            let awaited = |entry: &&Entry| entry.unawaited.is_none() && entry.number < last;
            let left = list.entries.iter().filter(awaited).count();
            if left == 0 {
                if let Some(error) = list.failed.take() {
                    return Err(error);
                }
                over?;
                return self.failing.check(operation);
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                let text = list.silent(operation, limit, left);
                let error = Error::new(ErrorKind::TimedOut, operation, &text);
                self.failing.fail(&text);
                self.give_up_if_failed(&mut list);
                return Err(error);
            }
            drop(list);
            if matches!(over, Ok(true)) {
                pause = Pause::default();
            }
            // What it says is seen in the next round.
            let _ = self.failing.hear(operation);
            pause.rest();
        }
    }

    /// Nothing that was begun works on anybody's memory any more, if the communicator has failed.
    fn give_up_if_failed(&self, list: &mut List) {
        if self.failing.check("").is_err() {
            list.entries.clear();
            list.unawaited = 0;
        }
    }

    /// The same for whoever has made it fail.
    pub(crate) fn give_up(&self) {
        self.give_up_if_failed(&mut self.list());
        self.changed.notify_all();
    }

    /// Runs the progress thread until [`stop`](Self::stop).
    pub(crate) fn look_after(&self) {
        let mut pause = Pause::default();
        let mut list = self.list();
        while !list.stop {
            if list.entries.is_empty() {
                list = self
                    .changed
                    .wait(list)
                    .unwrap_or_else(PoisonError::into_inner);
                pause = Pause::default();
                continue;
            }
            // Who may not ask here may not anywhere on this thread.
            match self.look(&mut list) {
                Ok(true) => pause = Pause::default(),
                Ok(false) => {}
                Err(_) => return,
            }
            self.give_up_if_failed(&mut list);
            drop(list);
            pause.rest();
            list = self.list();
        }
    }

    /// Ends the progress thread.
    pub(crate) fn stop(&self) {
        self.list().stop = true;
        self.changed.notify_all();
    }
}

impl List {
    /// Describes the operations that did not complete in time.
    fn silent(&self, operation: &str, limit: Option<Duration>, left: usize) -> String {
        let limit = limit.unwrap_or_default();
        let awaited = self.entries.iter().find(|entry| entry.unawaited.is_none());
        let name = awaited.map_or("an operation", |entry| entry.name);
        format!(
            "{operation} timed out after {limit:?} with {} in flight, the first of them {name}: other ranks \
             have not taken part in it",
            Count(left, "operation")
        )
    }
}

impl fmt::Debug for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = self.list();
        f.debug_struct("InFlight")
            .field("operations", &list.entries.len())
            .field("begun", &list.next)
            .finish_non_exhaustive()
    }
}
