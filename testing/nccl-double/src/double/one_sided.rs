//! Puts and signals: what comes for this rank is taken up by a thread, which writes to the windows
//! and counts the signals.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::abi::{self, Stream, WaitSignal};
use super::comm::Comm;
use super::exchange::{self, MISMATCHES};
use super::failure::{Failure, Outcome};
use super::group::THREADS;
use super::lock;
use super::operation::{HEAD, Kind};
use super::region::Channel;
use super::waiting::{Stop, Waiting};
use super::world::World;

/// `CU_STREAM_NON_BLOCKING`
const NON_BLOCKING: u32 = 1;

/// Which signal: of which peer, with which index, in which context.
type Which = (usize, c_int, c_int);

/// The signals that have come, and were not waited for yet.
#[derive(Default)]
pub(crate) struct Signals {
    counts: Mutex<HashMap<Which, i64>>,
    /// The thread, once it is needed.
    thread: Mutex<Option<JoinHandle<()>>>,
    /// The communicator is gone: the thread ends.
    released: AtomicBool,
}

impl Signals {
    /// Waits until as many signals have come as are described, and takes them.
    pub(crate) fn wait_for(
        &self,
        comm: &Comm,
        world: &World,
        waits: &[WaitSignal],
        stop: Stop<'_>,
    ) -> Outcome {
        for wait in waits {
            let peer = usize::try_from(wait.peer).unwrap_or(usize::MAX);
            let which = (peer, wait.signal, wait.context);
            let mut waiting = Waiting::new(stop);
            loop {
                {
                    let mut counts = lock(&self.counts);
                    let count = counts.entry(which).or_default();
                    if *count >= i64::from(wait.count) {
                        *count -= i64::from(wait.count);
                        break;
                    }
                }
                if waiting.is_long() {
                    exchange::notice_death(comm, world);
                }
                waiting.pause()?;
            }
        }
        Ok(())
    }
}

/// Sees to it that what comes for this rank is taken up.
pub(crate) fn attend(comm: &Arc<Comm>) -> Outcome {
    let mut attended = lock(&comm.signals.thread);
    if attended.is_some() {
        return Ok(());
    }
    let weak = Arc::downgrade(comm);
    THREADS.fetch_add(1, Ordering::AcqRel);
    let body = move || {
        // A failure was put down as the communicator's own.
        let _ = attendant(&weak);
        THREADS.fetch_sub(1, Ordering::AcqRel);
    };
    let thread = thread::Builder::new().name("nccl-double-rma".into());
    let Ok(thread) = thread.spawn(body) else {
        THREADS.fetch_sub(1, Ordering::AcqRel);
        return Err(Failure::system("pthread_create"));
    };
    *attended = Some(thread);
    Ok(())
}

/// Ends the thread, with what it has.
pub(crate) fn release(comm: &Comm) {
    comm.signals.released.store(true, Ordering::Release);
    let thread = lock(&comm.signals.thread).take();
    if let Some(thread) = thread {
        // If it has panicked it is over as well.
        let _ = thread.join();
    }
}

/// What has come of a message so far.
#[derive(Default)]
struct Partial {
    head: Vec<u8>,
    body: Vec<u8>,
}

/// Takes up what comes until the communicator is gone.
fn attendant(comm: &Weak<Comm>) -> Outcome {
    let mut partial: Vec<Partial> = Vec::new();
    let mut stream = None;
    let mut idle = 0_u32;
    let outcome = loop {
        let Some(comm) = comm.upgrade() else {
            return Ok(());
        };
        if comm.signals.released.load(Ordering::Acquire) {
            break Ok(());
        }
        let world = comm.world()?;
        partial.resize_with(world.ranks, Partial::default);
        let mut moved = false;
        let mut outcome = Ok(());
        for (source, partial) in partial.iter_mut().enumerate() {
            let taken = partial.take_up(&comm, world, source, &mut stream);
            outcome = outcome.and(taken.map(|some| moved |= some));
        }
        if let Err(failure) = outcome {
            comm.fail(failure.code);
            break Err(failure);
        }
        drop(comm);
        idle = if moved { 0 } else { idle.saturating_add(1) };
        match idle {
            0..=20 => thread::yield_now(),
            21..=200 => thread::sleep(Duration::from_micros(100)),
            _ => thread::sleep(Duration::from_millis(1)),
        }
    };
    if let (Some(comm), Some(stream)) = (comm.upgrade(), stream) {
        let _entered = comm.driver.enter(comm.place.context)?;
        // SAFETY: made by this thread, and not used any more.
        unsafe { comm.driver.cuStreamDestroy(stream) }?;
    }
    outcome
}

impl Partial {
    /// Reads what there is of a rank. Whether anything has moved.
    fn take_up(
        &mut self,
        comm: &Comm,
        world: &World,
        source: usize,
        stream: &mut Option<Stream>,
    ) -> Outcome<bool> {
        let ring = world.from(Channel::OneSided, source);
        let mut moved = false;
        loop {
            let goal = if self.head.len() < HEAD {
                HEAD - self.head.len()
            } else {
                self.bytes_to_come()
            };
            let mut data = vec![0; goal.min(ring.readable())];
            ring.read(&mut data);
            moved |= !data.is_empty();
            if self.head.len() < HEAD {
                self.head.extend_from_slice(&data);
            } else {
                self.body.extend_from_slice(&data);
            }
            if data.len() < goal {
                return Ok(moved);
            }
            if self.head.len() == HEAD && self.bytes_to_come() == 0 {
                self.deliver(comm, source, stream)?;
                *self = Self::default();
            }
        }
    }

    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        let bytes = self.head.get(at..at + N);
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .unwrap_or([0; N])
    }

    fn bytes_to_come(&self) -> usize {
        let all = u64::from_ne_bytes(self.field(8));
        usize::try_from(all).map_or(0, |all| all - self.body.len().min(all))
    }

    /// Writes to the window, then counts the signal.
    fn deliver(&self, comm: &Comm, source: usize, stream: &mut Option<Stream>) -> Outcome {
        if self.head.first() == Some(&(Kind::PutSignal as u8)) {
            self.write(comm, stream)?;
        }
        let signal = c_int::from_ne_bytes(self.field(32));
        let context = c_int::from_ne_bytes(self.field(36));
        let mut counts = lock(&comm.signals.counts);
        *counts.entry((source, signal, context)).or_default() += 1;
        Ok(())
    }

    fn write(&self, comm: &Comm, stream: &mut Option<Stream>) -> Outcome {
        let window = lock(&comm.windows)
            .get(&u64::from_ne_bytes(self.field(16)))
            .cloned();
        let offset = u64::from_ne_bytes(self.field(24));
        let fits = |size: u64| {
            let end = offset.checked_add(self.body.len() as u64);
            end.is_some_and(|end| end <= size)
        };
        let Some(window) = window.filter(|window| fits(window.size)) else {
            MISMATCHES.fetch_add(1, Ordering::Relaxed);
            return Err(Failure::new(
                abi::INTERNAL_ERROR,
                "a put has come for a window that is not there, or not as large",
            ));
        };
        if self.body.is_empty() {
            return Ok(());
        }
        let driver = comm.driver;
        let _entered = driver.enter(comm.place.context)?;
        let stream = match *stream {
            Some(stream) => stream,
            None => {
                let mut made = 0;
                // SAFETY: it writes the stream there.
                unsafe { driver.cuStreamCreate(&raw mut made, NON_BLOCKING) }?;
                *stream.insert(made)
            }
        };
        let (to, from) = (window.address + offset, self.body.as_ptr());
        // SAFETY: the bytes stay until the stream was waited for below; the range is inside of the
        // registered window.
        let copied = unsafe { driver.cuMemcpyHtoDAsync(to, from, self.body.len(), stream) };
        // SAFETY: this thread's own stream.
        let over = unsafe { driver.cuStreamSynchronize(stream) };
        Ok(copied.and(over)?)
    }
}
