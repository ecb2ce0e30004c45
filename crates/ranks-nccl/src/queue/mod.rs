//! Operations on borrowed memory of a device, on one communicator and one stream.
//!
//! # Safety
//!
//! Memory that an operation was given stays until the operation is over, because what borrows it is
//! kept here, and is told, when the queue ends, of an event that comes after all of them:
//! [`DeviceSlice::used_until`] keeps memory for that long, however it is dropped. A queue ends when
//! its owner is left, also by a panic, and never inside of a group, before whose end nothing is
//! enqueued.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{DeviceSlice, DeviceSliceMut, Event, Stream};
use ranks_raw::backend::drain;

use super::call::CheckedCall;
use super::error::of_driver;
use super::reduction::operation::Operation;
use crate::call::checks::Checks;
use crate::state::Shared;
use crate::state::open_group;

pub(crate) mod group;
mod scope;

mod operations;

/// Tells the memory of an operation of an event that comes after it.
type Uses<'env> = Box<dyn FnOnce(&Event) + 'env>;

/// The time to wait for a device that answers neither for an event nor for a stream, before the
/// process is ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// Operations on borrowed memory, of one communicator and on one stream: what
/// [`NcclCommunicator::scope`](super::NcclCommunicator::scope) and [`Group::on`](super::Group::on)
/// give.
///
/// An operation is enqueued by its call, in a group when that ends. The memory is borrowed for as
/// long as the scope or the group was called for; a device may work on it for longer, and then it
/// is not freed before that is over.
pub struct Queue<'env> {
    shared: &'env Arc<Shared>,
    stream: &'env dyn Stream,
    kept: RefCell<Vec<Uses<'env>>>,
    /// The lifetime may neither be shortened nor lengthened.
    env: PhantomData<&'env mut &'env ()>,
}

impl<'env> Queue<'env> {
    /// # Errors
    /// [`ErrorKind::Argument`] if the stream is of another device than the communicator, or being
    /// captured.
    pub(super) fn new(
        operation: &'static str,
        shared: &'env Arc<Shared>,
        stream: &'env dyn Stream,
    ) -> Result<Self> {
        same_device(operation, shared, stream)?;
        let runs = stream.refuse_capture(operation);
        runs.map_err(|error| of_driver(operation, error))?;
        Ok(Self {
            shared,
            stream,
            kept: RefCell::new(Vec::new()),
            env: PhantomData,
        })
    }

    /// Calls `body`, whose operations are enqueued as one: sends and receives in it may stand in
    /// any order.
    ///
    /// # Errors
    /// That of `body`; else as [`group`](crate::group()).
    #[doc(alias = "ncclGroupStart")]
    #[doc(alias = "ncclGroupEnd")]
    pub fn group<R>(&self, body: impl FnOnce(&Self) -> Result<R>) -> Result<R> {
        open_group::within(|| body(self))
    }

    pub(super) fn checks(&self) -> Checks<'_> {
        Checks {
            comm: self.shared,
            stream: self.stream,
        }
    }

    /// Enqueues calls that were made of this memory.
    fn enqueue<S, R, O>(
        &self,
        calls: &[CheckedCall],
        send: Option<S>,
        recv: Option<R>,
        op: O,
    ) -> Result<()>
    where
        S: DeviceSlice + 'env,
        R: DeviceSliceMut + 'env,
        O: Operation + 'env,
    {
        let tell = move |event: &Event| {
            if let Some(send) = send {
                send.used_until(event);
            }
            if let Some(mut recv) = recv {
                recv.written_until(event);
            }
            op.used_until(event);
        };
        // Whatever becomes of the calls, the memory is waited for.
        self.keep(tell);
        // SAFETY: what the addresses were taken from is kept until the queue ends, and then until
        // an event that comes after; the stream is borrowed, and of the communicator's device.
        unsafe { CheckedCall::enqueue_all(calls, self.shared, self.stream.raw()) }
    }

    /// Keeps what an operation uses that is enqueued next, until it was told of its end.
    pub(super) fn keep(&self, tell: impl FnOnce(&Event) + 'env) {
        self.kept.borrow_mut().push(Box::new(tell));
    }

    pub(super) fn shared(&self) -> &'env Arc<Shared> {
        self.shared
    }

    pub(super) fn stream(&self) -> &'env dyn Stream {
        self.stream
    }

    /// Tells all memory what it has to wait for. The event, if there was anything.
    pub(super) fn end(&self) -> Option<Event> {
        let kept = self.kept.take();
        if kept.is_empty() {
            return None;
        }
        match self.stream.record() {
            Ok(event) => {
                for uses in kept {
                    uses(&event);
                }
                Some(event)
            }
            Err(_) => {
                self.drain();
                None
            }
        }
    }

    /// Waits for the stream itself, where no event can be had of it: the memory cannot be given
    /// back before.
    #[cold]
    fn drain(&self) {
        drain(PATIENCE, "a stream that no event is recorded on", || {
            // A stream that reports a failure has nothing under way: its context is gone.
            let over = !matches!(self.stream.query(), Ok(false));
            if !over {
                self.shared
                    .abort_because("the CUDA driver records no event");
            }
            over
        });
    }
}

impl Drop for Queue<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Queue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("communicator", self.shared)
            .field("operations", &self.kept.borrow().len())
            .finish_non_exhaustive()
    }
}

/// # Errors
/// [`ErrorKind::Argument`] if they are not of the same device.
pub(super) fn same_device(
    operation: &'static str,
    shared: &Shared,
    stream: &dyn Stream,
) -> Result<()> {
    let context = stream
        .context()
        .map_err(|error| of_driver(operation, error))?;
    if context == *shared.context() {
        return Ok(());
    }
    let (stream, device) = (context.device().ordinal(), shared.device());
    let detail =
        format_args!("the stream is of device {stream}, and the communicator's is device {device}");
    Err(Error::new(ErrorKind::Argument, operation, detail))
}
