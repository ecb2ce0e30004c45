//! Communicators and requests shared with other parts of the program, in both directions.

use std::sync::Arc;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::native::{self, CHandle};
use ranks_mpi_sys::{MPI_Comm, MPI_Request};

use crate::communicator::Communicator;
use crate::data::in_flight::{InFlight, Keep};
use crate::data::raw_slice::OpInfo;
use crate::interop::Ownership;
use crate::result::{Error, ErrorKind, Result, Status};
use crate::transport::mpi::children::Children;
use crate::transport::mpi::communicator::{Comm, Origin, is_between, rank_and_size, return_errors};
use crate::transport::mpi::error::library;
use crate::transport::mpi::pending_op::{Cell, Native};
use crate::transport::pending_op;

/// The origin, in records, of communicators of other parts of the program.
const ADOPTED: u64 = u64::MAX;

impl Comm {
    /// The standard's form of a request that C code has.
    pub(crate) fn canonical_request(
        &self,
        operation: &'static str,
        raw: CHandle,
    ) -> Result<MPI_Request> {
        // SAFETY: the library is loaded, as there is a `Comm`.
        let canonical = unsafe { native::request_from_c(raw) };
        canonical.ok_or_else(|| other_form(operation, raw))
    }

    /// Wraps a pending operation of another part of the program; a null request is complete.
    ///
    /// # Safety
    /// That of `Communicator::request_from_raw`; if the role has an element, it is a receive of at
    /// most `capacity`.
    pub(crate) unsafe fn take_over_request(
        &self,
        raw: MPI_Request,
        role: &'static OpInfo,
        capacity: usize,
    ) -> pending_op::PendingOp {
        if raw == sys::MPI_REQUEST_NULL || raw.0.is_null() {
            return pending_op::PendingOp::over(Status::null());
        }
        // SAFETY: the library is loaded, as there is a `Comm`.
        let cell = unsafe { Cell::holding(raw) };
        self.native(cell, role, capacity)
    }

    /// Wraps a communicator of another part of the program.
    ///
    /// # Safety
    /// That of `Runtime::communicator_from_raw`.
    pub(crate) unsafe fn take_over(
        &self,
        operation: &'static str,
        raw: MPI_Comm,
        ownership: Ownership,
        max_tag: i32,
    ) -> Result<Communicator> {
        let refused = |why: &str| Err(Error::new(ErrorKind::Argument, operation, why));
        if raw == sys::MPI_COMM_NULL || raw.0.is_null() {
            return refused("the handle is MPI_COMM_NULL, which is no communicator");
        }
        let predefined = [sys::MPI_COMM_WORLD, sys::MPI_COMM_SELF].contains(&raw);
        if predefined && ownership == Ownership::Owned {
            return refused(
                "MPI_COMM_WORLD and MPI_COMM_SELF cannot be owned, as nobody may free them",
            );
        }
        if is_between(raw)? {
            return refused("this communicator connects two groups; pass one of a single group");
        }
        let (rank, size) = rank_and_size(raw)?;
        return_errors(raw)?;
        // No parent of ours agrees on when it is freed: nobody else knows of these siblings.
        let origin = (ownership == Ownership::Owned).then(|| {
            let (siblings, number) = (Arc::default(), 0);
            (self.session.key(), Origin::Parent { siblings, number })
        });
        let children = Arc::new(Children::default());
        let mut comm = Comm::new(raw, Arc::clone(&self.session), children, origin);
        // The other part may take part in the same collectives, and compares nothing.
        comm.compares = false;
        comm.lent = ownership == Ownership::Borrowed && !predefined;
        let recorder = comm.recorder(ADOPTED, rank, size);
        Ok(Communicator::over_mpi(
            comm, rank, size, size, max_tag, recorder,
        ))
    }
}

impl Native {
    /// Releases a request that another part completes from now on, and the value that the library
    /// uses until then.
    pub(crate) fn hand_over(&mut self) -> (Cell, Option<InFlight<Box<dyn Keep>>>) {
        let cell = std::mem::replace(&mut self.cell, Cell::new());
        (cell, self.keep.take())
    }
}

/// The error: the library does not have the request of an operation.
#[cold]
pub(crate) fn no_request(operation: &'static str) -> Error {
    let library = library();
    let why = format_args!(
        "{library} does not have this request: its message is looked for here; wait for it"
    );
    Error::new(ErrorKind::NotInLibrary, operation, why)
}

/// The error: handles of this sort have another form in the library.
#[cold]
pub(crate) fn other_form(operation: &'static str, raw: CHandle) -> Error {
    let (is, are) = match raw {
        CHandle::Int(_) => ("an int", "pointers"),
        CHandle::Pointer(_) => ("a pointer", "ints"),
    };
    let detail = format_args!("the handle is {is}; those of {} are {are}", library());
    Error::new(ErrorKind::Argument, operation, detail)
}
