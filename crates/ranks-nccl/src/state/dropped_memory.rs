//! Memory that the library still knows of when nobody holds it any more: it is taken back later, or
//! with the communicator.
//!
//! Taking it back is a call on the communicator, whose turn nobody waits for in `drop`.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ranks_comm::Result;
use ranks_cuda::{CudaStream, DeviceSlice, Event, Stream};

use crate::error::of_driver;
use crate::state::Shared;
use crate::state::memory_handle::MemoryHandle;

/// Registrations and memory that were dropped.
#[derive(Default)]
pub(crate) struct DroppedMemory {
    things: Mutex<Vec<Thing>>,
    /// A stream for what nobody names one for.
    stream: OnceLock<CudaStream>,
}

struct Thing {
    known: MemoryHandle,
    /// Over when nobody works on the memory any more. Without one it stays until the communicator
    /// goes.
    until: Option<Event>,
    memory: Box<dyn Any + Send>,
}

impl DroppedMemory {
    fn lock(&self) -> MutexGuard<'_, Vec<Thing>> {
        self.things.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All memory, when the library knows of none any more.
    pub(crate) fn memory(&mut self) -> Vec<Box<dyn Any + Send>> {
        let things = std::mem::take(&mut *self.lock());
        things.into_iter().map(|thing| thing.memory).collect()
    }
}

impl fmt::Debug for DroppedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DroppedMemory({})", self.lock().len())
    }
}

impl Shared {
    /// The stream of the communicator itself.
    pub(crate) fn own_stream(&self) -> Result<&CudaStream> {
        if let Some(stream) = self.dropped_memory.stream.get() {
            return Ok(stream);
        }
        let stream = self.context().stream();
        let stream = stream.map_err(|error| of_driver("cuStreamCreateWithPriority", error))?;
        Ok(self.dropped_memory.stream.get_or_init(|| stream))
    }

    /// An event that comes after all who are known to work on this memory, those who read it too.
    pub(crate) fn after_use(&self, memory: &mut impl DeviceSlice) -> Result<Event> {
        let stream = self.own_stream()?;
        let event = memory
            .order_writes_after_use(stream)
            .and_then(|()| stream.record());
        event.map_err(|error| of_driver("cuEventRecord", error))
    }

    /// Keeps memory that is known to the library.
    pub(crate) fn put_aside(
        &self,
        known: MemoryHandle,
        mut memory: impl DeviceSlice + Send + 'static,
    ) {
        let until = match known {
            MemoryHandle::Buffer(_) => self.after_use(&mut memory).ok(),
            // Others may put to it for as long as there is a communicator.
            MemoryHandle::Window(_) => None,
        };
        let memory = Box::new(memory);
        self.dropped_memory.lock().push(Thing {
            known,
            until,
            memory,
        });
    }

    /// Takes back what nobody works on any more.
    pub(crate) fn deregister_dropped(self: &Arc<Self>) {
        let all = std::mem::take(&mut *self.dropped_memory.lock());
        let over = |thing: &Thing| {
            let until = thing.until.as_ref();
            until.is_some_and(|event| matches!(event.query(), Ok(true)))
        };
        // What the library does not take back now it may the next time, or it goes with the
        // communicator.
        let (_free, left): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|thing| over(thing) && self.forget(thing.known).is_ok());
        self.dropped_memory.lock().extend(left);
    }
}
