//! Epochs that targets post and origins start.

use std::ffi::c_int;
use std::mem::ManuallyDrop;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::check;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Comm, MPI_Group, MPI_Win};

use super::epochs::int;
use super::window::Window;
use crate::epoch::dealings::Dealings;

/// Nothing is asserted: `MPI_MODE_NOCHECK` makes the shared-memory windows of Open MPI 4.1 go
/// wrong.
const NO_ASSERTION: c_int = 0;

impl<T: Pod> Window<T> {
    /// Opens this rank's memory to `origins`, of which there is one at least.
    pub(crate) fn post(&self, origins: &[usize]) -> Result<()> {
        let group = Group::of(self.canonical, origins)?;
        // SAFETY: the window is alive, and its ranks of the group are not posted to already.
        let code = unsafe { sys::MPI_Win_post(group.0, NO_ASSERTION, self.canonical) };
        check(code, "MPI_Win_post")
    }

    /// Waits until `targets`, of which there is one at least, have posted their memory.
    pub(crate) fn start_epoch(&self, targets: &[usize]) -> Result<()> {
        start(self.canonical, targets)
    }

    /// Ends what was started, and completes the operations started since.
    pub(crate) fn complete(&self) -> Result<()> {
        complete(self.canonical)
    }

    /// Waits until all to whom this rank's memory is open have completed.
    pub(crate) fn wait(&self) -> Result<()> {
        wait(self.canonical)
    }

    /// Returns true if they have; it is then as if `wait` had been called.
    pub(crate) fn test(&self) -> Result<bool> {
        let mut over: c_int = 0;
        // SAFETY: the window is alive, and posted; the flag is ours.
        let code = unsafe { sys::MPI_Win_test(self.canonical, &raw mut over) };
        check(code, "MPI_Win_test").map(|()| over != 0)
    }
}

/// Ends the exposures of ranks that have dropped the window within one: their origins start and
/// complete what they have not. Collective over the ranks of the window, which `comm` has as well;
/// no rank starts anything any more.
pub(super) fn end_exposures(win: MPI_Win, comm: MPI_Comm, dealings: &Dealings) -> Result<()> {
    let mut size: c_int = 0;
    // SAFETY: the communicator is alive, the number is ours.
    let code = unsafe { sys::MPI_Comm_size(comm, &raw mut size) };
    check(code, "MPI_Comm_size")?;
    let ranks = usize::try_from(size).unwrap_or(0);
    let posts: Vec<u64> = (0..ranks).map(|rank| dealings.posts_to(rank)).collect();
    // After an error messages may be on their way to it: it is not given back then.
    let mut posted = ManuallyDrop::new(vec![0u64; ranks]);
    // SAFETY: both have an element for each rank.
    let code = unsafe {
        sys::MPI_Alltoall(
            posts.as_ptr().cast(),
            1,
            sys::MPI_UINT64_T,
            posted.as_mut_ptr().cast(),
            1,
            sys::MPI_UINT64_T,
            comm,
        )
    };
    check(code, "MPI_Alltoall")?;
    let posted = ManuallyDrop::into_inner(posted);
    let not_started: Vec<usize> = (0..ranks)
        .filter(|&rank| posted[rank] > dealings.starts_with(rank))
        .collect();
    if !not_started.is_empty() {
        start(win, &not_started)?;
        complete(win)?;
    }
    if dealings.is_exposed() {
        wait(win)?;
    }
    Ok(())
}

fn start(win: MPI_Win, targets: &[usize]) -> Result<()> {
    let group = Group::of(win, targets)?;
    // SAFETY: the window is alive, no access epoch is open, and the ranks of the group are its own.
    let code = unsafe { sys::MPI_Win_start(group.0, NO_ASSERTION, win) };
    check(code, "MPI_Win_start")
}

fn complete(win: MPI_Win) -> Result<()> {
    // SAFETY: the window is alive, and an epoch was started.
    let code = unsafe { sys::MPI_Win_complete(win) };
    check(code, "MPI_Win_complete")
}

fn wait(win: MPI_Win) -> Result<()> {
    // SAFETY: the window is alive, and posted.
    let code = unsafe { sys::MPI_Win_wait(win) };
    check(code, "MPI_Win_wait")
}

/// Some ranks of a window.
struct Group(MPI_Group);

impl Group {
    /// `ranks` are in the window, none of them twice.
    fn of(win: MPI_Win, ranks: &[usize]) -> Result<Self> {
        let mut all = Self(sys::MPI_GROUP_NULL);
        // SAFETY: the window is alive, the handle is ours.
        let code = unsafe { sys::MPI_Win_get_group(win, &raw mut all.0) };
        check(code, "MPI_Win_get_group")?;
        let ranks: Vec<c_int> = ranks.iter().map(|&rank| int(rank)).collect();
        let count = c_int::try_from(ranks.len()).unwrap_or(0);
        let mut some = Self(sys::MPI_GROUP_NULL);
        // SAFETY: the group is alive, and has such ranks, `count` of them.
        let code = unsafe { sys::MPI_Group_incl(all.0, count, ranks.as_ptr(), &raw mut some.0) };
        check(code, "MPI_Group_incl")?;
        Ok(some)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.0 != sys::MPI_GROUP_NULL && self.0 != sys::MPI_GROUP_EMPTY {
            // SAFETY: it was made by a call of the library and is freed once; a failure leaves
            // nothing to be done.
            unsafe { sys::MPI_Group_free(&raw mut self.0) };
        }
    }
}
