//! Gradients in memory of a GPU, which is copied to and summed in the order of two streams.
#![allow(unsafe_code)]

use std::mem;
use std::ptr::with_exposed_provenance_mut;

use ranks::cuda::{Context, CudaStream, DeviceSlice, DeviceVec, Enqueued, PinnedVec, Stream};
use ranks::raw::{Dtype, RawCollectives, RawOp, StreamSync};

use super::{Buckets, WEIGHTS};
use crate::report::Outcome;

/// One number, on the host and on the device.
type Bucket = (PinnedVec<f64>, DeviceVec<f64>);

/// One number a bucket. The stream of the program brings it to the device, as kernels that compute
/// gradients would; the communicator's stream waits for an event there, and sums it.
pub(super) struct DeviceBuckets<'a> {
    comm: &'a dyn RawCollectives,
    stream: CudaStream,
    idle: [Option<Bucket>; WEIGHTS],
    under_way: [Option<Enqueued<Bucket>>; WEIGHTS],
}

impl<'a> DeviceBuckets<'a> {
    pub(super) fn new(comm: &'a dyn RawCollectives, context: &Context) -> Outcome<Self> {
        let bucket = || Outcome::Ok(Some((context.pinned(1)?, context.alloc(1)?)));
        Ok(Self {
            comm,
            stream: context.stream()?,
            idle: [bucket()?, bucket()?, bucket()?],
            under_way: [const { None }; WEIGHTS],
        })
    }

    /// Makes the communicator's stream wait for what the program's has to do so far.
    fn order(&self, streams: &dyn StreamSync) -> Outcome<()> {
        let event = streams.create_event()?;
        // SAFETY: the stream lives, and is one of the communicator's device.
        unsafe { streams.record_on_stream(event, self.stream.raw())? };
        streams.comm_stream_wait_event(event)?;
        Ok(streams.destroy_event(event)?)
    }
}

impl Buckets for DeviceBuckets<'_> {
    fn ready(&mut self, bucket: usize, gradient: f64) -> Outcome<()> {
        let streams = self
            .comm
            .stream_sync()
            .ok_or("a communicator without streams")?;
        let (mut host, device) = self.idle[bucket]
            .take()
            .ok_or("a bucket that is under way")?;
        host[0] = gradient;
        let address = usize::try_from(device.address())?;
        self.under_way[bucket] = Some(self.stream.upload(host, device)?);
        self.order(streams)?;
        let place = with_exposed_provenance_mut(address);
        // SAFETY: one element of the device, in place; it is not freed before `sync` has returned,
        // which `summed` and `drop` see to.
        unsafe {
            self.comm
                .allreduce(place, place, 1, Dtype::F64, RawOp::Sum)?
        };
        Ok(())
    }

    fn summed(&mut self) -> Outcome<[f64; WEIGHTS]> {
        // What this stream does from now on finds the sums; `sync` is for its time limit.
        // SAFETY: the stream lives, and is one of the communicator's device.
        unsafe { self.comm.enqueue_wait(self.stream.raw())? };
        let ended = self.comm.sync();
        let under_way = mem::take(&mut self.under_way);
        ended?;
        let mut sums = [0.0; WEIGHTS];
        for (bucket, copied) in under_way.into_iter().flatten().enumerate() {
            let (host, device) = copied.wait()?;
            let (device, host) = self.stream.download(device, host)?.wait()?;
            sums[bucket] = host[0];
            self.idle[bucket] = Some((host, device));
        }
        Ok(sums)
    }
}

impl Drop for DeviceBuckets<'_> {
    fn drop(&mut self) {
        // The ranks have failed half way: nobody waits for the others any more, and the memory is
        // left to them.
        mem::forget(mem::take(&mut self.under_way));
    }
}
