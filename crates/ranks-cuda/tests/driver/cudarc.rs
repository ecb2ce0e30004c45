//! cudarc's streams and slices, on the double as the driver of a process of their own.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use ranks_cuda::{Cuda, DeviceSlice, Stream};

use super::children;
use super::double::{Double, Gate};

struct Setup {
    double: Double,
    ours: ranks_cuda::Context,
    theirs: Arc<CudaContext>,
    /// A stream of cudarc's that is not the default one, so that events order its slices.
    stream: Arc<CudaStream>,
}

impl Setup {
    fn new() -> Self {
        let theirs = CudaContext::new(0).unwrap();
        let stream = theirs.new_stream().unwrap();
        let cuda = Cuda::load().unwrap();
        let double = Double::of(cuda.path());
        assert_eq!(double.cuda, cuda);
        Setup {
            ours: cuda.device(0).unwrap().context().unwrap(),
            double,
            theirs,
            stream,
        }
    }

    fn slice(&self, values: &[f32]) -> CudaSlice<f32> {
        self.stream.clone_htod(values).unwrap()
    }

    /// That nothing was freed too early, and all is freed in the end.
    fn ends(self) {
        self.theirs.synchronize().unwrap();
        self.ours.synchronize().unwrap();
        assert_eq!(self.double.uses_after_free(), 0);
        assert_eq!(self.double.allocations(), 0);
        self.theirs.check_err().unwrap();
    }
}

#[test]
fn cudarcs_slices_are_copied_and_read() {
    if !children::is_child() {
        return children::succeeds_with_driver("cudarc::cudarcs_slices_are_copied_and_read");
    }
    let setup = Setup::new();
    let mut slice = setup.slice(&[1.0, 2.0, 3.0]);
    assert_eq!(
        (DeviceSlice::len(&slice), DeviceSlice::ordinal(&slice)),
        (3, 0)
    );
    let mut host = [0.0; 2];
    setup
        .ours
        .copy_to_host(&slice.slice(1..3), &mut host)
        .unwrap();
    assert_eq!(host, [2.0, 3.0]);
    setup
        .ours
        .copy_to_device(&[7.0], &mut slice.slice_mut(1..2))
        .unwrap();
    assert_eq!(setup.stream.clone_dtoh(&slice).unwrap(), [1.0, 7.0, 3.0]);
    // On one of cudarc's streams, into memory of ours.
    let copy = setup
        .stream
        .copy(slice, setup.ours.alloc(3).unwrap())
        .unwrap();
    let (slice, vec) = copy.wait().unwrap();
    assert_eq!(vec.to_vec().unwrap(), [1.0, 7.0, 3.0]);
    drop((slice, vec));
    setup.ends();
}

#[test]
fn a_slice_of_cudarcs_is_not_freed_in_flight() {
    if !children::is_child() {
        return children::succeeds_with_driver("cudarc::a_slice_of_cudarcs_is_not_freed_in_flight");
    }
    let mut setup = Setup::new();
    in_flight(&setup);
    // A context with one stream only keeps no events.
    setup.stream = setup.theirs.default_stream();
    in_flight(&setup);
    setup.ends();
}

fn in_flight(setup: &Setup) {
    let stream = setup.ours.stream().unwrap();
    let (one, other) = (setup.slice(&[5.0; 9]), setup.slice(&[0.0; 9]));
    let gate = Gate::close(&stream);
    // Given back in order, and dropped at once.
    let copy = stream.copy(one, other).unwrap();
    let elsewhere = setup.ours.stream().unwrap();
    let (one, other) = copy.enqueue_wait(&elsewhere).unwrap();
    drop(one);
    // Dropped with its operation.
    drop(stream.copy(other, setup.slice(&[0.0; 9])).unwrap());
    // Borrowed by an operation of another library, and dropped.
    let (mut borrowed, written) = (setup.slice(&[1.0]), setup.slice(&[2.0]));
    let (from, to) = (
        DeviceSlice::address(&written),
        DeviceSlice::address(&borrowed),
    );
    // SAFETY: both are kept until the event that follows is over.
    unsafe { cudarc::driver::result::memcpy_dtod_async(to, from, 4, stream.raw().0.cast()) }
        .unwrap();
    let event = stream.record().unwrap();
    borrowed.slice_mut(..).written_until(&event);
    written.slice(..).used_until(&event);
    drop((borrowed, written));
    assert!(setup.double.allocations() >= 4);
    gate.open();
    stream.synchronize().unwrap();
    // No context is current on a new thread.
    let cuda = setup.double.cuda;
    assert_eq!(
        std::thread::spawn(move || cuda.collect()).join().unwrap(),
        0
    );
    setup.theirs.check_err().unwrap();
}

#[test]
fn the_double_sees_what_is_freed_in_flight() {
    if !children::is_child() {
        return children::succeeds_with_driver("cudarc::the_double_sees_what_is_freed_in_flight");
    }
    let setup = Setup::new();
    let stream = setup.ours.stream().unwrap();
    let (one, mut other) = (setup.slice(&[5.0; 9]), setup.slice(&[0.0; 9]));
    let gate = Gate::close(&stream);
    let (from, to) = (
        DeviceSlice::address(&one),
        other.device_ptr_mut(&setup.stream).0,
    );
    // SAFETY: none: the source is freed before. There is no device that could come to harm.
    unsafe { cudarc::driver::result::memcpy_dtod_async(to, from, 36, stream.raw().0.cast()) }
        .unwrap();
    drop(one);
    setup.stream.synchronize().unwrap();
    assert_eq!(setup.double.uses_after_free(), 1);
    gate.open();
    stream.synchronize().unwrap();
}

#[test]
fn operations_come_after_cudarcs_and_before() {
    if !children::is_child() {
        return children::succeeds_with_driver("cudarc::operations_come_after_cudarcs_and_before");
    }
    let setup = Setup::new();
    let (stream, another) = (
        setup.ours.stream().unwrap(),
        setup.theirs.new_stream().unwrap(),
    );
    let mut slice = setup.slice(&[0.0; 4]);
    // Written by cudarc on another stream than the slice's own, later.
    let gate = Gate::close(&another);
    another
        .memcpy_htod(&[1.0, 2.0, 3.0, 4.0], &mut slice)
        .unwrap();
    let copy = stream.copy(slice, setup.slice(&[0.0; 4])).unwrap();
    assert!(!copy.is_done().unwrap());
    gate.open();
    let (slice, copied) = copy.wait().unwrap();
    assert_eq!(
        setup.stream.clone_dtoh(&copied).unwrap(),
        [1.0, 2.0, 3.0, 4.0]
    );
    // Read by cudarc, on yet another stream, once it is written.
    let gate = Gate::close(&stream);
    let nines = setup.slice(&[9.0; 4]);
    let copy = stream.copy(nines, copied).unwrap();
    let (nines, copied) = copy.enqueue_wait(&setup.stream).unwrap();
    let (address, guard) = copied.device_ptr(&another);
    assert_ne!(address, 0);
    drop(guard);
    let after = another.record_event(None).unwrap();
    assert!(!after.is_complete());
    gate.open();
    assert_eq!(another.clone_dtoh(&copied).unwrap(), [9.0; 4]);
    drop((slice, nines, copied));
    setup.ends();
}
