//! Opening and closing of epochs.

use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::check;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Win, native};

use super::NO_ASSERTION;
use super::window::Window;
use crate::epoch::epochs::{Epochs, Hold};
use crate::epoch::lock_kind::LockKind;
use crate::epoch::table::int;

/// The kinds of locks, as the library has them.
#[derive(Clone, Copy)]
pub(super) struct LockTypes {
    shared: c_int,
    exclusive: c_int,
}

impl LockTypes {
    pub(super) fn of_library() -> Self {
        Self {
            shared: native::lock_type(sys::MPI_LOCK_SHARED),
            exclusive: native::lock_type(sys::MPI_LOCK_EXCLUSIVE),
        }
    }

    #[inline]
    fn of(self, kind: LockKind) -> c_int {
        match kind {
            LockKind::Shared => self.shared,
            LockKind::Exclusive => self.exclusive,
        }
    }
}

impl<T: Pod> Window<T> {
    /// Ends an epoch and begins the next. Collective.
    pub(crate) fn fence(&self) -> Result<()> {
        // SAFETY: the window is alive, and no lock is held: between fences there are none.
        let code = unsafe { native::MPI_Win_fence(NO_ASSERTION, self.win) };
        check(code, "MPI_Win_fence")
    }

    /// Ends an epoch. Collective.
    pub(crate) fn last_fence(&self) -> Result<()> {
        last_fence(self.canonical)
    }

    pub(crate) fn lock(&self, kind: LockKind, rank: usize) -> Result<()> {
        let kind = self.lock_types.of(kind);
        // SAFETY: the window is alive and has such a rank, which is not locked, as `Epochs` knows.
        let code = unsafe { native::MPI_Win_lock(kind, int(rank), NO_ASSERTION, self.win) };
        check(code, "MPI_Win_lock")
    }

    pub(crate) fn lock_all(&self) -> Result<()> {
        // SAFETY: the window is alive, and no rank is locked, as `Epochs` knows.
        let code = unsafe { native::MPI_Win_lock_all(NO_ASSERTION, self.win) };
        check(code, "MPI_Win_lock_all")
    }

    #[inline]
    pub(crate) fn unlock(&self, hold: Hold) -> Result<()> {
        unlock(self.win, hold)
    }

    /// Completes the operations on `rank`, at the origin and at the target.
    #[inline(always)]
    pub(crate) fn flush(&self, rank: usize) -> Result<()> {
        // SAFETY: the window is alive, and `rank` is locked.
        let code = unsafe { native::MPI_Win_flush(int(rank), self.win) };
        check(code, "MPI_Win_flush")
    }

    pub(crate) fn flush_all(&self) -> Result<()> {
        // SAFETY: the window is alive, in an epoch of locks.
        let code = unsafe { native::MPI_Win_flush_all(self.win) };
        check(code, "MPI_Win_flush_all")
    }

    /// Completes the operations on `rank` at the origin: this rank's memory may be used again.
    pub(crate) fn flush_local(&self, rank: usize) -> Result<()> {
        // SAFETY: the window is alive, and `rank` is locked.
        let code = unsafe { native::MPI_Win_flush_local(int(rank), self.win) };
        check(code, "MPI_Win_flush_local")
    }

    pub(crate) fn flush_local_all(&self) -> Result<()> {
        // SAFETY: the window is alive, in an epoch of locks.
        let code = unsafe { native::MPI_Win_flush_local_all(self.win) };
        check(code, "MPI_Win_flush_local_all")
    }

    pub(crate) fn sync(&self) -> Result<()> {
        // SAFETY: the window is alive, in an epoch of locks.
        let code = unsafe { native::MPI_Win_sync(self.win) };
        check(code, "MPI_Win_sync")
    }
}

/// Ends what is open on a window that is about to be freed.
pub(super) fn end_all(win: MPI_Win, epochs: &Epochs) -> Result<()> {
    let mut outcome = Ok(());
    for hold in epochs.take_held() {
        // SAFETY: the library is loaded, as there is a window.
        let unlocked = unlock(unsafe { native::win(win) }, hold);
        outcome = outcome.and(unlocked);
    }
    let fenced = std::mem::take(&mut epochs.open().fenced);
    if fenced {
        outcome = outcome.and_then(|()| last_fence(win));
    }
    outcome
}

fn last_fence(win: MPI_Win) -> Result<()> {
    // SAFETY: the window is alive; nothing is begun on it before the next fence, which the types
    // see to.
    let code = unsafe { sys::MPI_Win_fence(sys::MPI_MODE_NOSUCCEED, win) };
    check(code, "MPI_Win_fence")
}

#[inline]
fn unlock(win: native::Win, hold: Hold) -> Result<()> {
    match hold {
        Hold::All => {
            // SAFETY: the window is alive and all ranks are locked together, as `Epochs` knows.
            let code = unsafe { native::MPI_Win_unlock_all(win) };
            check(code, "MPI_Win_unlock_all")
        }
        Hold::Rank(rank) => {
            // SAFETY: the window is alive and this rank is locked, as `Epochs` knows.
            let code = unsafe { native::MPI_Win_unlock(int(rank), win) };
            check(code, "MPI_Win_unlock")
        }
    }
}
