//! Memory of a kind that tells those who read it from those who write to it, as cudarc's slices do.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ranks_collectives::ops::Sum;
use ranks_cuda::{Cuda, DeviceSlice, DeviceSliceMut, DeviceVec, Event, Stream};
use ranks_nccl::NcclCommunicator;

use crate::samples::{LEN, Place};
use crate::support::{each, isolated, on_devices};

/// The number of times that a stream was made to wait.
#[derive(Default)]
struct Waits {
    for_writers: AtomicUsize,
    for_all: AtomicUsize,
}

impl Waits {
    fn seen(&self) -> (usize, usize) {
        let load = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        (load(&self.for_writers), load(&self.for_all))
    }
}

/// Memory that counts that.
struct Counted {
    memory: DeviceVec<f32>,
    waits: Arc<Waits>,
}

impl Counted {
    fn of(comm: &NcclCommunicator, len: usize) -> (Self, Arc<Waits>) {
        let (memory, waits) = (comm.context().alloc(len).unwrap(), Arc::default());
        let counted = Arc::clone(&waits);
        (Self { memory, waits }, counted)
    }
}

// SAFETY: it is the vector, which it owns.
unsafe impl DeviceSlice for Counted {
    type Element = f32;

    fn address(&self) -> u64 {
        self.memory.address()
    }

    fn len(&self) -> usize {
        self.memory.len()
    }

    fn ordinal(&self) -> usize {
        self.memory.ordinal()
    }

    fn cuda(&self) -> ranks_cuda::Result<Cuda> {
        self.memory.cuda()
    }

    fn used_until(&self, event: &Event) {
        self.memory.used_until(event);
    }

    fn order_after_use(&self, stream: &dyn Stream) -> ranks_cuda::Result<()> {
        self.waits.for_writers.fetch_add(1, Ordering::Relaxed);
        self.memory.order_after_use(stream)
    }

    fn order_writes_after_use(&mut self, stream: &dyn Stream) -> ranks_cuda::Result<()> {
        self.waits.for_all.fetch_add(1, Ordering::Relaxed);
        self.memory.order_writes_after_use(stream)
    }
}

// SAFETY: as above.
unsafe impl DeviceSliceMut for Counted {}

/// A kernel that read it was waited for by nobody.
#[test]
fn what_is_registered_was_written_to_while_it_was_read() {
    let test = "ordered::what_is_registered_was_written_to_while_it_was_read";
    isolated(test, &[], || {
        each(&on_devices(2), |comm| {
            let on = Place::of(comm);
            let (memory, waits) = Counted::of(comm, LEN);
            let registered = comm.register(memory).unwrap();
            let sum = comm.allreduce_in_place(registered, Sum, &on.stream);
            let registered = sum.unwrap().wait().unwrap();
            assert_eq!(waits.seen(), (0, 1));
            let memory = registered.release().unwrap();
            assert_eq!(waits.seen(), (0, 2));
            drop(comm.register(memory).unwrap());
            assert_eq!(waits.seen(), (0, 3));
        });
    });
}

/// A kernel that wrote it was waited for by nobody.
#[test]
fn a_factor_was_read_before_it_was_there() {
    let test = "ordered::a_factor_was_read_before_it_was_there";
    isolated(test, &[], || {
        each(&on_devices(2), |comm| {
            let on = Place::of(comm);
            let (factor, waits) = Counted::of(comm, 1);
            let scaled = comm.pre_mul_sum_on_device(factor).unwrap();
            let mut data = on.zeros::<f32>(LEN);
            for calls in 1..=2 {
                let sum = comm.allreduce_in_place(data, &scaled, &on.stream);
                data = sum.unwrap().wait().unwrap();
                assert_eq!(waits.seen(), (calls, 0));
            }
            let queued = comm.scope(&on.stream, |s| s.allreduce_in_place(&mut data, &scaled));
            queued.unwrap();
            assert_eq!(waits.seen(), (3, 0));
        });
    });
}
