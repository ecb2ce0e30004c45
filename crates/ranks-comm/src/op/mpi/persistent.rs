//! Persistent requests of the library.

use std::ffi::c_void;
use std::sync::Arc;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Count, MPI_Request, native};

use super::request_copies::{RequestCopies, Statuses};
use crate::call::callback;
use crate::call::thread_guard::THREAD_GUARD;
use crate::data::element::Pod;
use crate::data::in_flight::{InFlight, Keep, Over};
use crate::data::raw_slice::{OpInfo, RawSlice};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::result::Result;
use crate::result::status::{EMPTY_STATUS, Status};
use crate::transport::mpi::buffer::to_read;
use crate::transport::mpi::communicator::Comm;
use crate::transport::mpi::error::{check, class, failed};
use crate::transport::mpi::peer::STANDARD;
use crate::transport::mpi::pending_op::{Cell, Native};
use crate::transport::mpi::receives::can_be_prepared;
use crate::transport::mpi::send_mode::SendMode;
use crate::transport::mpi::status::{self, StatusIgnore};

impl Comm {
    /// Prepares a persistent send.
    ///
    /// # Safety
    /// Until the request is given to [`retire`](Self::retire), `data` stays where it is; while it
    /// is started, it does not change. For [`SendMode::Ready`], a receive is posted whenever it is
    /// started.
    pub(crate) unsafe fn send_init<T: Pod>(
        &self,
        mode: SendMode,
        data: &[T],
        dest: Destination,
        tag: i32,
    ) -> Result<Native> {
        let (call, role) = (self.mode_here(mode).functions().init_c, mode.init_role());
        let mut request = sys::MPI_REQUEST_NULL;
        let (count, datatype) = self.to_send_to(data, dest);
        let (from, to, comm) = (to_read(data), STANDARD.destination(dest), self.canonical);
        // SAFETY: `count` items are what `data` holds, which stays; rank and tag are checked.
        let code = unsafe { call(from, count, datatype, to, tag, comm, &raw mut request) };
        check(code, role.operation)?;
        Ok(self.persistent(request, role, 0))
    }

    /// Prepares a persistent receive; `None` if it cannot be posted on this library, or need not
    /// be.
    pub(crate) fn recv_init(
        &self,
        role: &'static OpInfo,
        span: RawSlice,
        source: Source,
        tag: Tag,
    ) -> Result<Option<Native>> {
        let Some(element) = role.element else {
            return Ok(None);
        };
        // Otherwise each start makes a receive of its own.
        let is_posted = span.bytes() >= self.claim_below.max(1) && can_be_prepared();
        if source == Source::Null || !is_posted {
            return Ok(None);
        }
        let mut request = sys::MPI_REQUEST_NULL;
        let start: *mut c_void = span.start().cast();
        let count = MPI_Count::try_from(span.bytes()).unwrap_or(0);
        let (from, under) = (STANDARD.source(source), STANDARD.tag(tag));
        // SAFETY: the span has `count` bytes and is promised whenever it is started; this library
        // writes no more.
        let code = unsafe {
            sys::MPI_Recv_init_c(
                start,
                count,
                sys::MPI_BYTE,
                from,
                under,
                self.canonical,
                &raw mut request,
            )
        };
        check(code, role.operation)?;
        let capacity = span.bytes() / element.width.max(1);
        Ok(Some(self.persistent(request, role, capacity)))
    }

    pub(crate) fn persistent(
        &self,
        request: MPI_Request,
        role: &'static OpInfo,
        capacity: usize,
    ) -> Native {
        // SAFETY: the library is loaded, as there is a `Comm`.
        let cell = unsafe { Cell::holding(request) };
        Native {
            persistent: true,
            ..self.request(cell, role, capacity)
        }
    }

    /// A request of a function that ends in `_init`, without a received length to find out; it uses
    /// `keep` until it is freed.
    pub(crate) fn prepared(
        &self,
        cell: Cell,
        role: &'static OpInfo,
        keep: Option<InFlight<Box<dyn Keep>>>,
    ) -> Native {
        Native {
            keep,
            persistent: true,
            ..self.request(cell, role, 0)
        }
    }

    /// Returns `true` if a receive that is started now could overtake one that waits for its
    /// message.
    pub(crate) fn has_claims(&self) -> bool {
        self.claims.is_waiting()
    }

    /// Frees an inactive request, now if this thread may, or later.
    pub(crate) fn retire(&self, mut native: Native) -> Result<()> {
        if callback::in_callback() {
            let session = Arc::clone(&self.session);
            callback::later(move || session.retire_later(native));
            return Ok(());
        }
        match THREAD_GUARD.enter("MPI_Request_free") {
            Ok(_entered) => native.release(),
            Err(_) => {
                self.session.retire_later(native);
                Ok(())
            }
        }
    }
}

/// Proof that an operation has no status to read at completion.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Silent(StatusIgnore);

impl Native {
    #[inline(always)]
    pub(crate) fn start(&mut self) -> Result<()> {
        // SAFETY: the request was made by an `_init` and is not started; what it works on is there,
        // by their contract, and may be used by its address, as `Lent` says.
        let code = unsafe { native::MPI_Start(&raw mut self.cell) };
        check(code, "MPI_Start")
    }

    /// Waits for the started operation.
    #[inline]
    pub(crate) fn finish(&mut self) -> Result<Status> {
        let mut words = EMPTY_STATUS;
        // SAFETY: the request was made by an `_init`; the status is ours.
        let code = unsafe { native::MPI_Wait(&raw mut self.cell, status::to_write(&mut words)) };
        self.outcome(code, &words)
    }

    /// `Some` if the operation has no status to read at completion, unless it has failed.
    pub(crate) fn silent(&self) -> Option<Silent> {
        let silent = self.role.element.is_none() && self.keep.is_none();
        silent.then(|| Silent(StatusIgnore::of_library()))
    }

    /// As [`finish`](Self::finish), for an operation that is [silent](Self::silent).
    #[inline(always)]
    pub(crate) fn finish_silently(&mut self, Silent(ignore): Silent) -> Result<()> {
        // SAFETY: the request was made by an `_init`; no status is asked for.
        let code = unsafe { native::MPI_Wait(&raw mut self.cell, ignore.pointer()) };
        check(code, self.role.operation)
    }

    /// Returns `true` if it receives.
    #[inline(always)]
    pub(crate) fn receives(&self) -> bool {
        self.role.element.is_some()
    }

    /// Returns `true` if the library has freed it, as Open MPI does with those that have failed.
    fn is_gone(&self) -> bool {
        // SAFETY: the library is loaded and has written the request when it was made.
        unsafe { self.cell.get() == sys::MPI_REQUEST_NULL }
    }

    /// Frees an inactive request; one that is complete has been freed if it is not persistent.
    pub(crate) fn release(&mut self) -> Result<()> {
        if self.persistent && !self.is_gone() {
            // SAFETY: the request was made by an `_init` and is not started.
            let code = unsafe { native::MPI_Request_free(&raw mut self.cell) };
            check(code, "MPI_Request_free")?;
        }
        if let Some(keep) = self.keep.take() {
            // SAFETY: the request is gone, and was not started.
            let over = unsafe { Over::new() };
            // It is dropped here, where the library may be called.
            drop(keep.give_back(over));
        }
        Ok(())
    }
}

/// Waits for started operations, no more than [`ROOMS`](crate::op::mpi::request_copies::ROOMS),
/// with one call; returns the outcome of each.
///
/// An outer error means that this thread may not wait.
pub(crate) fn finish_all(natives: &mut [&mut Native]) -> Result<Vec<Result<Status>>> {
    const OPERATION: &str = "MPI_Waitall";
    let _entered = THREAD_GUARD.enter(OPERATION)?;
    let (mut copies, mut statuses) = (RequestCopies::new(), Statuses::new());
    for native in natives.iter() {
        copies.put(native);
    }
    let code = copies.wait_all(&mut statuses);
    let told = code == sys::MPI_SUCCESS || class(code) == sys::MPI_ERR_IN_STATUS;
    let mut outcomes = Vec::with_capacity(natives.len());
    for (index, native) in natives.iter_mut().enumerate() {
        copies.give_back(index, native);
        let words = statuses.of(index);
        let own = match code {
            sys::MPI_SUCCESS => code,
            _ if told => status::error(&words),
            _ => sys::MPI_ERR_PENDING,
        };
        outcomes.push(
            if own != sys::MPI_SUCCESS && class(own) == sys::MPI_ERR_PENDING {
                native.finish()
            } else {
                native.outcome(own, &words)
            },
        );
    }
    if !told && outcomes.iter().all(Result::is_ok) {
        // Requests that were complete no longer tell which of them has failed.
        if let Some(first) = outcomes.first_mut() {
            *first = Err(failed(code, OPERATION, &""));
        }
    }
    Ok(outcomes)
}
