//! Enqueued work happens in the order of streams and events.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ranks_cuda::{ErrorKind, Priority, Stream};

use super::double::{Double, Gate};

#[test]
fn a_copy_goes_there_and_back() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream_with_priority(Priority::High).unwrap();
    let mut host = context.pinned::<u32>(1000).unwrap();
    host.iter_mut().zip(0..).for_each(|(to, n)| *to = n);
    let device = context.alloc::<u32>(1000).unwrap();
    let (host, device) = stream.upload(host, device).unwrap().wait().unwrap();
    let other = context.alloc::<u32>(1000).unwrap();
    let (device, other) = stream.copy(device, other).unwrap().wait().unwrap();
    let back = context.pinned::<u32>(1000).unwrap();
    let (other, back) = stream.download(other, back).unwrap().wait().unwrap();
    assert_eq!(host[..], back[..]);
    assert_eq!(other.to_vec().unwrap(), host[..]);
    drop((host, device, other, back, stream, context));
    double.is_empty();
}

#[test]
fn what_was_copied_from_pageable_memory_is_there_for_every_stream() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let mut device = context.alloc::<u16>(4).unwrap();
    context.copy_to_device(&[1, 2, 3, 4], &mut device).unwrap();
    let back = context.pinned::<u16>(4).unwrap();
    let (_, back) = stream.download(device, back).unwrap().wait().unwrap();
    assert_eq!(back[..], [1, 2, 3, 4]);
}

#[test]
fn events_order_streams() {
    let double = Double::new();
    let context = double.context();
    let (first, second) = (context.stream().unwrap(), context.stream().unwrap());
    let gate = Gate::close(&first);
    let mut host = context.pinned::<u8>(3).unwrap();
    host.copy_from_slice(b"abc");
    let upload = first.upload(host, context.alloc::<u8>(3).unwrap()).unwrap();
    second.wait_event(upload.event()).unwrap();
    let (ran, run) = channel();
    second
        .launch_host(Box::new(move || ran.send(()).unwrap()))
        .unwrap();
    let after = second.record().unwrap();
    assert!(!upload.is_done().unwrap());
    assert!(!after.query().unwrap());
    assert!(!second.query().unwrap());
    assert!(run.try_recv().is_err());
    gate.open();
    after.synchronize().unwrap();
    run.try_recv().unwrap();
    assert!(upload.is_done().unwrap());
    let (_, device) = upload.wait().unwrap();
    assert_eq!(device.to_vec().unwrap(), b"abc");
}

#[test]
fn an_event_means_what_was_enqueued_before_it() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let before = stream.record().unwrap();
    before.synchronize().unwrap();
    let gate = Gate::close(&stream);
    let after = stream.record().unwrap();
    assert!(before.query().unwrap());
    assert!(!after.query().unwrap());
    let other = context.stream().unwrap();
    other.wait_event(&before).unwrap();
    other.synchronize().unwrap();
    gate.open();
    stream.synchronize().unwrap();
    assert!(after.query().unwrap());
}

#[test]
fn buffers_go_on_to_another_stream() {
    let double = Double::new();
    let context = double.context();
    let (first, second) = (context.stream().unwrap(), context.stream().unwrap());
    let gate = Gate::close(&first);
    let ones = context.device_vec_of(&[1.5f32; 64]).unwrap();
    let copy = first.copy(ones, context.alloc::<f32>(64).unwrap()).unwrap();
    let (ones, copied) = copy.enqueue_wait(&second).unwrap();
    let back = second
        .download(copied, context.pinned(64).unwrap())
        .unwrap();
    assert!(!back.is_done().unwrap());
    drop(ones);
    gate.open();
    let (copied, back) = back.wait().unwrap();
    assert_eq!(back[..], [1.5; 64]);
    drop((copied, back, first, second, context));
    double.is_empty();
}

#[test]
fn a_blocking_copy_waits_for_who_works_there() {
    let double = Double::new();
    let context = double.context();
    let second = context.stream().unwrap();
    let device = context.device_vec_of(&[-7i16; 5]).unwrap();
    // `used_until` is what an operation of another library says.
    let gate = Gate::close(&second);
    let used = second.record().unwrap();
    ranks_cuda::DeviceSlice::used_until(&device, &used);
    std::thread::scope(|s| {
        let read = s.spawn(|| (device.to_vec().unwrap(), used.query().unwrap()));
        std::thread::sleep(Duration::from_millis(20));
        assert!(!used.query().unwrap());
        gate.open();
        assert_eq!(read.join().unwrap(), (vec![-7; 5], true), "it did not wait");
    });
}

#[test]
fn operations_on_a_stream_that_is_captured_are_refused() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let make = || context.device_vec_of(&[1u8; 4]).unwrap();
    double.capturing(true);
    assert!(stream.is_capturing().unwrap());
    let refused = stream.copy(make(), make()).map(drop).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Argument, "{refused}");
    assert!(refused.to_string().contains("captured"), "{refused}");
    double.capturing(false);
    let copied = stream.copy(make(), make()).unwrap();
    drop((copied.wait().unwrap(), stream, context));
    double.is_empty();
}

#[test]
fn host_functions_run_once_and_in_order() {
    let double = Double::new();
    let context = double.context();
    let stream = Arc::new(context.stream().unwrap());
    let said = Arc::new(Mutex::new(Vec::new()));
    for n in 0..5 {
        let said = Arc::clone(&said);
        stream
            .launch_host(Box::new(move || said.lock().unwrap().push(n)))
            .unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(*said.lock().unwrap(), [0, 1, 2, 3, 4]);
    assert_eq!(Arc::strong_count(&said), 1);
}

#[test]
fn a_host_function_that_panics_harms_nobody() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    stream
        .launch_host(Box::new(|| panic!("as it should")))
        .unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let inner = context.clone();
    let call = move || {
        // The driver refuses calls from here, and that is an error as any.
        let refused = inner.stream().unwrap_err();
        assert_eq!(
            refused.name(),
            Some("CUDA_ERROR_NOT_PERMITTED"),
            "{refused}"
        );
        counted.fetch_add(1, Ordering::SeqCst);
        std::mem::forget(inner);
    };
    stream.launch_host(Box::new(call)).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[test]
fn a_host_function_that_is_refused_is_dropped() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let kept = Arc::new(());
    let inner = Arc::clone(&kept);
    double.fail_next("cuLaunchHostFunc", 1);
    let refused = stream.launch_host(Box::new(move || drop(inner)));
    assert_eq!(refused.unwrap_err().call(), "cuLaunchHostFunc");
    assert_eq!(Arc::strong_count(&kept), 1);
}

#[test]
fn a_stream_that_is_dropped_finishes() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let gate = Gate::close(&stream);
    let (ran, run) = channel();
    stream
        .launch_host(Box::new(move || ran.send(7).unwrap()))
        .unwrap();
    let event = stream.record().unwrap();
    drop(stream);
    gate.open();
    assert_eq!(run.recv(), Ok(7));
    event.synchronize().unwrap();
    drop((event, context));
    double.is_empty();
}

#[test]
fn contexts_are_entered_and_left() {
    let double = Double::new();
    let zero = double.context();
    let one = double.cuda.device(1).unwrap().context().unwrap();
    assert_eq!(zero, double.context());
    assert_ne!(zero, one);
    let entered = zero.enter().unwrap();
    {
        let _inner = one.enter().unwrap();
        let calls = double.calls("cuCtxSetCurrent");
        drop(one.enter().unwrap());
        assert_eq!(
            double.calls("cuCtxSetCurrent"),
            calls,
            "it was current already"
        );
    }
    let calls = double.calls("cuCtxSetCurrent");
    drop(zero.enter().unwrap());
    assert_eq!(
        double.calls("cuCtxSetCurrent"),
        calls,
        "it is current again"
    );
    drop(entered);
    // Each works on its own device, whichever is current.
    let (a, b) = (zero.alloc::<u8>(1).unwrap(), one.alloc::<u8>(1).unwrap());
    use ranks_cuda::DeviceSlice as _;
    assert_eq!((a.ordinal(), b.ordinal()), (0, 1));
    assert_eq!(one.device().name().unwrap(), "Double of a GPU, number 1");
    drop((a, b, zero, one));
    double.is_empty();
}
