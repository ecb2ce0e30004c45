//! Memory in a window of the MPI library.
//!
//! # Safety
//!
//! * The library is loaded, initialised and not finalized: [`Region`](super::Region) has let each
//!   operation in, and a [`FreedTogether`] is freed while MPI lives.
//! * The window is alive as long as a `Window` is, save in [`FreedTogether::free`], which consumes
//!   it.
//! * All of the memory is rank 0's part of the window, and a page longer than what is handed out of
//!   it, so that its begin may be moved to the next page. A library's own sizes, offsets and
//!   alignments of parts are never relied upon: they differ.

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

use ranks_comm::backend::{FreedTogether, InfoHandle, MpiComm, check, check_with};
use ranks_comm::{Communicator, Error, ErrorKind, Result};
use ranks_launch::Count;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Aint, MPI_Win};

use crate::mpi::OwnComm;
use crate::page::page_size;

/// A window in which rank 0 has all the memory.
#[derive(Debug)]
pub(super) struct Window {
    handle: MPI_Win,
    comm: OwnComm,
    base: NonNull<u8>,
    locked: bool,
}

// SAFETY: a handle and an address; each operation asks whether its thread may call the library.
unsafe impl Send for Window {}

// SAFETY: as above; `sync` may be called by several threads where the thread level allows it.
unsafe impl Sync for Window {}

impl Window {
    /// Makes the window; [`open`](Self::open) comes next. Collective over the communicator, in
    /// which this is `rank`.
    pub(super) fn allocate(
        comm: &MpiComm,
        rank: usize,
        bytes: usize,
        hints: Option<&InfoHandle>,
    ) -> Result<Self> {
        const OPERATION: &str = "MPI_Win_allocate_shared";
        let size = bytes
            .checked_add(page_size())
            .and_then(|size| MPI_Aint::try_from(size).ok());
        // Too many are so on every rank, since all pass the same number.
        let Some(size) = size else {
            let why = format_args!("{bytes} bytes are more than the address space holds");
            return Err(Error::new(ErrorKind::Length, OPERATION, why));
        };
        let size = if rank == 0 { size } else { 0 };
        let info = hints.map_or(sys::MPI_INFO_NULL, InfoHandle::canonical);
        let comm = OwnComm::dup(comm)?;
        let mut base: *mut c_void = ptr::null_mut();
        let mut handle = sys::MPI_WIN_NULL;
        // SAFETY: the communicator was just made; the address and the handle are ours.
        let code = unsafe {
            sys::MPI_Win_allocate_shared(
                size,
                1,
                info,
                comm.handle(),
                (&raw mut base).cast(),
                &raw mut handle,
            )
        };
        check_with(code, OPERATION, || {
            format!(
                "{} in common; all ranks must be on one node, as those of split_shared are",
                Count(bytes, "byte")
            )
        })?;
        Ok(Self {
            handle,
            comm,
            base: NonNull::dangling(),
            locked: false,
        })
    }

    /// Learns where its memory is on this rank, and makes `sync` legal. Collective over `node`,
    /// whose window it is.
    pub(super) fn open(&mut self, node: &Communicator) -> Result<()> {
        const OPERATION: &str = "MPI_Win_shared_query";
        let found = self.find();
        let page = page_size();
        // No address is as far behind the begin of its page.
        let behind = found
            .as_ref()
            .map_or(usize::MAX, |base| base.addr().get() % page);
        let all = node.exchange(OPERATION, &behind.to_ne_bytes())?;
        let base = found?;
        if all
            .chunks_exact(size_of::<usize>())
            .any(|other| other != behind.to_ne_bytes())
        {
            let why = "the library has put it at different places within a page on different ranks, \
                       or could not say where it is";
            return Err(Error::new(ErrorKind::Library, OPERATION, why));
        }
        let skipped = (page - behind) % page;
        // SAFETY: less than a page is skipped, and the memory is a page longer than what is asked
        // of it.
        self.base = unsafe { base.add(skipped) };
        self.set_errhandler()?;
        self.lock_all()
    }

    /// Finds the address of rank 0's part.
    fn find(&self) -> Result<NonNull<u8>> {
        const OPERATION: &str = "MPI_Win_shared_query";
        let (mut size, mut unit): (MPI_Aint, c_int) = (0, 0);
        let mut base: *mut c_void = ptr::null_mut();
        // SAFETY: the window is alive and shared, and has a rank 0; size, unit and address are
        // ours.
        let code = unsafe {
            sys::MPI_Win_shared_query(
                self.handle,
                0,
                &raw mut size,
                &raw mut unit,
                (&raw mut base).cast(),
            )
        };
        check(code, OPERATION)?;
        NonNull::new(base.cast()).ok_or_else(|| {
            let why = "the library gives no address for the memory of rank 0";
            Error::new(ErrorKind::Library, OPERATION, why)
        })
    }

    fn set_errhandler(&self) -> Result<()> {
        // SAFETY: the window is alive.
        let code = unsafe { sys::MPI_Win_set_errhandler(self.handle, sys::MPI_ERRORS_RETURN) };
        check(code, "MPI_Win_set_errhandler")
    }

    fn lock_all(&mut self) -> Result<()> {
        // SAFETY: the window is alive, and in no epoch; nobody locks it otherwise.
        let code = unsafe { sys::MPI_Win_lock_all(sys::MPI_MODE_NOCHECK, self.handle) };
        check(code, "MPI_Win_lock_all")?;
        self.locked = true;
        Ok(())
    }

    /// A multiple of the page size.
    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    pub(super) fn handle(&self) -> MPI_Win {
        self.handle
    }

    pub(super) fn sync(&self) -> Result<()> {
        // SAFETY: the window is alive, and in an epoch since it was opened.
        let code = unsafe { sys::MPI_Win_sync(self.handle) };
        check(code, "MPI_Win_sync")
    }
}

impl FreedTogether for Window {
    fn free(mut self: Box<Self>) -> Result<()> {
        let mut outcome = Ok(());
        if self.locked {
            // SAFETY: the window is alive, and in the epoch that `lock_all` began.
            let code = unsafe { sys::MPI_Win_unlock_all(self.handle) };
            outcome = check(code, "MPI_Win_unlock_all");
        }
        // SAFETY: the window is alive, and gone with this call, for whose sake all ranks are here.
        let code = unsafe { sys::MPI_Win_free(&raw mut self.handle) };
        outcome = outcome.and(check(code, "MPI_Win_free"));
        outcome.and(self.comm.free())
    }
}
