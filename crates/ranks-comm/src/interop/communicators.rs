//! Communicators shared with other parts of the program, in both directions.

use ranks_mpi_sys::MPI_Comm;
use ranks_mpi_sys::native::{self, CHandle};

use super::mpi::interop::other_form;
use crate::communicator::Communicator;
use crate::interop::no_handles;
use crate::result::Result;
use crate::runtime::Runtime;
use crate::transport::backend::Backend;

/// The owner of a communicator that another part of the program has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ownership {
    /// The other part frees it, once the last [`Communicator`] of it was dropped.
    Borrowed,
    /// This runtime frees it: by [`Communicator::free`], or at the end of the runtime, after it was
    /// dropped.
    Owned,
}

impl Communicator {
    /// The handle in the MPI 5.0 standard ABI, which the functions of `ranks-mpi-sys` take on every
    /// library; `None` in process.
    ///
    /// It is valid as long as a handle of this communicator is kept. Do not free it. Unsafe code
    /// that uses it must leave nothing on the communicator that safe code does not expect: a
    /// message that nobody receives, or an error handler that ends the program.
    #[must_use]
    pub fn as_raw(&self) -> Option<MPI_Comm> {
        match self.backend() {
            Backend::Mpi(comm) => Some(comm.canonical),
            Backend::InProcess(_) => None,
        }
    }

    /// The library's own handle, for a C function that was compiled with the library's `mpi.h`;
    /// `None` in process. The rules of [`as_raw`](Self::as_raw) hold for it.
    ///
    /// ```
    /// use ranks::Communicator;
    /// use ranks::interop::CHandle;
    /// use std::ffi::{c_int, c_void};
    ///
    /// /// `int solve(MPI_Comm comm);` of a library in C, found with `dlsym`.
    /// fn solve(world: &Communicator, solve: *const c_void) -> Option<c_int> {
    ///     type WithInt = unsafe extern "C" fn(c_int) -> c_int;
    ///     type WithPointer = unsafe extern "C" fn(*mut c_void) -> c_int;
    ///     match world.as_native_raw()? {
    ///         // SAFETY: with this library an `MPI_Comm` is an `int` in C.
    ///         CHandle::Int(comm) => unsafe {
    ///             Some(std::mem::transmute::<_, WithInt>(solve)(comm))
    ///         },
    ///         // SAFETY: with this library an `MPI_Comm` is a pointer in C.
    ///         CHandle::Pointer(comm) => unsafe {
    ///             Some(std::mem::transmute::<_, WithPointer>(solve)(comm))
    ///         },
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn as_native_raw(&self) -> Option<CHandle> {
        // SAFETY: the library is loaded, as there is a communicator of it.
        self.as_raw().map(|raw| unsafe { native::comm_to_c(raw) })
    }
}

impl Runtime {
    /// A communicator that another part of the program has made, from its handle in the standard
    /// ABI.
    ///
    /// Errors on it are returned from now on (`MPI_ERRORS_RETURN`), to the other part as well. Both
    /// parts share its context: a message that one sends, the other can receive.
    /// [`Communicator::dup`] makes a communicator of the same ranks with a context of its own. With
    /// the last [`Communicator`] of one that is [`Ownership::Borrowed`], receives that were dropped
    /// before their message came are cancelled.
    ///
    /// Local; but [`Ownership::Owned`] means that its ranks free it collectively, so all of its
    /// ranks must pass it, and in the same order among the communicators that they make.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if it is `MPI_COMM_NULL`, an
    /// intercommunicator, or `MPI_COMM_WORLD` or `MPI_COMM_SELF` and [`Ownership::Owned`];
    /// [`ErrorKind::NotInLibrary`](crate::ErrorKind::NotInLibrary) in process;
    /// [`ErrorKind::Finalized`](crate::ErrorKind::Finalized),
    /// [`ErrorKind::WrongThread`](crate::ErrorKind::WrongThread), or what the library reports.
    ///
    /// # Safety
    /// `raw` is a communicator of the library that this runtime has, or null. It is alive, and
    /// nobody frees it
    ///
    /// * while any [`Communicator`] of it, or anything that keeps one, is left: if it is
    ///   [`Ownership::Borrowed`];
    /// * ever: if it is [`Ownership::Owned`].
    ///
    /// The other part passes the same lengths to collectives as this one: there is a library, Open
    /// MPI, that writes past the end of the shorter slice otherwise.
    pub unsafe fn communicator_from_raw(
        &self,
        raw: MPI_Comm,
        ownership: Ownership,
    ) -> Result<Communicator> {
        const OPERATION: &str = "Runtime::communicator_from_raw";
        let world = self.world();
        world.dispatch(
            OPERATION,
            // SAFETY: the caller's contract is the same.
            |comm| unsafe { comm.take_over(OPERATION, raw, ownership, world.max_tag()) },
            |_| Err(no_handles(OPERATION)),
        )
    }

    /// As [`communicator_from_raw`](Self::communicator_from_raw), from the library's own handle, as
    /// C code has it.
    ///
    /// # Errors
    /// As [`communicator_from_raw`](Self::communicator_from_raw);
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) also if the handle is a pointer and the
    /// library's handles are ints, or the other way round.
    ///
    /// # Safety
    /// As [`communicator_from_raw`](Self::communicator_from_raw).
    pub unsafe fn communicator_from_native_raw(
        &self,
        raw: CHandle,
        ownership: Ownership,
    ) -> Result<Communicator> {
        const OPERATION: &str = "Runtime::communicator_from_native_raw";
        let world = self.world();
        world.dispatch(
            OPERATION,
            |comm| {
                // SAFETY: the library is loaded, as there is a communicator of it.
                let canonical = unsafe { native::comm_from_c(raw) };
                let raw = canonical.ok_or_else(|| other_form(OPERATION, raw))?;
                // SAFETY: the caller's contract is the same.
                unsafe { comm.take_over(OPERATION, raw, ownership, world.max_tag()) }
            },
            |_| Err(no_handles(OPERATION)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ErrorKind;

    #[test]
    fn in_process_there_are_no_handles() {
        let runtime = Runtime::builder()
            .backend(crate::Backend::InProcess)
            .ranks(1)
            .init()
            .unwrap();
        let world = runtime.world();
        assert_eq!((world.as_raw(), world.as_native_raw()), (None, None));
        let canonical = ranks_mpi_sys::MPI_COMM_WORLD;
        // SAFETY: in process nothing is done with the handle.
        let refused = unsafe { runtime.communicator_from_raw(canonical, Ownership::Borrowed) };
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotInLibrary);
        // SAFETY: as above.
        let refused =
            unsafe { runtime.communicator_from_native_raw(CHandle::Int(0), Ownership::Owned) };
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotInLibrary);
    }
}
