//! What a symmetric heap does over NVSHMEM.
#![allow(unsafe_code, reason = "kernels are launched")]

use std::time::{Duration, Instant};

use ranks_comm::ErrorKind;
use ranks_cuda::{Argument, DeviceSlice, Grid, Stream};
use ranks_nvshmem::{Nvshmem, SymmetricVec};

use crate::processes::{Case, Work};
use crate::report::{Outcome, Seen, ensure, well};

/// Names a file that `examples/device_put/ring_shift.cu` was compiled to.
const KERNEL: &str = "RANKS_GPU_KERNEL";
/// Numbers that a kernel puts.
const COUNT: usize = 1 << 18;
/// Bytes of a put whose time is taken, or as large a part of them as the heap has room for; and how
/// many of them.
const BYTES: usize = 32 << 20;
const REPEATS: usize = 20;
/// Bytes of the first put, which tells how many more are a matter of milliseconds: on a double,
/// few.
const FIRST: usize = 1 << 20;
/// Bytes of a broadcast whose time is taken.
const BROADCAST: usize = 8 << 10;
const ONE_PUT: Duration = Duration::from_millis(20);

pub(crate) const CASES: &[Case] = &[
    ("a symmetric heap begins and ends", Work::Heap(properties)),
    ("every case of the symmetric heap", Work::Heap(all_cases)),
    ("a kernel that puts", Work::Heap(kernel)),
    ("the rate of puts", Work::Heap(rate)),
    ("the time of a broadcast", Work::Heap(broadcast)),
];

/// What the library says of itself.
fn properties(pe: &Nvshmem<'_>) -> Outcome {
    let way = match (pe.n_pes(), pe.limited()) {
        (1, _) => "alone",
        (_, true) => "limited: several PEs share a GPU without MPS",
        (_, false) => "all that it has",
    };
    let part = pe.alloc::<u64>(1000)?;
    let reached = (0..pe.n_pes())
        .map(|other| part.peer(other))
        .filter(|peer| matches!(peer, Ok(Some(_))))
        .count();
    part.free()?;
    Ok(Seen::Well(format!(
        "{}, {} PEs, {way}; {reached} of them reached directly",
        pe.backend_name(),
        pe.n_pes()
    )))
}

/// All that the mode allows; what it does not is counted.
fn all_cases(pe: &Nvshmem<'_>) -> Outcome {
    let done = nvshmem_conformance::run(pe)?;
    let all = nvshmem_conformance::CASES.iter().copied().flatten().count();
    let left = match all - done {
        0 => String::new(),
        left => format!(", {left} not in limited mode"),
    };
    Ok(Seen::Well(format!("{done} cases{left}")))
}

/// Each PE's kernel puts to the next one.
fn kernel(pe: &Nvshmem<'_>) -> Outcome {
    let Some(path) = std::env::var_os(KERNEL) else {
        let why =
            format!("{KERNEL} names no file: docs/guide/device-kernels.md says how to make it");
        return Ok(Seen::NotHere(why));
    };
    let context = pe.context().ok_or("the heap is in process")?;
    // SAFETY: the file is what a compiler has made, as the user says.
    let module = unsafe { context.load_module(&std::fs::read(path)?) }?;
    let initialised = pe.init_module(&module)?;
    let kernel = module.kernel("ring_shift")?;
    let numbers = |pe: usize| -> Vec<i32> {
        let own = i32::try_from(pe).unwrap_or(0);
        (own..).step_by(7).take(COUNT).collect()
    };
    let mut from = pe.alloc::<i32>(COUNT)?;
    let mut to = pe.alloc::<i32>(COUNT)?;
    from.copy_from_host(&numbers(pe.my_pe()))?;
    let stream = context.stream()?;
    let (target, source) = (to.device_mut()?.address(), from.device()?.address());
    let count = COUNT as u64;
    let arguments = [Argument::from(&target), (&source).into(), (&count).into()];
    // SAFETY: the arguments are those of the kernel; both vectors have so many numbers, and live
    // until all PEs have passed the barrier.
    unsafe { kernel.launch(Grid::line(8, 256), &arguments, &stream) }?;
    pe.scope(&stream, |queue| queue.barrier_all())?;
    let before = (pe.my_pe() + pe.n_pes() - 1) % pe.n_pes();
    ensure(to.to_vec()? == numbers(before), || {
        format!("PE {} has not what PE {before} has put", pe.my_pe())
    })?;
    drop(initialised);
    from.free()?;
    to.free()?;
    well()
}

/// Puts to the next PE, in the order of a stream, and as many copies within the device.
fn rate(pe: &Nvshmem<'_>) -> Outcome {
    let context = pe.context().ok_or("the heap is in process")?;
    let stream = context.stream()?;
    let from = largest(pe, BYTES)?;
    let to = pe.alloc::<u8>(from.len())?;
    let next = (pe.my_pe() + 1) % pe.n_pes();
    let puts = |bytes: usize, repeats: usize| -> ranks_comm::Result<Duration> {
        let (dest, source) = (to.slice(..bytes)?, from.slice(..bytes)?);
        let began = Instant::now();
        pe.scope(&stream, |queue| {
            (0..repeats).try_for_each(|_| queue.put(dest, source, next))?;
            queue.quiet()
        })?;
        Ok(began.elapsed())
    };
    let first = FIRST.min(from.len());
    puts(first, 1)?;
    let fits = ONE_PUT.as_secs_f64() / puts(first, 1)?.as_secs_f64();
    let (bytes, repeats) = if fits < 1.0 {
        (first, 2)
    } else {
        (from.len(), REPEATS)
    };
    pe.barrier_all()?;
    let put = puts(bytes, repeats)?;

    let mut pair = (context.alloc::<u8>(bytes)?, context.alloc::<u8>(bytes)?);
    pe.barrier_all()?;
    stream.synchronize()?;
    let began = Instant::now();
    for _ in 0..repeats {
        pair = stream.copy(pair.0, pair.1)?.enqueue_wait(&stream)?;
    }
    stream.synchronize()?;
    let copied = began.elapsed();
    drop(pair);
    pe.barrier_all()?;
    from.free()?;
    to.free()?;
    let rate = |time: Duration| (bytes * repeats) as f64 / time.as_secs_f64() / 1e9;
    Ok(Seen::Well(format!(
        "{:.1} GB/s to the next PE, {:.1} GB/s copied within the device, {} KiB at a time",
        rate(put),
        rate(copied),
        bytes >> 10
    )))
}

/// A broadcast of little, and the meeting of PEs that comes before it.
fn broadcast(pe: &Nvshmem<'_>) -> Outcome {
    if pe.limited() {
        return Ok(Seen::NotHere("no operation of a team is".into()));
    }
    let (world, stream) = (pe.world(), pe.stream()?);
    let mut to = pe.alloc::<u8>(BROADCAST)?;
    let from = pe.alloc::<u8>(BROADCAST)?;
    let time = |repeat: &mut dyn FnMut() -> ranks_comm::Result<()>| {
        repeat()?;
        let began = Instant::now();
        (0..REPEATS).try_for_each(|_| repeat())?;
        Ok::<_, ranks_comm::Error>(began.elapsed().div_f64(REPEATS as f64))
    };
    let meeting = time(&mut || world.sync())?;
    let whole = time(&mut || world.broadcast(&mut to, &from, 0))?;
    let meeting_on_stream = time(&mut || pe.scope(&stream, |queue| queue.sync(&world)))?;
    let whole_on_stream =
        time(&mut || pe.scope(&stream, |queue| queue.broadcast(&world, &mut to, &from, 0)))?;
    from.free()?;
    to.free()?;
    Ok(Seen::Well(format!(
        "{whole:.1?} of {BROADCAST} bytes, {whole_on_stream:.1?} in a scope; a sync {meeting:.1?}, {meeting_on_stream:.1?} in a scope"
    )))
}

/// So many bytes, or half, or half of that: as much as there is room for twice.
fn largest<'a>(pe: &'a Nvshmem<'_>, mut bytes: usize) -> ranks_comm::Result<SymmetricVec<'a, u8>> {
    loop {
        match pe.alloc::<u8>(2 * bytes) {
            Ok(both) => {
                both.free()?;
                return pe.alloc(bytes);
            }
            Err(error) if error.kind() == ErrorKind::Memory && bytes > 1024 => bytes /= 2,
            Err(error) => return Err(error),
        }
    }
}
