//! Memory is kept while a device works on it, and freed after.

use std::ffi::c_void;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use ranks_cuda::{Alone, DeviceSlice, DeviceSliceMut, Enqueued, Error, ErrorKind, Memory, Stream};

use super::children;
use super::double::{Double, Gate};

#[test]
fn fresh_memory_is_zero() {
    let double = Double::new();
    let context = double.context();
    assert_eq!(context.alloc::<u64>(33).unwrap().to_vec().unwrap(), [0; 33]);
    assert_eq!(context.pinned::<u64>(33).unwrap()[..], [0; 33]);
    let empty = context.alloc::<u64>(0).unwrap();
    assert!(empty.is_empty() && empty.to_vec().unwrap().is_empty());
    assert!(context.pinned::<u64>(0).unwrap().is_empty());
    let stream = context.stream().unwrap();
    let (host, none) = (context.pinned(0).unwrap(), empty);
    drop(stream.upload(host, none).unwrap().wait().unwrap());
}

#[test]
fn what_is_dropped_in_flight_is_freed_later() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let gate = Gate::close(&stream);
    let (host, device) = (
        context.pinned::<u8>(9).unwrap(),
        context.alloc::<u8>(9).unwrap(),
    );
    let upload = stream.upload(host, device).unwrap();
    let event = upload.event().clone();
    drop(upload);
    assert!(!event.query().unwrap(), "drop has waited");
    assert_eq!((double.allocations(), double.pinned()), (1, 1));
    gate.open();
    event.synchronize().unwrap();
    assert_eq!(double.cuda.collect(), 0);
    assert_eq!((double.allocations(), double.pinned()), (0, 0));
    drop((event, stream, context));
    double.is_empty();
}

#[test]
fn what_is_forgotten_is_never_freed() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let gate = Gate::close(&stream);
    let (host, device) = (
        context.pinned::<u8>(9).unwrap(),
        context.alloc::<u8>(9).unwrap(),
    );
    std::mem::forget(stream.upload(host, device).unwrap());
    gate.open();
    stream.synchronize().unwrap();
    double.cuda.collect();
    assert_eq!((double.allocations(), double.pinned()), (1, 1));
    assert_eq!(double.uses_after_free(), 0);
}

#[test]
fn drop_does_not_wait_for_others() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let unrelated = context.alloc::<f32>(100).unwrap();
    let pinned = context.pinned::<f32>(100).unwrap();
    let gate = Gate::close(&stream);
    let held = stream.record().unwrap();
    // The driver would wait for the whole device.
    drop((unrelated, pinned));
    assert!(!held.query().unwrap(), "drop has waited");
    let again = context.alloc::<f32>(100).unwrap();
    assert!(!held.query().unwrap(), "an allocation has waited");
    gate.open();
    held.synchronize().unwrap();
    drop(again);
    assert_eq!(
        (double.allocations(), double.pinned()),
        (0, 0),
        "the next drop has not freed it"
    );
}

#[test]
fn a_buffer_that_was_given_back_in_order_may_be_dropped_at_once() {
    let double = Double::new();
    let context = double.context();
    let (first, second) = (context.stream().unwrap(), context.stream().unwrap());
    let gate = Gate::close(&first);
    let (one, other) = (
        context.alloc::<u8>(4).unwrap(),
        context.alloc::<u8>(4).unwrap(),
    );
    let copy = first.copy(one, other).unwrap();
    drop(copy.enqueue_wait(&second).unwrap());
    // It would wait if it freed them.
    assert_eq!(double.cuda.collect(), 2);
    assert!(!second.query().unwrap());
    assert_eq!(double.allocations(), 2);
    gate.open();
    second.synchronize().unwrap();
    drop((first, second, context));
    double.is_empty();
}

#[test]
fn parts_are_used_as_the_whole() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let mut vec = context.alloc::<u16>(8).unwrap();
    let gate = Gate::close(&stream);
    let event = stream.record().unwrap();
    let (left, right) = vec.split_at_mut(3).unwrap();
    assert_eq!((left.len(), right.len()), (3, 5));
    assert_eq!(right.address() - left.address(), 6);
    right.slice_mut(1..).unwrap().used_until(&event);
    drop(vec);
    assert_eq!(double.cuda.collect(), 1);
    assert!(!event.query().unwrap());
    assert_eq!(double.allocations(), 1);
    gate.open();
    event.synchronize().unwrap();
    drop((event, stream, context));
    double.is_empty();
}

#[test]
fn parts_are_where_they_should_be() {
    let double = Double::new();
    let context = double.context();
    let mut vec = context.device_vec_of(&[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
    context
        .copy_to_device(&[40, 50], &mut vec.slice_mut(4..6).unwrap())
        .unwrap();
    let (mut left, right) = vec.split_at_mut(2).unwrap();
    assert_eq!(
        right.as_view().slice(1..=2).unwrap().to_vec().unwrap(),
        [3, 40]
    );
    context
        .copy_to_device(&[-1], &mut left.reborrow().slice_mut(1..).unwrap())
        .unwrap();
    assert_eq!(vec.to_vec().unwrap(), [0, -1, 2, 3, 40, 50, 6, 7]);
    #[expect(
        clippy::reversed_empty_ranges,
        reason = "what is wrong with it is the test"
    )]
    let wrong = [
        vec.slice(3..9).err(),
        vec.slice(5..4).err(),
        vec.slice_mut(9..).err(),
    ];
    for error in wrong {
        let error = error.unwrap();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        assert!(error.to_string().contains("of 8 elements"), "{error}");
    }
    assert!(vec.split_at_mut(9).is_err());
    assert!(vec.slice(8..).unwrap().is_empty());
}

#[test]
fn lengths_must_agree() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let of = |len| context.alloc::<i32>(len).unwrap();
    let host = |len| context.pinned::<i32>(len).unwrap();
    let wrong: [Error; 5] = [
        context.copy_to_device(&[1, 2], &mut of(3)).unwrap_err(),
        context.copy_to_host(&of(3), &mut [0; 2]).unwrap_err(),
        stream.upload(host(2), of(3)).unwrap_err(),
        stream.download(of(2), host(3)).unwrap_err(),
        stream.copy(of(2), of(3)).unwrap_err(),
    ];
    for error in wrong {
        assert_eq!(error.kind(), ErrorKind::Length, "{error}");
        assert!(
            error.to_string().contains("elements cannot be copied to"),
            "{error}"
        );
    }
    for call in [
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuMemcpyDtoDAsync_v2",
    ] {
        assert_eq!(double.calls(call), 0);
    }
    let huge = context.alloc::<u64>(usize::MAX / 4).unwrap_err();
    assert_eq!(huge.kind(), ErrorKind::Argument, "{huge}");
}

#[test]
fn what_was_put_aside_makes_room() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    double.set_memory(1 << 20);
    let gate = Gate::close(&stream);
    let most = context.alloc::<u8>(900_000).unwrap();
    let other = context.device_vec_of(&[1u8; 10]).unwrap();
    let held = stream.record().unwrap();
    drop(most);
    assert_eq!(double.allocations(), 2);
    let opener = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        gate.open();
    });
    let again = context.alloc::<u8>(900_000).unwrap();
    opener.join().unwrap();
    let none = context.alloc::<u8>(900_000).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::OutOfMemory, "{none}");
    drop((again, other, held, stream, context));
    double.is_empty();
}

#[test]
fn a_wait_has_a_limit() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let gate = Gate::close(&stream);
    let (one, other) = (
        context.alloc::<u8>(4).unwrap(),
        context.alloc::<u8>(4).unwrap(),
    );
    let copy = stream.copy(one, other).unwrap();
    let late = copy.wait_for(Duration::from_millis(5)).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::TimedOut, "{late}");
    assert_eq!(double.allocations(), 2);
    gate.open();
    stream.synchronize().unwrap();
    drop((stream, context));
    double.is_empty();
}

#[test]
fn an_operation_that_fails_half_way_keeps_its_buffers() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let gate = Gate::close(&stream);
    let vec = context.alloc::<u8>(4).unwrap();
    let fails = |_: &mut _| Err(context.device().cuda().device(99).unwrap_err());
    // SAFETY: nothing is enqueued.
    let failed = unsafe { Enqueued::begin(&stream, vec, Alone, fails) };
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Argument);
    assert_eq!(double.allocations(), 1);
    gate.open();
    stream.synchronize().unwrap();
    drop((stream, context));
    double.is_empty();
}

#[test]
fn without_an_event_buffers_are_left_alone() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let (one, other) = (
        context.alloc::<u8>(4).unwrap(),
        context.alloc::<u8>(4).unwrap(),
    );
    double.fail_next("cuEventRecord", 1);
    let failed = stream.copy(one, other).unwrap_err();
    assert_eq!(failed.call(), "cuEventRecord");
    stream.synchronize().unwrap();
    double.cuda.collect();
    assert_eq!((double.allocations(), double.uses_after_free()), (2, 0));
}

#[test]
fn an_address_tells_whose_it_is() {
    let double = Double::new();
    let context = double.cuda.device(2).unwrap().context().unwrap();
    let device = context.alloc::<u8>(100).unwrap();
    let pinned = context.pinned::<u8>(100).unwrap();
    let local = [0u8; 10];
    let of = |address: *const c_void| double.cuda.attributes_of(address).unwrap();
    let inside = std::ptr::without_provenance(usize::try_from(device.address()).unwrap() + 99);
    assert_eq!(of(inside), Memory::Device { ordinal: 2 });
    assert_eq!(of(pinned.as_ptr().cast()), Memory::Pinned);
    assert_eq!(of(local.as_ptr().cast()), Memory::Unknown);
    drop(device);
    assert_eq!(of(inside), Memory::Unknown);
    assert_eq!(of(std::ptr::null()), Memory::Unknown);
}

#[test]
fn things_of_two_drivers_are_kept_apart() {
    let (one, other) = (Double::new(), Double::new());
    let (here, there) = (one.context(), other.context());
    assert_ne!(one.cuda, other.cuda);
    assert_ne!(here, there);
    let stream = here.stream().unwrap();
    let event = there.stream().unwrap().record().unwrap();
    let foreign = || there.alloc::<u8>(2).unwrap();
    let wrong = [
        stream.wait_event(&event).unwrap_err(),
        here.copy_to_host(&foreign(), &mut [0; 2]).unwrap_err(),
        here.copy_to_device(&[0; 2], &mut foreign()).unwrap_err(),
        stream
            .upload(here.pinned(2).unwrap(), foreign())
            .unwrap_err(),
        stream
            .download(foreign(), here.pinned(2).unwrap())
            .unwrap_err(),
        stream.copy(foreign(), here.alloc(2).unwrap()).unwrap_err(),
    ];
    for error in wrong {
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        assert!(error.to_string().contains("two drivers"), "{error}");
    }
}

#[test]
fn the_traits_go_through_pointers() {
    fn written(mut slice: impl DeviceSliceMut<Element = u8>, event: &ranks_cuda::Event) -> u64 {
        slice.written_until(event);
        slice.address()
    }
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let gate = Gate::close(&stream);
    let event = stream.record().unwrap();
    let mut vec = context.alloc::<u8>(2).unwrap();
    let address = vec.address();
    assert_eq!(written(&mut vec, &event), address);
    assert_eq!(written(vec.as_view_mut(), &event), address);
    let shared = std::sync::Arc::new(vec);
    assert_eq!(
        (shared.address(), shared.len(), shared.ordinal()),
        (address, 2, 0)
    );
    drop(shared);
    assert_eq!(double.allocations(), 1);
    gate.open();
    event.synchronize().unwrap();
    drop((event, stream, context));
    double.is_empty();
}

#[test]
fn the_host_cannot_use_an_address_of_a_device() {
    if children::is_child() {
        let double = Double::new();
        let device = double.context().alloc::<u8>(1).unwrap();
        let address = usize::try_from(device.address()).unwrap();
        let pointer = std::ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: none: this process ends here.
        let value = unsafe { pointer.read_volatile() };
        panic!("{value} was read");
    }
    let output = children::run("memory::the_host_cannot_use_an_address_of_a_device", &[]);
    const SIGSEGV: i32 = 11;
    assert_eq!(output.status.signal(), Some(SIGSEGV), "{output:?}");
}

#[test]
fn no_bytes_are_neither_set_nor_copied() {
    let double = Double::new();
    let context = double.context();
    let mut empty = context.alloc::<u64>(0).unwrap();
    context.copy_to_device(&[], &mut empty).unwrap();
    context.copy_to_host(&empty, &mut []).unwrap();
    context.fill_bytes(&mut empty, 1).unwrap();
    for call in ["cuMemsetD8Async", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoH_v2"] {
        assert_eq!(double.calls(call), 0, "{call}");
    }
}
