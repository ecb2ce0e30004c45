//! What one GPU does without any other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ranks_cuda::{DeviceSlice, Memory, Stream};

use crate::machine::Machine;
use crate::report::{Outcome, Seen, ensure, well};

/// Elements of a copy: 8 MiB of them.
const MANY: usize = 2 << 20;

/// Pinned memory to the device, to other memory there, and back.
pub(crate) fn copies(machine: &Machine) -> Outcome {
    let context = &machine.context;
    let stream = context.stream()?;
    let mut host = context.pinned::<u32>(MANY)?;
    for (index, value) in (0..).zip(host.iter_mut()) {
        *value = index;
    }
    let began = Instant::now();
    let (host, device) = stream.upload(host, context.alloc(MANY)?)?.wait()?;
    let up = began.elapsed();
    let (device, other) = stream.copy(device, context.alloc(MANY)?)?.wait()?;
    drop(device);
    let (_, back) = stream
        .download(other, context.pinned::<u32>(MANY)?)?
        .wait()?;
    ensure(*host == *back, || "other elements came back".to_owned())?;
    let rate = size_of_val::<[u32]>(&host) as f64 / up.as_secs_f64() / 1e9;
    Ok(Seen::Well(format!(
        "{rate:.1} GB/s to the device, allocation included"
    )))
}

/// What one stream writes is read by another that waits for its event.
pub(crate) fn order(machine: &Machine) -> Outcome {
    let context = &machine.context;
    let (first, second) = (context.stream()?, context.stream()?);
    for round in 1..=20_u32 {
        let mut host = context.pinned::<u32>(MANY / 8)?;
        host.fill(round);
        let (_, device) = first.upload(host, context.alloc(MANY / 8)?)?.wait()?;
        let copied = first.copy(device, context.alloc(MANY / 8)?)?;
        let (_, device) = copied.enqueue_wait(&second)?;
        let (_, back) = second.download(device, context.pinned(MANY / 8)?)?.wait()?;
        ensure(back.iter().all(|value| *value == round), || {
            format!("in round {round} the second stream has read what was not written yet")
        })?;
    }
    well()
}

/// Each is called once, in order.
pub(crate) fn host_functions(machine: &Machine) -> Outcome {
    let stream = machine.context.stream()?;
    let called = Arc::new(AtomicUsize::new(0));
    for number in 0..100 {
        let called = Arc::clone(&called);
        stream.launch_host(Box::new(move || {
            // Out of order, the number stays behind.
            let _ = called.compare_exchange(number, number + 1, Ordering::SeqCst, Ordering::SeqCst);
        }))?;
    }
    stream.synchronize()?;
    let called = called.load(Ordering::SeqCst);
    ensure(called == 100, || {
        format!("{called} of 100 were called in their order")
    })?;
    well()
}

/// The driver tells memory of the host, pinned memory and its own apart.
pub(crate) fn addresses(machine: &Machine) -> Outcome {
    let context = &machine.context;
    let device = context.alloc::<u8>(100)?;
    let pinned = context.pinned::<u8>(100)?;
    let host = [0_u8; 100];
    let of = |address| machine.cuda.attributes_of(address);
    let on_device = of(std::ptr::without_provenance(usize::try_from(
        device.address(),
    )?))?;
    let seen = (
        on_device,
        of(pinned.as_ptr().cast())?,
        of(host.as_ptr().cast())?,
    );
    let ordinal = context.device().ordinal();
    ensure(
        matches!(seen, (Memory::Device { ordinal: on }, Memory::Pinned, Memory::Unknown) if on == ordinal),
        || format!("memory of the device, pinned and any are {seen:?}"),
    )?;
    well()
}

/// A drop neither waits nor breaks what is under way.
pub(crate) fn dropped_in_flight(machine: &Machine) -> Outcome {
    let context = &machine.context;
    let stream = context.stream()?;
    for _ in 0..10 {
        let host = context.pinned::<u32>(MANY / 4)?;
        drop(stream.upload(host, context.alloc(MANY / 4)?)?);
    }
    stream.synchronize()?;
    let left = machine.cuda.collect();
    ensure(left == 0, || {
        format!("{left} pieces of memory are still kept")
    })?;
    well()
}
