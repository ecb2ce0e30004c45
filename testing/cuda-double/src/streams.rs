//! Streams: a thread each, which does what was enqueued, in this order.

use std::collections::VecDeque;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::devices::current;
use crate::events::event;
use crate::state::{
    Answer, Code, IN_HOST_FUNCTION, INVALID_HANDLE, INVALID_VALUE, NOT_READY, OUT_OF_MEMORY, STATE,
    State, call, lock, put,
};

pub(crate) struct Stream {
    pub(crate) device: usize,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Operation>,
    enqueued: u64,
    done: u64,
    /// Set if nothing comes any more.
    closed: bool,
}

/// What a stream does.
pub(crate) enum Operation {
    /// Takes as long as tests want it to.
    Work(Box<dyn FnOnce() + Send>),
    /// Takes no time.
    Order(Box<dyn FnOnce() + Send>),
}

impl Stream {
    fn start(device: usize) -> Answer<Arc<Stream>> {
        let stream = Arc::new(Stream {
            device,
            queue: Mutex::default(),
            changed: Condvar::new(),
        });
        let worker = Arc::clone(&stream);
        let thread = std::thread::Builder::new().name("cuda-double".into());
        thread
            .spawn(move || worker.work())
            .map_err(|_| OUT_OF_MEMORY)?;
        Ok(stream)
    }

    fn work(&self) {
        while let Some(operation) = self.next() {
            match operation {
                Operation::Work(work) => {
                    let delay = STATE.delay.load(Ordering::SeqCst);
                    if delay > 0 {
                        std::thread::sleep(Duration::from_micros(delay));
                    }
                    work();
                }
                Operation::Order(order) => order(),
            }
            lock(&self.queue).done += 1;
            self.changed.notify_all();
        }
    }

    fn next(&self) -> Option<Operation> {
        let queue = lock(&self.queue);
        let idle = |queue: &mut Queue| queue.waiting.is_empty() && !queue.closed;
        let queue = self.changed.wait_while(queue, idle);
        queue
            .unwrap_or_else(PoisonError::into_inner)
            .waiting
            .pop_front()
    }

    /// Enqueues, and says after how many operations this one is over.
    pub(crate) fn enqueue(&self, operation: Operation) -> u64 {
        let mut queue = lock(&self.queue);
        queue.waiting.push_back(operation);
        queue.enqueued += 1;
        self.changed.notify_all();
        queue.enqueued
    }

    /// Waits until so many operations are over.
    pub(crate) fn finish(&self, enqueued: u64) {
        let queue = lock(&self.queue);
        let busy = |queue: &mut Queue| queue.done < enqueued;
        drop(
            self.changed
                .wait_while(queue, busy)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    fn is_idle(&self) -> bool {
        let queue = lock(&self.queue);
        queue.done == queue.enqueued
    }

    /// Waits for all that is enqueued now.
    fn finish_all(&self) {
        let enqueued = lock(&self.queue).enqueued;
        self.finish(enqueued);
    }
}

/// The stream of a handle; 0, 1 and 2 are the default stream of the current context.
pub(crate) fn stream(state: &State, handle: usize) -> Answer<Arc<Stream>> {
    let device = current(state)?;
    if handle > 2 {
        return lock(&state.streams)
            .get(&handle)
            .cloned()
            .ok_or(INVALID_HANDLE);
    }
    let mut defaults = lock(&state.defaults);
    if let Some(stream) = defaults.get(&device) {
        return Ok(Arc::clone(stream));
    }
    let stream = Stream::start(device)?;
    defaults.insert(device, Arc::clone(&stream));
    Ok(stream)
}

/// Waits for all that is enqueued now on any stream of a device.
pub(crate) fn finish_device(state: &State, device: usize) {
    let mut all: Vec<_> = lock(&state.streams).values().cloned().collect();
    all.extend(lock(&state.defaults).values().cloned());
    all.extend(lock(&state.leaving).iter().cloned());
    for stream in all.iter().filter(|stream| stream.device == device) {
        stream.finish_all();
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamCreate(handle: Option<&mut usize>, flags: c_uint) -> Code {
    cuStreamCreateWithPriority(handle, flags, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamCreateWithPriority(
    handle: Option<&mut usize>,
    flags: c_uint,
    _priority: c_int,
) -> Code {
    call("cuStreamCreateWithPriority", |state| {
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        let stream = Stream::start(current(state)?)?;
        let fresh = state.fresh();
        put(handle, fresh)?;
        lock(&state.streams).insert(fresh, stream);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(handle: usize) -> Code {
    call("cuStreamDestroy_v2", |state| {
        let gone = lock(&state.streams).remove(&handle).ok_or(INVALID_HANDLE)?;
        // What is enqueued is done, then the thread ends.
        let mut leaving = lock(&state.leaving);
        leaving.retain(|stream| !stream.is_idle());
        leaving.push(Arc::clone(&gone));
        drop(leaving);
        lock(&gone.queue).closed = true;
        gone.changed.notify_all();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamQuery(handle: usize) -> Code {
    call("cuStreamQuery", |state| {
        if stream(state, handle)?.is_idle() {
            Ok(())
        } else {
            Err(NOT_READY)
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(handle: usize) -> Code {
    call("cuStreamSynchronize", |state| {
        stream(state, handle)?.finish_all();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(handle: usize, event_handle: usize, _flags: c_uint) -> Code {
    call("cuStreamWaitEvent", |state| {
        let stream = stream(state, handle)?;
        let event = event(state, event_handle)?;
        // What is recorded later is none of this wait's.
        let record = event.last();
        stream.enqueue(Operation::Order(Box::new(move || event.wait_for(record))));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetPriority(handle: usize, priority: Option<&mut c_int>) -> Code {
    call("cuStreamGetPriority", |state| {
        stream(state, handle)?;
        put(priority, 0)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetFlags(handle: usize, flags: Option<&mut c_uint>) -> Code {
    call("cuStreamGetFlags", |state| {
        stream(state, handle)?;
        put(flags, c_uint::from(handle > 2))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamIsCapturing(handle: usize, status: Option<&mut c_int>) -> Code {
    call("cuStreamIsCapturing", |state| {
        stream(state, handle)?;
        put(status, state.capturing.load(Ordering::SeqCst).into())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchHostFunc(
    handle: usize,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    data: usize,
) -> Code {
    call("cuLaunchHostFunc", |state| {
        let function = function.ok_or(INVALID_VALUE)?;
        let stream = stream(state, handle)?;
        let work = move || {
            IN_HOST_FUNCTION.set(true);
            // SAFETY: whoever enqueued it vouches for the function, with these data, at this time.
            unsafe { function(std::ptr::with_exposed_provenance_mut(data)) };
            IN_HOST_FUNCTION.set(false);
        };
        stream.enqueue(Operation::Work(Box::new(work)));
        Ok(())
    })
}
