//! Communicators that other parts of the program have made, and ours for them.

use std::ffi::c_int;
use std::sync::Arc;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Comm;
use ranks_mpi_sys::native::{self, CHandle};

use super::children::Children;
use super::communicator::{Comm, Origin};
use super::error::{check, library};
use super::split::rank_and_size;
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::interop::Ownership;

impl Comm {
    /// The handle as C code has it.
    pub(crate) fn c_handle(&self) -> CHandle {
        // SAFETY: the library is loaded, as there is a `Comm`.
        unsafe { native::comm_to_c(self.canonical) }
    }

    /// The standard's form of a handle that C code has.
    pub(crate) fn canonical_of(&self, operation: &'static str, raw: CHandle) -> Result<MPI_Comm> {
        // SAFETY: the library is loaded, as there is a `Comm`.
        let canonical = unsafe { native::comm_from_c(raw) };
        canonical.ok_or_else(|| {
            let (is, are) = match raw {
                CHandle::Int(_) => ("an int", "pointers"),
                CHandle::Pointer(_) => ("a pointer", "ints"),
            };
            let detail = format_args!("the handle is {is}; those of {} are {are}", library());
            Error::new(ErrorKind::Argument, operation, detail)
        })
    }

    /// Makes a communicator of this runtime of one that others have made.
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
        let mut between: c_int = 0;
        // SAFETY: the communicator is alive, by this function's contract; the flag is ours.
        let code = unsafe { sys::MPI_Comm_test_inter(raw, &raw mut between) };
        check(code, "MPI_Comm_test_inter")?;
        if between != 0 {
            return refused("this communicator connects two groups; pass one of a single group");
        }
        let (rank, size) = rank_and_size(raw)?;
        self.session.return_errors(raw)?;
        // No parent of ours agrees on when it is freed: nobody else knows of these siblings.
        let origin = (ownership == Ownership::Owned).then(|| {
            let (siblings, number) = (Arc::default(), 0);
            (self.session.key(), Origin::Parent { siblings, number })
        });
        let children = Arc::new(Children::default());
        let comm = Comm::new(raw, Arc::clone(&self.session), children, origin);
        Ok(Communicator::over_mpi(comm, rank, size, size, max_tag))
    }
}
