//! Gradients in memory of the host.
#![allow(unsafe_code)]

use std::mem;

use ranks::raw::{Dtype, RawCollectives, RawOp};

use super::{Buckets, WEIGHTS};
use crate::report::Outcome;

/// One number a bucket, where the communicator works on it until all are summed.
pub(super) struct HostBuckets<'a> {
    comm: &'a dyn RawCollectives,
    sums: Vec<f64>,
    under_way: bool,
}

impl<'a> HostBuckets<'a> {
    pub(super) fn new(comm: &'a dyn RawCollectives) -> Self {
        Self {
            comm,
            sums: vec![0.0; WEIGHTS],
            under_way: false,
        }
    }
}

impl Buckets for HostBuckets<'_> {
    fn ready(&mut self, bucket: usize, gradient: f64) -> Outcome<()> {
        let place = &raw mut self.sums[bucket];
        self.under_way = true;
        // SAFETY: the place is an element of `sums`, which nothing is under way for yet.
        unsafe { place.write(gradient) };
        let (send, recv) = (place.cast_const().cast(), place.cast());
        // SAFETY: one element, in place; it is neither used nor freed before `sync` has returned,
        // which `summed` and `drop` see to.
        unsafe { self.comm.allreduce(send, recv, 1, Dtype::F64, RawOp::Sum)? };
        // Those before it go on meanwhile.
        self.comm.progress()?;
        Ok(())
    }

    fn summed(&mut self) -> Outcome<[f64; WEIGHTS]> {
        let ended = self.comm.sync();
        self.under_way = false;
        ended?;
        Ok([0, 1, 2].map(|bucket| self.sums[bucket]))
    }
}

impl Drop for HostBuckets<'_> {
    fn drop(&mut self) {
        if self.under_way {
            // The ranks have failed half way: nobody waits for the others any more, and the memory
            // is left to them.
            mem::forget(mem::take(&mut self.sums));
        }
    }
}
