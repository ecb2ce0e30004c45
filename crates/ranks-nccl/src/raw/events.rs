//! Events by number, between the communicator's stream and those of the program.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{CudaStream, Event, RawStream, Stream};

use super::RawNccl;
use crate::error::of_driver;
use crate::state::open_group;
use ranks_raw::{RawCollectives, StreamSync};

const RECORD: &str = "cuEventRecord";
const WAIT: &str = "cuStreamWaitEvent";

/// The next number, of all communicators: that of another one is not there.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The event that was last recorded under each number; `None` if none was.
#[derive(Debug, Default)]
pub(super) struct Events(Mutex<HashMap<u64, Option<Event>>>);

impl Events {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Option<Event>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the number stand for what is on `stream` so far.
    fn record(&self, number: u64, stream: &CudaStream) -> Result<()> {
        // What is in an open group is not enqueued yet.
        open_group::none_open(RECORD)?;
        if !self.lock().contains_key(&number) {
            return Err(unknown(RECORD, number));
        }
        let event = stream.record().map_err(|error| of_driver(RECORD, error))?;
        // The former event is dropped when nothing is locked.
        let _former = self.lock().insert(number, Some(event));
        Ok(())
    }

    fn let_wait(&self, number: u64, stream: &CudaStream) -> Result<()> {
        let event = self.lock().get(&number).cloned();
        match event.ok_or_else(|| unknown(WAIT, number))? {
            Some(event) => stream
                .wait_event(&event)
                .map_err(|error| of_driver(WAIT, error)),
            None => Ok(()),
        }
    }
}

#[cold]
fn unknown(operation: &'static str, number: u64) -> Error {
    let detail = format_args!("there is no event {number} on this communicator");
    Error::new(ErrorKind::Argument, operation, detail)
}

impl StreamSync for RawNccl {
    fn create_event(&self) -> Result<u64> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.events.lock().insert(number, None);
        Ok(number)
    }

    fn destroy_event(&self, event: u64) -> Result<()> {
        // Whatever waits for it goes on waiting: the driver keeps what is pending.
        let _dropped = self.events.lock().remove(&event);
        Ok(())
    }

    fn record_on_comm_stream(&self, event: u64) -> Result<()> {
        self.events.record(event, &self.stream)
    }

    unsafe fn record_on_stream(&self, event: u64, stream: RawStream) -> Result<()> {
        // SAFETY: the caller vouches for the stream.
        let stream = unsafe { self.comm.context().stream_from_raw(stream) };
        self.events.record(event, &stream)
    }

    fn comm_stream_wait_event(&self, event: u64) -> Result<()> {
        self.events.let_wait(event, &self.stream)
    }

    unsafe fn stream_wait_event(&self, stream: RawStream, event: u64) -> Result<()> {
        // SAFETY: the caller vouches for the stream.
        let stream = unsafe { self.comm.context().stream_from_raw(stream) };
        self.events.let_wait(event, &stream)
    }

    fn sync_comm_stream(&self) -> Result<()> {
        self.sync()
    }
}
