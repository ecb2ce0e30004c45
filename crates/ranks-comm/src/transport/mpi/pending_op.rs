//! Single requests of the library: start, completion, cancellation.

use std::ffi::c_int;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Request, native};

use super::communicator::Comm;
use super::error::{check, failed, is_pending};
use super::recv::{fits, not_received};
use super::status::{self, CountWord};
use crate::data::in_flight::{InFlight, Keep, Over};
use crate::data::raw_slice::OpInfo;
use crate::result::status::{EMPTY_STATUS, Kind, Status, Words};
use crate::result::{Error, Result};
use crate::transport::pending_op::PendingOp;

/// A request in the library's own width.
pub(crate) type Cell = native::Cell<MPI_Request>;

/// A request, and the facts that are needed at its completion.
#[derive(Debug)]
pub(crate) struct Native {
    pub(crate) cell: Cell,
    pub(crate) role: &'static OpInfo,
    /// The number of elements that fit, if it receives.
    pub(crate) capacity: usize,
    pub(crate) count_word: CountWord,
    pub(crate) cancelling: bool,
    /// `true` if the request is still there after completion (see `persistent`).
    pub(crate) persistent: bool,
    /// The value that the library uses until completion.
    pub(crate) keep: Option<InFlight<Box<dyn Keep>>>,
}

impl Comm {
    #[inline(always)]
    pub(crate) fn native(&self, cell: Cell, role: &'static OpInfo, capacity: usize) -> PendingOp {
        PendingOp::Native(self.request(cell, role, capacity))
    }

    /// An operation without a received length to find out, which uses `keep` until completion.
    pub(crate) fn native_keeping(
        &self,
        cell: Cell,
        role: &'static OpInfo,
        keep: InFlight<Box<dyn Keep>>,
    ) -> PendingOp {
        PendingOp::Native(Native {
            keep: Some(keep),
            ..self.request(cell, role, 0)
        })
    }

    /// A request of the library that is over when it is complete.
    #[inline(always)]
    pub(crate) fn request(&self, cell: Cell, role: &'static OpInfo, capacity: usize) -> Native {
        Native::plain(cell, role, capacity, self.count_word)
    }
}

impl Native {
    /// A request that is over when it is complete, on a library with that word.
    #[inline(always)]
    pub(crate) fn plain(
        cell: Cell,
        role: &'static OpInfo,
        capacity: usize,
        count_word: CountWord,
    ) -> Self {
        Self {
            cell,
            role,
            capacity,
            count_word,
            cancelling: false,
            persistent: false,
            keep: None,
        }
    }

    /// The outcome, if it is complete; with an outer error it is still pending.
    pub(crate) fn test(&mut self) -> Result<Option<Result<Status>>> {
        let mut words = EMPTY_STATUS;
        let code = self.ask(&mut words)?;
        Ok(code.map(|code| self.outcome(code, &words)))
    }

    /// The library's code, if it is complete.
    fn ask(&mut self, words: &mut Words) -> Result<Option<c_int>> {
        let mut flag: c_int = 0;
        // SAFETY: the request was begun and is not over, or is null; flag and status are ours.
        let code =
            unsafe { native::MPI_Test(&raw mut self.cell, &raw mut flag, status::to_write(words)) };
        if code == sys::MPI_SUCCESS || !is_pending(code) {
            return Ok((code != sys::MPI_SUCCESS || flag != 0).then_some(code));
        }
        if flag == 0 {
            return Err(pending(code, self.role));
        }
        // Open MPI 5.0.11 reports a receive that was pending after a failure so for ever, and does
        // not free it, but sets the flag.
        // SAFETY: the request is over, as the flag says, and not null.
        let freed = unsafe { native::MPI_Request_free(&raw mut self.cell) };
        check(freed, "MPI_Request_free").map(|()| Some(sys::MPI_SUCCESS))
    }

    /// Tests an operation that nobody waits for; no code of the program runs here.
    pub(crate) fn is_over(&mut self) -> bool {
        matches!(self.ask(&mut EMPTY_STATUS.clone()), Ok(Some(_)))
    }

    /// Drops the kept value of a [complete](Self::is_over) operation that nobody waits for. That
    /// may run code of the program.
    pub(crate) fn let_go(&mut self) {
        if let Some(keep) = self.keep.take() {
            // There is nobody to report to.
            let _ = self.ended(keep);
        }
        let _ = self.release();
    }

    /// Returns `true` if nothing is to be done at its completion but to look at the status.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.keep.is_none() && !self.cancelling
    }

    /// As [`wait_plain`], for this one, which [is plain](Self::is_plain).
    #[inline(always)]
    pub(crate) fn wait_plain(&mut self, words: &mut Words) -> Result<(Kind, Over), c_int> {
        wait_plain(
            &mut self.cell,
            self.role,
            self.capacity,
            &self.count_word,
            words,
        )
    }

    /// The outcome; with an outer error it is still pending.
    pub(crate) fn wait(&mut self) -> Result<Result<Status>> {
        let mut words = EMPTY_STATUS;
        // SAFETY: the request was begun and is not over; the status is ours.
        let code = unsafe { native::MPI_Wait(&raw mut self.cell, status::to_write(&mut words)) };
        self.waited(code, &words)
    }

    /// As [`wait`](Self::wait), after the library has returned that.
    pub(crate) fn waited(&mut self, code: c_int, words: &Words) -> Result<Result<Status>> {
        if code == sys::MPI_SUCCESS || !is_pending(code) {
            return Ok(self.outcome(code, words));
        }
        match self.test()? {
            Some(outcome) => Ok(outcome),
            // Acknowledged meanwhile.
            None => self.wait(),
        }
    }

    /// Cancels a receive. It is complete when a test or a wait says so.
    pub(crate) fn cancel(&mut self) -> Result<()> {
        // Libraries differ in whether sends can be cancelled, and MPI 4.0 has deprecated it. Open
        // MPI 4.1 ends by a signal if a receive is cancelled twice.
        if self.role.element.is_none() || self.cancelling {
            return Ok(());
        }
        // SAFETY: the request was begun and is not over.
        let code = unsafe { native::MPI_Cancel(&raw mut self.cell) };
        self.cancelling = true;
        check(code, "MPI_Cancel")
    }

    pub(crate) fn operation(&self) -> &'static str {
        self.role.operation
    }

    /// The outcome after a wait for any of several, if it is complete; with an outer error it is
    /// still pending.
    pub(crate) fn waited_for_any(
        &mut self,
        code: c_int,
        words: &Words,
    ) -> Result<Option<Result<Status>>> {
        if code != sys::MPI_SUCCESS && is_pending(code) {
            return self.test();
        }
        Ok(Some(self.outcome(code, words)))
    }

    /// Tells the kept value that the operation is complete. It is dropped here, where the library
    /// may be called, unless the next start uses it again.
    #[cold]
    fn ended(&mut self, mut keep: InFlight<Box<dyn Keep>>) -> Result<()> {
        // SAFETY: this is called when the library has said that the operation is over.
        let over = unsafe { Over::new() };
        let outcome = keep.get_mut(&over).ended(self.role.operation);
        if self.persistent {
            self.keep = Some(keep);
        } else {
            drop(keep.give_back(over));
        }
        outcome
    }

    pub(crate) fn outcome(&mut self, code: c_int, words: &Words) -> Result<Status> {
        let kept = match self.keep.take() {
            Some(keep) => self.ended(keep),
            None => Ok(()),
        };
        if self.cancelling && code == sys::MPI_SUCCESS && status::is_cancelled(words) {
            return Ok(Status::cancelled());
        }
        let status = outcome(code, words, self.role, self.capacity, self.count_word)?;
        kept.map(|()| status)
    }
}

/// Has the library wait for an operation of which there is nothing else to do than to look at the
/// status: what that is, and the proof that it is complete; if there is more to it, the library's
/// code, for [`Native::waited`].
#[inline(always)]
pub(crate) fn wait_plain(
    cell: &mut Cell,
    role: &OpInfo,
    capacity: usize,
    count_word: &CountWord,
    words: &mut Words,
) -> Result<(Kind, Over), c_int> {
    // SAFETY: the request was begun and is not over; the status is ours.
    let code = unsafe { native::MPI_Wait(&raw mut *cell, status::to_write(words)) };
    if code != sys::MPI_SUCCESS {
        return Err(code);
    }
    let kind = match &role.element {
        None => Kind::NULL,
        Some(element) if count_word.surely_fits(words, element.width, capacity) => Kind::MPI,
        Some(_) => return Err(code),
    };
    // SAFETY: the library has said that it is complete.
    Ok((kind, unsafe { Over::new() }))
}

/// The error of a receive that waits while a rank that might have sent has failed: others may still
/// send.
#[cold]
fn pending(code: c_int, role: &'static OpInfo) -> Error {
    let text = "the receive goes on, for the ranks that are left; Communicator::ack_failed takes note of those that are lost, \
                Request::cancel ends it";
    failed(code, role.operation, &text)
}

/// The outcome of an operation, from the library's code and status.
#[inline]
pub(crate) fn outcome(
    code: c_int,
    words: &Words,
    role: &'static OpInfo,
    capacity: usize,
    count_word: CountWord,
) -> Result<Status> {
    match role.element {
        None if code == sys::MPI_SUCCESS => Ok(Status::null()),
        None => Err(failed(code, role.operation, &"")),
        Some(element) if code != sys::MPI_SUCCESS => {
            let (status, width) = (Status::of_failed(words), element.width);
            Err(not_received(code, role.operation, capacity, width, &status))
        }
        Some(element) => {
            if !count_word.surely_fits(words, element.width, capacity) {
                fits(role.operation, element, words, capacity)?;
            }
            Ok(Status::new(Kind::MPI, *words))
        }
    }
}
