//! PEs that are processes, over NVSHMEM's host library.
//!
//! # Safety
//!
//! Nearly every function of NVSHMEM ends the process where it cannot do its work. What makes calls
//! sound, and lets the process live:
//!
//! * A [`LibraryHeap`] is made only when `nvshmemx_init_status` says that the library is
//!   initialised, and nothing is called after `nvshmemx_hostlib_finalize`, which takes the last
//!   one.
//! * Calls are made on the thread that has initialised it, with the device's context current:
//!   [`LibraryHeap::enter`].
//! * PEs, lengths, places, teams and streams were checked before (see [`backend`](crate::backend));
//!   what ends the process while several PEs share a GPU is refused by [`LibraryHeap::full`].
//! * A function that the library lacks is an `Err`: [`LibraryHeap::missing`].

mod collectives;
mod direct;
mod free_memory;
mod init;
mod init_state;
mod life;
mod memory;
mod one_sided;
mod teams;

use std::cell::Cell;
use std::ffi::c_int;
use std::fmt;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{Context, Entered};
use ranks_nvshmem_sys::{NvshmemLibrary, Table, cudaStream_t};

use crate::backend::stream::StreamRef;
use crate::backend::{Facts, Order};
use crate::call::error::of_driver;

pub(crate) use direct::Direct;
pub(crate) use init::Prepared;

/// This process's part of the heap.
pub(crate) struct LibraryHeap {
    library: &'static NvshmemLibrary,
    context: Context,
    facts: Facts,
    /// The room that is left for blocks, where the library loses the heap by asking for more.
    room: Option<free_memory::Room>,
    /// True if no PE is reached over a network; `None` before there is a block to ask with.
    all_near: Cell<Option<bool>>,
}

/// The function for an order: one that is done when it returns, or the one that enqueues the same,
/// with the stream.
enum Function<F, On> {
    Now(F),
    On(On, cudaStream_t),
}

impl LibraryHeap {
    /// Makes the context of the device current, which the library works with.
    #[inline]
    fn enter(&self, operation: &'static str) -> Result<Entered<'_>> {
        let entered = self.context.enter();
        entered.map_err(|error| of_driver(operation, error))
    }

    /// Refuses what would end the process while several PEs share a GPU.
    #[inline]
    fn full(&self, operation: &'static str) -> Result<()> {
        if self.facts.limited {
            return Err(limited(operation));
        }
        Ok(())
    }

    /// Calls a function of the library's.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] if it has none; what the driver reports.
    fn call<R>(&self, name: &'static str, call: impl FnOnce(&Table) -> Option<R>) -> Result<R> {
        let _entered = self.enter(name)?;
        call(self.library.table()).ok_or_else(|| self.missing(name))
    }

    /// As [`call`](Self::call), of one that returns a code.
    fn call_checked(
        &self,
        name: &'static str,
        call: impl FnOnce(&Table) -> Option<c_int>,
    ) -> Result<()> {
        self.call(name, call)
            .and_then(|code| self.check(name, code))
    }

    /// Turns the code that a call of the library returned into a result.
    fn check(&self, name: &'static str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        Err(refused(self.library, name, code))
    }

    /// Of the two functions of an operation, the one for an order.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] if the library lacks it; [`ErrorKind::Argument`] for a stream of
    /// a PE in process.
    #[inline]
    fn function<F, On>(
        &self,
        name: &'static str,
        (now, on): (Option<F>, Option<On>),
        order: Order<'_>,
    ) -> Result<Function<F, On>> {
        match order {
            Order::Now => now.map(Function::Now).ok_or_else(|| self.missing(name)),
            Order::On(stream) => {
                let (on, stream) = self.on_stream(name, on, stream)?;
                Ok(Function::On(on, stream))
            }
        }
    }

    /// As [`function`](Self::function), of what is only enqueued.
    #[inline]
    fn on_stream<On>(
        &self,
        name: &'static str,
        on: Option<On>,
        stream: StreamRef<'_>,
    ) -> Result<(On, cudaStream_t)> {
        let function = on.ok_or_else(|| self.missing(name))?;
        match stream {
            StreamRef::Cuda(_, raw) => Ok((function, raw.0.cast())),
            StreamRef::Host(_) => Err(not_of_device(name)),
        }
    }

    /// The error of a call of a function that the library lacks.
    #[cold]
    fn missing(&self, name: &'static str) -> Error {
        Error::with_text(ErrorKind::NotInLibrary, name, self.library.lacks(name))
    }
}

#[cold]
fn not_of_device(operation: &'static str) -> Error {
    let text = "the stream is one of a PE in process, and this is a process of its own";
    Error::new(ErrorKind::Argument, operation, text)
}

#[cold]
fn limited(operation: &'static str) -> Error {
    let text = "several PEs share a GPU without MPS, and NVSHMEM would end the process here: give each PE a GPU of its own, or start \
                nvidia-cuda-mps-control and let CUDA_MPS_ACTIVE_THREAD_PERCENTAGE of all PEs of a GPU be 100 together";
    Error::new(ErrorKind::NotInLibrary, operation, text)
}

/// The error for what the library reports.
#[cold]
fn refused(library: &NvshmemLibrary, name: &'static str, code: i32) -> Error {
    let (kind, meaning) = match code {
        1 => (ErrorKind::Argument, "NVSHMEMX_ERROR_INVALID_VALUE"),
        2 => (ErrorKind::Memory, "NVSHMEMX_ERROR_OUT_OF_MEMORY"),
        3 => (ErrorKind::NotInLibrary, "NVSHMEMX_ERROR_NOT_SUPPORTED"),
        4 => (ErrorKind::Mismatch, "NVSHMEMX_ERROR_SYMMETRY"),
        5 => (ErrorKind::NotAvailable, "NVSHMEMX_ERROR_GPU_NOT_SELECTED"),
        6 => (
            ErrorKind::Library,
            "NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED",
        ),
        7 => (ErrorKind::Library, "NVSHMEMX_ERROR_INTERNAL"),
        _ => (ErrorKind::Library, "a code that is not known here"),
    };
    let (version, path) = (library.version(), library.path().display());
    let text = format_args!(
        "{meaning}, code {code} (NVSHMEM {version}, {path}); set NVSHMEM_DEBUG=INFO to see more"
    );
    Error::new(kind, name, text).with_code(code, code)
}

impl fmt::Debug for LibraryHeap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LibraryHeap")
            .field("library", &self.library.path())
            .field("device", &self.context.device().ordinal())
            .field("limited", &self.facts.limited)
            .finish_non_exhaustive()
    }
}
