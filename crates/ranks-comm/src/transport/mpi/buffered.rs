//! The attached buffer of buffered sends: one for each process, the library's from attach to detach.

use std::ffi::c_void;
use std::ptr;
use std::sync::{MutexGuard, PoisonError};

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Count;

use super::communicator::Comm;
use super::error::check;
use super::session::Session;
use crate::data::in_flight::{InFlight, Over};
use crate::result::{Error, ErrorKind, Result};

/// The state of the attached buffer.
#[derive(Default)]
pub(crate) enum Attached {
    #[default]
    Nothing,
    /// A buffer of that many bytes that a guard owns.
    Held(usize),
    /// A buffer whose guard was dropped.
    Left(InFlight<Vec<u8>>),
    /// A buffer that is being detached.
    Leaving,
}

impl Session {
    fn attached(&self) -> MutexGuard<'_, Attached> {
        self.attached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Detaches a buffer whose guard was dropped; waits until its messages are sent.
    pub(crate) fn detach_what_was_left(&self) -> Result<()> {
        let mut attached = self.attached();
        let buffer = match std::mem::replace(&mut *attached, Attached::Leaving) {
            Attached::Left(buffer) => buffer,
            other => {
                *attached = other;
                return Ok(());
            }
        };
        drop(attached);
        let outcome = detach();
        *self.attached() = match outcome {
            Ok(()) => {
                // SAFETY: the library has let go of it.
                drop(buffer.give_back(unsafe { Over::new() }));
                Attached::Nothing
            }
            Err(_) => Attached::Left(buffer),
        };
        outcome
    }
}

impl Comm {
    /// Attaches `buffer`, whose memory is not touched until it is detached.
    pub(crate) fn attach(&self, buffer: Vec<u8>) -> Result<InFlight<Vec<u8>>> {
        const OPERATION: &str = "MPI_Buffer_attach";
        self.session.detach_what_was_left()?;
        let mut attached = self.session.attached();
        if !matches!(*attached, Attached::Nothing) {
            return Err(Error::new(
                ErrorKind::Argument,
                OPERATION,
                "this process has a buffer attached; there can be one only, so detach it first",
            ));
        }
        let bytes = buffer.len();
        let (buffer, ()) = InFlight::begun(buffer, |buffer| {
            let start = buffer.as_mut_ptr().cast::<c_void>();
            let length = MPI_Count::try_from(bytes).unwrap_or(0);
            // SAFETY: the memory is the library's until `detach`: the guard and after it the session keep it.
            let code = unsafe { sys::MPI_Buffer_attach_c(start, length) };
            check(code, OPERATION)
        })?;
        *attached = Attached::Held(bytes);
        Ok(buffer)
    }

    /// Detaches it; waits until its messages are sent.
    pub(crate) fn detach(&self) -> Result<Over> {
        let held = std::mem::replace(&mut *self.session.attached(), Attached::Leaving);
        let outcome = detach();
        *self.session.attached() = match outcome {
            Ok(()) => Attached::Nothing,
            Err(_) => held,
        };
        // SAFETY: the library has let go of it.
        outcome.map(|()| unsafe { Over::new() })
    }

    /// The size of a buffer that a guard owns.
    pub(crate) fn attached_bytes(&self) -> Option<usize> {
        match *self.session.attached() {
            Attached::Held(bytes) => Some(bytes),
            Attached::Nothing | Attached::Left(_) | Attached::Leaving => None,
        }
    }

    /// Keeps the memory of a buffer whose guard was dropped.
    pub(crate) fn leave_attached(&self, buffer: InFlight<Vec<u8>>) {
        *self.session.attached() = Attached::Left(buffer);
    }
}

fn detach() -> Result<()> {
    let mut start: *mut c_void = ptr::null_mut();
    let mut length: MPI_Count = 0;
    // SAFETY: a buffer is attached; where it is and how long it is are written to places of ours.
    let code = unsafe { sys::MPI_Buffer_detach_c((&raw mut start).cast(), &raw mut length) };
    check(code, "MPI_Buffer_detach")
}
