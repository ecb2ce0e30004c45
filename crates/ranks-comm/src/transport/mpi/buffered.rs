//! Buffered sends: a message is copied, and the copy sent by a nonblocking standard send that the
//! session keeps.
//!
//! The library's own are not used. Where too little of its buffer is free, Open MPI (4.1.4 to
//! 5.0.11) refuses the message, but counts it all the same, and the receiver waits for it: no later
//! message to that rank arrives. The attached buffer is therefore one of numbers: how large it is,
//! and how much of it the messages take that are not sent yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::communicator::Comm;
use super::send_mode::SendMode;
use super::session::Session;
use crate::call::limit::{Pause, look};
use crate::call::lock::lock;
use crate::data::element::Pod;
use crate::data::in_flight::InFlight;
use crate::data::owned::{Plain, SendBuffer};
use crate::data::source::Destination;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::buffered::taken;
use crate::transport::pending_op::PendingOp;

/// The attached buffer.
#[derive(Default)]
pub(crate) struct Attached {
    /// Its size, while there is one.
    room: Option<usize>,
    /// The bytes that messages take which are not sent yet.
    used: Arc<AtomicUsize>,
}

/// The bytes of the attached buffer that one message takes, until this is dropped.
struct Reserved {
    bytes: usize,
    used: Arc<AtomicUsize>,
}

impl Reserved {
    /// Takes a part, if so much is free.
    fn of(used: &Arc<AtomicUsize>, bytes: usize, room: usize) -> Option<Self> {
        let more = |used: usize| used.checked_add(bytes).filter(|&used| used <= room);
        let took = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        took.ok().map(|_| Self {
            bytes,
            used: Arc::clone(used),
        })
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Session {
    /// Returns `true` if all buffered messages are sent.
    fn is_all_sent(&self) -> bool {
        let used = Arc::clone(&lock(&self.attached).used);
        used.load(Ordering::Relaxed) == 0 || {
            self.detached.sweep();
            used.load(Ordering::Relaxed) == 0
        }
    }

    /// Waits until all buffered messages are sent, for so long at most.
    pub(crate) fn send_what_is_buffered(&self, limit: Duration) -> Result<()> {
        Pause::until(limit, &mut || Ok(self.is_all_sent())).map(drop)
    }
}

impl Comm {
    /// Attaches a buffer of so many bytes; waits until all messages of one before are sent.
    pub(crate) fn attach(&self, bytes: usize) -> Result<()> {
        if lock(&self.session.attached).room.is_some() {
            return Err(Error::new(
                ErrorKind::Argument,
                "MPI_Buffer_attach",
                "this process has a buffer attached; there can be one only, so detach it first",
            ));
        }
        self.wait_for_buffered()?;
        lock(&self.session.attached).room = Some(bytes);
        Ok(())
    }

    /// Detaches it; waits until its messages are sent.
    pub(crate) fn detach(&self) -> Result<()> {
        self.wait_for_buffered()?;
        self.leave_attached();
        Ok(())
    }

    /// Detaches it; its messages are sent all the same.
    pub(crate) fn leave_attached(&self) {
        lock(&self.session.attached).room = None;
    }

    fn wait_for_buffered(&self) -> Result<()> {
        look(|| Ok(self.session.is_all_sent().then_some(())))
    }

    /// Sends a copy of `data`, if the attached buffer has room for it.
    pub(crate) fn bsend<T: Pod>(
        &self,
        operation: &'static str,
        data: &[T],
        dest: Destination,
        tag: i32,
    ) -> Result<PendingOp> {
        let part = self.part(operation, size_of_val(data))?;
        let (memory, sending) = InFlight::begun((Plain::copy(data), part), |(copy, _)| {
            // SAFETY: the copy stays until the operation is complete, as it is detached with it; a
            // standard send promises nothing.
            unsafe { self.isend(SendMode::Standard, copy.as_slice(), dest, tag) }
        })?;
        let memory = memory.into_keep_alive();
        match sending {
            PendingOp::Native(sending) => self.session.adopt(self.canonical, sending, memory),
            // To nobody.
            sending => drop(sending.ended().map(|over| memory.free(over))),
        }
        Ok(PendingOp::over(crate::result::Status::null()))
    }

    /// The part of the attached buffer for a message of so many bytes.
    fn part(&self, operation: &'static str, bytes: usize) -> Result<Reserved> {
        let (room, used) = {
            let attached = lock(&self.session.attached);
            (attached.room, Arc::clone(&attached.used))
        };
        let bytes = taken(operation, bytes, room)?;
        let room = room.unwrap_or(0);
        let part = Reserved::of(&used, bytes, room).or_else(|| {
            self.session.detached.sweep();
            Reserved::of(&used, bytes, room)
        });
        part.ok_or_else(|| {
            let free = room.saturating_sub(used.load(Ordering::Relaxed));
            Error::new(
                ErrorKind::Argument,
                operation,
                format_args!(
                    "the message needs {bytes} bytes of the attached buffer, of whose {room} bytes {free} are free until messages before it \
                     are received; attach a larger one, or send again later"
                ),
            )
        })
    }
}
