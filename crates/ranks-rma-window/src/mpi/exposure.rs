//! Epochs that targets post and origins start.
//!
//! The MPICH family counts posts, of whomever, from ch4 on (4.0.2 to 5.0.2, Intel MPI too): an
//! epoch starts as soon as there are as many posts as it has targets, so that an origin writes to
//! memory that is its owner's yet, or waits for ever if more have posted. There ranks tell each
//! other by messages of the window's own communicator who has posted and completed, and an origin
//! accesses its targets under locks, which all origins share.

use std::ffi::c_int;
use std::mem::{ManuallyDrop, take};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ranks_comm::Result;
use ranks_comm::backend::check;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{Loaded, MPI_Comm, MPI_Group, MPI_Win};

use super::{NO_ASSERTION, nothing};
use crate::epoch::dealings::Dealings;
use crate::epoch::table::int;

/// Groups that a window keeps at most: of both directions of as many dimensions as programs have.
const GROUPS: usize = 8;

/// Tags of the messages.
const POSTED: c_int = 0;
const COMPLETED: c_int = 1;

/// Ends the exposures of ranks that have dropped the window within one: their origins start and
/// complete what they have not. Collective over the ranks of the window, which `comm` has as well;
/// no rank starts anything any more.
pub(super) fn end_exposures(
    exposure: &Exposure,
    comm: MPI_Comm,
    dealings: &Dealings,
) -> Result<()> {
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
        exposure.start(&not_started)?;
        exposure.complete(&not_started)?;
    }
    match dealings.exposed_to() {
        [] => Ok(()),
        origins => exposure.wait(origins),
    }?;
    match exposure {
        Exposure::Library { groups, .. } => groups.free(),
        Exposure::Messages { .. } => Ok(()),
    }
}

/// A window, and how its ranks learn of each other. There is one rank at least in what it is told.
pub(crate) enum Exposure {
    /// By calls of the library.
    Library { win: MPI_Win, groups: Groups },
    /// By messages to and from the others.
    Messages {
        win: MPI_Win,
        comm: MPI_Comm,
        me: usize,
    },
}

impl Exposure {
    /// `comm` has the ranks of the window.
    pub(super) fn of(win: MPI_Win, comm: MPI_Comm) -> Result<Self> {
        if !sys::loaded().is_some_and(counts_posts_of_anybody) {
            let groups = Groups::default();
            return Ok(Self::Library { win, groups });
        }
        let mut me: c_int = 0;
        // SAFETY: the communicator is alive, the number is ours.
        let code = unsafe { sys::MPI_Comm_rank(comm, &raw mut me) };
        check(code, "MPI_Comm_rank")?;
        let me = usize::try_from(me).unwrap_or(0);
        Ok(Self::Messages { win, comm, me })
    }

    /// Opens this rank's memory to `origins`.
    pub(crate) fn post(&self, origins: &[usize]) -> Result<()> {
        match *self {
            Self::Library { win, ref groups } => {
                let group = groups.of(win, origins)?;
                // SAFETY: the window is alive, and these ranks are not posted to already.
                let code = unsafe { sys::MPI_Win_post(group, NO_ASSERTION, win) };
                check(code, "MPI_Win_post")
            }
            Self::Messages { comm, me, .. } => {
                others(origins, me).try_for_each(|origin| tell(comm, origin, POSTED))
            }
        }
    }

    /// Waits until `targets` have posted their memory.
    pub(crate) fn start(&self, targets: &[usize]) -> Result<()> {
        match *self {
            Self::Library { win, ref groups } => {
                let group = groups.of(win, targets)?;
                // SAFETY: the window is alive, no access epoch is open, and the ranks of the group
                // are its own.
                let code = unsafe { sys::MPI_Win_start(group, NO_ASSERTION, win) };
                check(code, "MPI_Win_start")
            }
            Self::Messages { win, comm, me } => {
                others(targets, me).try_for_each(|target| hear(comm, target, POSTED))?;
                targets.iter().try_for_each(|&target| {
                    let (shared, target) = (sys::MPI_LOCK_SHARED, int(target));
                    // SAFETY: the window is alive and has such a rank, which is not locked: no
                    // access epoch is open.
                    let code = unsafe { sys::MPI_Win_lock(shared, target, NO_ASSERTION, win) };
                    check(code, "MPI_Win_lock")
                })
            }
        }
    }

    /// Ends what was started with `targets`, and completes the operations started since.
    pub(crate) fn complete(&self, targets: &[usize]) -> Result<()> {
        match *self {
            Self::Library { win, .. } => {
                // SAFETY: the window is alive, and an epoch was started.
                let code = unsafe { sys::MPI_Win_complete(win) };
                check(code, "MPI_Win_complete")
            }
            Self::Messages { win, comm, me } => {
                targets.iter().try_for_each(|&target| {
                    // SAFETY: the window is alive, and `start` has locked this rank.
                    let code = unsafe { sys::MPI_Win_unlock(int(target), win) };
                    check(code, "MPI_Win_unlock")
                })?;
                others(targets, me).try_for_each(|target| tell(comm, target, COMPLETED))
            }
        }
    }

    /// Waits until `origins`, to whom this rank's memory is open, have completed.
    pub(crate) fn wait(&self, origins: &[usize]) -> Result<()> {
        match *self {
            Self::Library { win, .. } => {
                // SAFETY: the window is alive, and posted.
                let code = unsafe { sys::MPI_Win_wait(win) };
                check(code, "MPI_Win_wait")
            }
            Self::Messages { comm, me, .. } => {
                others(origins, me).try_for_each(|origin| hear(comm, origin, COMPLETED))
            }
        }
    }

    /// Returns true if they have; it is then as if `wait` had been called.
    pub(crate) fn test(&self, origins: &[usize]) -> Result<bool> {
        match *self {
            Self::Library { win, .. } => {
                let mut over: c_int = 0;
                // SAFETY: the window is alive, and posted; the flag is ours.
                let code = unsafe { sys::MPI_Win_test(win, &raw mut over) };
                check(code, "MPI_Win_test").map(|()| over != 0)
            }
            Self::Messages { comm, me, .. } => {
                for origin in others(origins, me) {
                    if !has_told(comm, origin, COMPLETED)? {
                        return Ok(false);
                    }
                }
                self.wait(origins).map(|()| true)
            }
        }
    }
}

/// Returns true if an epoch starts after as many posts as it has targets, whosever they are.
fn counts_posts_of_anybody(library: &Loaded) -> bool {
    !(library.is_openmpi() || library.has_ch3())
}

/// A rank has posted to itself before it starts, and completed before it waits.
fn others(ranks: &[usize], me: usize) -> impl Iterator<Item = usize> {
    ranks.iter().copied().filter(move |&rank| rank != me)
}

/// Sends a message without elements; nonblocking.
fn tell(comm: MPI_Comm, rank: usize, tag: c_int) -> Result<()> {
    let mut request = sys::MPI_REQUEST_NULL;
    // SAFETY: the communicator is alive and has such a rank; nothing is read; the request is ours.
    let code = unsafe {
        sys::MPI_Isend(
            nothing().cast_const(),
            0,
            sys::MPI_BYTE,
            int(rank),
            tag,
            comm,
            &raw mut request,
        )
    };
    check(code, "MPI_Isend")?;
    // SAFETY: it is a request of ours; the library completes it, and no memory is in flight.
    let code = unsafe { sys::MPI_Request_free(&raw mut request) };
    check(code, "MPI_Request_free")
}

/// Receives such a message.
fn hear(comm: MPI_Comm, rank: usize, tag: c_int) -> Result<()> {
    let ignored = sys::MPI_STATUS_IGNORE;
    // SAFETY: the communicator is alive and has such a rank; nothing is written.
    let code = unsafe { sys::MPI_Recv(nothing(), 0, sys::MPI_BYTE, int(rank), tag, comm, ignored) };
    check(code, "MPI_Recv")
}

/// Returns true if there is such a message.
fn has_told(comm: MPI_Comm, rank: usize, tag: c_int) -> Result<bool> {
    let mut is_there: c_int = 0;
    let ignored = sys::MPI_STATUS_IGNORE;
    // SAFETY: the communicator is alive and has such a rank; the flag is ours.
    let code = unsafe { sys::MPI_Iprobe(int(rank), tag, comm, &raw mut is_there, ignored) };
    check(code, "MPI_Iprobe").map(|()| is_there != 0)
}

/// Groups of ranks of a window, each made when an epoch is first opened with these ranks.
#[derive(Default)]
pub(crate) struct Groups(Mutex<Vec<(Box<[usize]>, MPI_Group)>>);

impl Groups {
    /// The group of `ranks`, which are in the window, none of them twice.
    fn of(&self, win: MPI_Win, ranks: &[usize]) -> Result<MPI_Group> {
        let mut groups = self.lock();
        if let Some((_, group)) = groups.iter().find(|(of, _)| **of == *ranks) {
            return Ok(*group);
        }
        if groups.len() == GROUPS {
            free(groups.remove(0).1)?;
        }
        let group = group(win, ranks)?;
        groups.push((ranks.into(), group));
        Ok(group)
    }

    /// Frees them, before the window.
    fn free(&self) -> Result<()> {
        let groups = take(&mut *self.lock());
        groups.into_iter().try_for_each(|(_, group)| free(group))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Box<[usize]>, MPI_Group)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a group of some ranks of a window.
fn group(win: MPI_Win, ranks: &[usize]) -> Result<MPI_Group> {
    let mut all = sys::MPI_GROUP_NULL;
    // SAFETY: the window is alive, the handle is ours.
    let code = unsafe { sys::MPI_Win_get_group(win, &raw mut all) };
    check(code, "MPI_Win_get_group")?;
    let ranks: Vec<c_int> = ranks.iter().map(|&rank| int(rank)).collect();
    let count = c_int::try_from(ranks.len()).unwrap_or(0);
    let mut some = sys::MPI_GROUP_NULL;
    // SAFETY: the group is alive, and has such ranks, `count` of them.
    let code = unsafe { sys::MPI_Group_incl(all, count, ranks.as_ptr(), &raw mut some) };
    let made = check(code, "MPI_Group_incl");
    free(all)?;
    made.map(|()| some)
}

fn free(mut group: MPI_Group) -> Result<()> {
    // SAFETY: it was made by a call of the library and is freed once.
    let code = unsafe { sys::MPI_Group_free(&raw mut group) };
    check(code, "MPI_Group_free")
}
