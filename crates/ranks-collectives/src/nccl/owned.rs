//! How an operation that owns its buffers is enqueued.
#![allow(unsafe_code)]

use ranks_comm::Result;
use ranks_cuda::{Enqueued, Stream};

use super::NcclCommunicator;
use super::call::Call;
use super::checked::Checks;
use super::group;
use super::queue::same_device;
use super::reduction::operation::Operation;
use super::waiting::NcclWatch;

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
        calls: &[Call],
        buffers: B,
        op: impl Operation,
        stream: &impl Stream,
    ) -> Result<Enqueued<B, NcclWatch>> {
        let shared = self.shared();
        let operation = calls
            .first()
            .map_or("ncclGroupEnd", |call| call.what.name());
        // Its event would come before what a group enqueues at its end.
        group::none_open(operation)?;
        same_device(operation, shared, stream)?;
        let watch = shared.watch(operation);
        // SAFETY: the calls take the memory of the buffers alone, which is of the communicator's device as the stream is. They are
        // enqueued when this returns, for no group is open.
        let enqueue = |_: &mut B| unsafe { Call::enqueue_all(calls, shared, stream.raw()) };
        // SAFETY: as above; addresses do not change when buffers are moved, by `DeviceSlice`.
        let enqueued = unsafe { Enqueued::begin(stream, buffers, watch, enqueue) };
        match &enqueued {
            Ok(enqueued) => op.used_until(enqueued.event()),
            // Some of it may be under way all the same.
            Err(_) => stream
                .record()
                .iter()
                .for_each(|event| op.used_until(event)),
        }
        enqueued
    }
}
