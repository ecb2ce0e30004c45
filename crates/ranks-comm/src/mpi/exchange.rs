//! What all ranks pass, with a limit to how long the others are waited for.

use std::ffi::c_int;
use std::time::Duration;

use ranks_mpi_sys as sys;

use super::communicator::Comm;
use super::error::check;
use super::flight::Cell;
use crate::error::{Error, ErrorKind, Result};
use crate::flight::{self, Pause};
use crate::in_flight::{InFlight, Over};
use crate::landing::Role;

static EXCHANGE: Role = Role::of("MPI_Iallgather");

/// What goes out and comes in.
struct Memory {
    mine: Vec<u8>,
    all: Vec<u8>,
}

impl Comm {
    /// Whether the calls of ranks are compared.
    pub(crate) fn compares(&self) -> bool {
        self.compares
    }

    /// What all ranks, which are `size`, pass in rank order, each as many bytes; `None` if not all of them came in time,
    /// or in what is left of it. Collective.
    pub(crate) fn exchange(
        &self,
        mine: &[u8],
        size: usize,
        left: Duration,
    ) -> Result<Option<Vec<u8>>> {
        let operation = EXCHANGE.operation();
        let length = mine.len().checked_mul(size);
        let (Some(length), Ok(count)) = (length, c_int::try_from(mine.len())) else {
            let why = format_args!("{} bytes of {size} ranks are too many", mine.len());
            return Err(Error::new(ErrorKind::Length, operation, why));
        };
        let memory = Memory {
            mine: mine.to_vec(),
            all: vec![0; length],
        };
        let (bytes, comm) = (sys::MPI_BYTE, self.canonical);
        let (memory, request) = InFlight::begun(memory, |memory| {
            let (from, to) = (memory.mine.as_ptr().cast(), memory.all.as_mut_ptr().cast());
            let mut request = sys::MPI_REQUEST_NULL;
            // SAFETY: `count` bytes of each rank, for which there is room; both stay until the request is over, here or with
            // the runtime.
            let code = unsafe {
                sys::MPI_Iallgather(from, count, bytes, to, count, bytes, comm, &raw mut request)
            };
            check(code, operation).map(|()| request)
        })?;
        // SAFETY: the library is loaded, as there is a `Comm`.
        let cell = unsafe { Cell::holding(request) };
        let flight::Flight::Mpi(mut flight) = self.native(cell, &EXCHANGE, 0) else {
            return Ok(None);
        };
        let mut outcome = None;
        Pause::until(self.session.comparing.limit.min(left), || {
            outcome = flight.test();
            Ok(outcome.is_some())
        })?;
        match outcome {
            // SAFETY: the library has said that it is over.
            Some(outcome) => outcome.map(|_| Some(memory.give_back(unsafe { Over::new() }).all)),
            None => {
                self.abandon(flight, memory.into_keep_alive());
                Ok(None)
            }
        }
    }
}
