//! Operations that own their buffers.
#![allow(unsafe_code)]

use ranks_comm::Result;
use ranks_cuda::{Enqueued, Event, Stream};

use super::NcclCommunicator;
use super::call::CheckedCall;
use super::queue::same_device;
use super::reduction::operation::Operation;
use crate::call::checks::Checks;
use crate::state::open_group;
use crate::state::time_limit::NcclWatch;

mod operations;

impl NcclCommunicator {
    pub(super) fn checks<'a>(&'a self, stream: &'a impl Stream) -> Checks<'a> {
        Checks {
            comm: self.shared(),
            stream,
        }
    }

    /// Enqueues calls that were made of these buffers.
    pub(super) fn enqueue<B: Send + 'static>(
        &self,
        calls: &[CheckedCall],
        buffers: B,
        op: impl Operation,
        stream: &impl Stream,
    ) -> Result<Enqueued<B, NcclWatch>> {
        let operation = calls
            .first()
            .map_or("ncclGroupEnd", |call| call.what.name());
        let tell = |event: &Event| op.used_until(event);
        // SAFETY: the calls take the memory of the buffers and of `op`, which is of the
        // communicator's device as the stream is.
        let enqueue = || unsafe { CheckedCall::enqueue_all(calls, self.shared(), stream.raw()) };
        // SAFETY: as above; addresses do not change when buffers are moved, by `DeviceSlice`.
        unsafe { self.begin(operation, buffers, tell, stream, enqueue) }
    }

    /// Enqueues by `enqueue`. `tell` is for what else the operation uses.
    ///
    /// # Safety
    /// The operation is enqueued on `stream`, and works on nothing but what the buffers keep
    /// wherever they are moved, and what is told of its end.
    pub(super) unsafe fn begin<B: Send + 'static>(
        &self,
        operation: &'static str,
        buffers: B,
        tell: impl FnOnce(&Event),
        stream: &impl Stream,
        enqueue: impl FnOnce() -> Result<()>,
    ) -> Result<Enqueued<B, NcclWatch>> {
        let shared = self.shared();
        // Its event would come before what a group enqueues at its end.
        open_group::none_open(operation)?;
        same_device(operation, shared, stream)?;
        let watch = shared.watch(operation);
        // SAFETY: passed on; it is enqueued when this returns, for no group is open.
        let enqueued = unsafe { Enqueued::begin(stream, buffers, watch, |_| enqueue()) };
        // After a failure some of it may be under way all the same.
        match &enqueued {
            Ok(enqueued) => tell(enqueued.event()),
            // Nothing is, if it was refused because the stream is being captured.
            Err(_) if matches!(stream.is_capturing(), Ok(true)) => {}
            Err(_) => {
                if let Ok(event) = stream.record() {
                    tell(&event);
                }
            }
        }
        enqueued
    }
}
