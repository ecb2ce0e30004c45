//! Events, which remember what was recorded when.

use std::collections::BTreeSet;
use std::ffi::{c_float, c_uint};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use crate::devices::current;
use crate::state::{Answer, Code, INVALID_HANDLE, NOT_READY, State, call, lock, put};
use crate::streams::{self, Operation};

pub(crate) struct Event {
    device: usize,
    records: Mutex<Records>,
    changed: Condvar,
}

#[derive(Default)]
struct Records {
    /// How often it was recorded.
    last: u64,
    /// The records that are not over.
    pending: BTreeSet<u64>,
    /// When the last record was over.
    over: Option<Instant>,
}

impl Event {
    /// Waits until one record is over, whatever was recorded since.
    pub(crate) fn wait_for(&self, record: u64) {
        let records = lock(&self.records);
        let wait = |records: &mut Records| records.pending.contains(&record);
        drop(
            self.changed
                .wait_while(records, wait)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    /// The newest record.
    pub(crate) fn last(&self) -> u64 {
        lock(&self.records).last
    }

    fn begin(&self) -> u64 {
        let mut records = lock(&self.records);
        records.last += 1;
        let record = records.last;
        records.pending.insert(record);
        record
    }

    fn end(&self, record: u64) {
        let mut records = lock(&self.records);
        records.pending.remove(&record);
        records.over = Some(Instant::now());
        self.changed.notify_all();
    }

    fn is_over(&self) -> bool {
        let records = lock(&self.records);
        !records.pending.contains(&records.last)
    }
}

/// The event of a handle.
pub(crate) fn event(state: &State, handle: usize) -> Answer<Arc<Event>> {
    lock(&state.events)
        .get(&handle)
        .cloned()
        .ok_or(INVALID_HANDLE)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventCreate(handle: Option<&mut usize>, _flags: c_uint) -> Code {
    call("cuEventCreate", |state| {
        let device = current(state)?;
        let fresh = state.fresh();
        put(handle, fresh)?;
        let event = Event {
            device,
            records: Mutex::default(),
            changed: Condvar::new(),
        };
        lock(&state.events).insert(fresh, Arc::new(event));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(handle: usize) -> Code {
    call("cuEventDestroy_v2", |state| {
        let gone = lock(&state.events).remove(&handle);
        gone.map(drop).ok_or(INVALID_HANDLE)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(handle: usize, stream: usize) -> Code {
    call("cuEventRecord", |state| {
        let event = event(state, handle)?;
        let stream = streams::stream(state, stream)?;
        if stream.device != event.device {
            return Err(INVALID_HANDLE);
        }
        let record = event.begin();
        stream.enqueue(Operation::Order(Box::new(move || event.end(record))));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecordWithFlags(handle: usize, stream: usize, _flags: c_uint) -> Code {
    cuEventRecord(handle, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(handle: usize) -> Code {
    call("cuEventQuery", |state| {
        if event(state, handle)?.is_over() {
            Ok(())
        } else {
            Err(NOT_READY)
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(handle: usize) -> Code {
    call("cuEventSynchronize", |state| {
        let event = event(state, handle)?;
        event.wait_for(event.last());
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventElapsedTime(
    milliseconds: Option<&mut c_float>,
    from: usize,
    to: usize,
) -> Code {
    call("cuEventElapsedTime", |state| {
        let over = |handle| -> Answer<Instant> {
            let event = event(state, handle)?;
            if !event.is_over() {
                return Err(NOT_READY);
            }
            let over = lock(&event.records).over;
            over.ok_or(INVALID_HANDLE)
        };
        let (from, to) = (over(from)?, over(to)?);
        put(
            milliseconds,
            to.saturating_duration_since(from).as_secs_f32() * 1e3,
        )
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventElapsedTime_v2(
    milliseconds: Option<&mut c_float>,
    from: usize,
    to: usize,
) -> Code {
    cuEventElapsedTime(milliseconds, from, to)
}
