//! Communicators made of others: fewer ranks, other orders, more ranks.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;

use ranks_comm::backend::{Count, observed};
use ranks_comm::{Error, ErrorKind, Result};
use ranks_nccl_sys::{
    NCCL_SHRINK_ABORT, NCCL_SHRINK_DEFAULT, NCCL_SPLIT_NOCOLOR, Table, ncclComm_t, ncclConfig_t,
    ncclInProgress, ncclResult_t, ncclSuccess, ncclUniqueId,
};
use ranks_raw::backend::Deadline;

use super::id::NcclId;
use super::init::{Joining, Means};
use crate::communicator::NcclCommunicator;
use crate::error::{RankOnDevice, of_driver};
use crate::options::NcclOptions;
use crate::state::handle_slot::HandleSlot;
use crate::state::open_group;
use crate::state::shared_resources::Family;

const SPLIT: &str = "ncclCommSplit";
const SHRINK: &str = "ncclCommShrink";
const GROW: &str = "ncclCommGrow";

/// No configuration: a child has its parent's, for which each call returns at once as well.
const OF_PARENT: *mut ncclConfig_t = ptr::null_mut();

/// The fate of operations in flight when a communicator shrinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShrinkMode {
    /// There are none: all ranks are alive and have waited for theirs.
    Idle,
    /// They are given up, because ranks are gone. The old communicator is aborted.
    Abort,
}

impl NcclCommunicator {
    /// One new communicator for each color, in which ranks are ordered by `key`, then by rank here.
    /// Collective.
    ///
    /// A rank that passes `None` for the color gets `None`; every other gets a communicator. It has
    /// this one's options; it may outlive this one, and is aborted with it only if they
    /// [share](NcclOptions::split_share) resources.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for a color above 2³¹ − 1; [`ErrorKind::NotInLibrary`] before NCCL
    /// 2.18; what NCCL reports; [`ErrorKind::TimedOut`], which aborts this communicator.
    #[doc(alias = "ncclCommSplit")]
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>> {
        let color = color
            .map_or(Ok(NCCL_SPLIT_NOCOLOR), c_int::try_from)
            .map_err(|_| {
                let text = format_args!("color {color:?} is above {}", c_int::MAX);
                Error::new(ErrorKind::Argument, SPLIT, text)
            })?;
        let family = self.shared().family.of_split();
        let child = self.child(SPLIT, family, Parent::Settles, |table, comm, slot| {
            let function = table.ncclCommSplit?;
            // SAFETY: the parent is not freed meanwhile; the slot is one of `child`.
            Some(unsafe { function(comm, color, key, slot, OF_PARENT) })
        })?;
        match (child, color) {
            (None, NCCL_SPLIT_NOCOLOR) => Ok(None),
            (None, _) => Err(Error::new(
                ErrorKind::Library,
                SPLIT,
                "the library made no communicator for a rank with a color",
            )),
            (child, _) => Ok(child),
        }
    }

    /// A communicator of all ranks but those in `exclude`, in the same order. Called by all that
    /// stay, with the same list.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] for a rank that is not here, [`ErrorKind::Argument`] if this rank is
    /// excluded or one is named twice; [`ErrorKind::NotInLibrary`] before NCCL 2.27; what NCCL
    /// reports; [`ErrorKind::TimedOut`], which aborts this communicator.
    #[doc(alias = "ncclCommShrink")]
    pub fn shrink(&self, exclude: &[usize], mode: ShrinkMode) -> Result<Self> {
        let mut excluded = self.excluded(exclude)?;
        let (flags, parent) = match mode {
            ShrinkMode::Idle => (NCCL_SHRINK_DEFAULT, Parent::Settles),
            ShrinkMode::Abort => (NCCL_SHRINK_ABORT, Parent::Ends),
        };
        let family = match mode {
            ShrinkMode::Idle => self.shared().family.of_shrunk(),
            ShrinkMode::Abort => self.shared().family.apart(),
        };
        let count = c_int::try_from(excluded.len()).unwrap_or(c_int::MAX);
        let child = self.child(SHRINK, family, parent, |table, comm, slot| {
            let function = table.ncclCommShrink?;
            let list = excluded.as_mut_ptr();
            // SAFETY: the list has `count` numbers and outlives the wait in `child`; the rest as in
            // `split`.
            Some(unsafe { function(comm, list, count, slot, OF_PARENT, flags) })
        })?;
        child.ok_or_else(|| none_made(SHRINK))
    }

    /// An id by which new ranks join this communicator when it [grows](Self::grow). One rank makes
    /// it, and sends it to all new ones.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] before NCCL 2.29; what NCCL reports.
    #[doc(alias = "ncclCommGetUniqueId")]
    pub fn growth_id(&self) -> Result<NcclId> {
        const CALL: &str = "ncclCommGetUniqueId";
        let mut id = ncclUniqueId::zeroed();
        self.shared().call(CALL, |table, comm| {
            let function = table.ncclCommGetUniqueId?;
            // SAFETY: it writes one id to the address of one.
            Some(unsafe { function(comm, &raw mut id) })
        })?;
        Ok(NcclId::of(id))
    }

    /// A communicator of these ranks, which keep their numbers, and new ones: `size` in all.
    /// Collective, together with [`join`](Self::join) of the new ones. The rank that made the
    /// [id](Self::growth_id) passes it; the others pass `None`.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] unless `size` is larger than this communicator's;
    /// [`ErrorKind::NotInLibrary`] before NCCL 2.29; what NCCL reports; [`ErrorKind::TimedOut`],
    /// which aborts this communicator.
    #[doc(alias = "ncclCommGrow")]
    pub fn grow(&self, size: usize, id: Option<NcclId>) -> Result<Self> {
        let ranks = c_int::try_from(size).ok().filter(|_| size > self.size());
        let ranks = ranks.ok_or_else(|| {
            let text = format_args!("{} cannot grow to {size}", Count(self.size(), "rank"));
            Error::new(ErrorKind::Length, GROW, text)
        })?;
        let id = id.map(NcclId::native);
        let family = self.shared().family.apart();
        let child = self.child(GROW, family, Parent::Settles, |table, comm, slot| {
            let function = table.ncclCommGrow?;
            let id = id.as_ref().map_or(ptr::null(), ptr::from_ref);
            // SAFETY: the id outlives the wait in `child`; the rest as in `split`.
            Some(unsafe { function(comm, ranks, id, -1, slot, OF_PARENT) })
        })?;
        child.ok_or_else(|| none_made(GROW))
    }

    /// Joins a communicator that grows: as `rank` of `size`, on the GPU with the number `device`.
    /// Collective with [`grow`](Self::grow).
    ///
    /// # Errors
    /// As [`with_id`](Self::with_id) and [`grow`](Self::grow).
    #[doc(alias = "ncclCommGrow")]
    pub fn join(
        id: NcclId,
        rank: usize,
        size: usize,
        device: usize,
        options: &NcclOptions,
    ) -> Result<Self> {
        open_group::none_open(GROW)?;
        let place = RankOnDevice { rank, size, device };
        let id = id.native();
        Means::find(device, options)?.join(GROW, place, |joining| {
            joining.begin_by(GROW, |table, slot, (rank, size), config| {
                let grow = table.ncclCommGrow?;
                // SAFETY: there is no parent here, and the id outlives `join`; slot and
                // configuration are those of `begin_by`.
                Some(unsafe { grow(ptr::null_mut(), size, &raw const id, rank, slot, config) })
            })
        })
    }

    fn excluded(&self, exclude: &[usize]) -> Result<Vec<c_int>> {
        let mut sorted = exclude.to_vec();
        sorted.sort_unstable();
        let (rank, size) = (self.rank(), self.size());
        if let Some(beyond) = sorted.iter().find(|&&one| one >= size) {
            let text = format_args!("there is no rank {beyond} among {}", Count(size, "rank"));
            return Err(Error::new(ErrorKind::Rank, SHRINK, text));
        }
        if sorted.windows(2).any(|two| two.first() == two.last()) || sorted.contains(&rank) {
            let text = format_args!(
                "{exclude:?} names this rank ({rank}) or another one twice; ranks that go do not call this"
            );
            return Err(Error::new(ErrorKind::Argument, SHRINK, text));
        }
        Ok(sorted
            .into_iter()
            .filter_map(|one| c_int::try_from(one).ok())
            .collect())
    }

    /// Makes a communicator of this one: calls the library, and waits until both are at rest.
    fn child(
        &self,
        operation: &'static str,
        family: Family,
        parent: Parent,
        make: impl FnOnce(&Table, ncclComm_t, *mut ncclComm_t) -> Option<ncclResult_t>,
    ) -> Result<Option<Self>> {
        open_group::none_open(operation)?;
        let shared = self.shared();
        let child = || self.child_unobserved(operation, family, parent, make);
        observed(&shared.track, || operation.into(), child)
    }

    fn child_unobserved(
        &self,
        operation: &'static str,
        family: Family,
        parent: Parent,
        make: impl FnOnce(&Table, ncclComm_t, *mut ncclComm_t) -> Option<ncclResult_t>,
    ) -> Result<Option<Self>> {
        let shared = self.shared();
        let mut deadline = Deadline::after(shared.time_limit());
        let mut joining = Joining {
            nccl: shared.nccl(),
            slot: HandleSlot::empty(),
            context: shared.context().clone(),
            place: None,
            time_limit: shared.time_limit(),
            config: shared.nccl().config(),
            names: Arc::clone(&shared.names),
            family,
        };
        let _turn = shared.take_turn(operation)?;
        let _current = shared
            .context()
            .enter()
            .map_err(|error| of_driver(operation, error))?;
        let slot = joining.slot.address();
        let code = shared.make(operation, |table, comm| make(table, comm, slot))?;
        if code != ncclSuccess && code != ncclInProgress {
            return Err(shared.failed(operation, code));
        }
        if parent == Parent::Settles {
            shared.settle(operation)?;
        }
        if joining.slot.handle().is_none() && parent == Parent::Settles {
            return Ok(None);
        }
        let child = joining.finish(operation, &mut deadline);
        match (&child, parent) {
            (Ok(_), Parent::Settles) => {}
            (Ok(_), Parent::Ends) => {
                shared.end_by_abort("it was shrunk, and what was under way on it given up")
            }
            (Err(error), _) => shared.abort_because(&error.to_string()),
        }
        child.map(Some)
    }
}

#[cold]
fn none_made(operation: &'static str) -> Error {
    let text = "the library made no communicator";
    Error::new(ErrorKind::Library, operation, text)
}

/// The fate of the communicator that another one is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parent {
    /// It goes on, once the library says so.
    Settles,
    /// It is aborted.
    Ends,
}
