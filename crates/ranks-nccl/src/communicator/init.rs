//! The making of communicators.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int};
use std::sync::Arc;
use std::time::Duration;

use ranks_bootstrap::Bootstrap;
use ranks_bootstrap::backend::{all_succeed, same_version};
use ranks_comm::backend::{Count, observed, opened};
use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{Context, Cuda};
use ranks_nccl_sys::{
    Nccl, Table, ncclComm_t, ncclConfig_t, ncclInProgress, ncclResult_t, ncclSuccess, version_text,
};
use ranks_raw::backend::Deadline;

use super::id::NcclId;
use crate::communicator::NcclCommunicator;
use crate::error::{Caller, RankOnDevice, check, failure, missing, of_driver};
use crate::options::NcclOptions;
use crate::options::config::{Config, none_may_block};
use crate::state::deferred_destroy::{standing_of, tidy};
use crate::state::handle_slot::HandleSlot;
use crate::state::open_group;
use crate::state::shared_resources::Family;
use crate::state::{Handle, Shared, abort_handle};

const INIT: &str = "ncclCommInitRankConfig";

impl NcclCommunicator {
    /// Makes this rank of a communicator of all ranks of `bootstrap`, on the GPU with the number
    /// `device`. Collective.
    ///
    /// The ranks tell each other first that each of them has the library, a driver and the GPU; a
    /// rank that does not come to that is waited for as long as the bootstrap waits, and one that
    /// does not come afterwards as long as the time limit says.
    ///
    /// # Errors
    /// The same on every rank if one of them cannot take part: [`ErrorKind::NotAvailable`] without
    /// NCCL, CUDA or a GPU, [`ErrorKind::Argument`] for a GPU that is not there,
    /// [`ErrorKind::NotInLibrary`] for an option of a later release, [`ErrorKind::Mismatch`] if the
    /// ranks have different releases. What NCCL reports; [`ErrorKind::TimedOut`].
    #[doc(alias = "ncclCommInitRankConfig")]
    #[doc(alias = "ncclCommInitRank")]
    pub fn new(bootstrap: &dyn Bootstrap, device: usize, options: &NcclOptions) -> Result<Self> {
        let place = RankOnDevice {
            rank: bootstrap.rank(),
            size: bootstrap.size(),
            device,
        };
        let means = open_group::none_open(INIT).and_then(|()| Means::find(device, options));
        let version = match &means {
            Ok(means) => Ok(means.nccl.version().to_le_bytes().to_vec()),
            Err(error) => Err(Error::with_text(error.kind(), INIT, error.to_string())),
        };
        let said = all_succeed(bootstrap, INIT, version)?;
        let means = means?;
        same_version(INIT, ("NCCL", "RANKS_NCCL"), &said, version_in)?;
        let id = if place.rank == 0 {
            NcclId::new(means.nccl)
                .and_then(|id| none_may_block(INIT).map(|()| id.to_bytes().to_vec()))
        } else {
            Ok(Vec::new())
        };
        let said = all_succeed(bootstrap, INIT, id)?;
        let id = NcclId::from_bytes(said.first().map_or(&[], Vec::as_slice))?;
        means.join(INIT, place, |joining| joining.begin(id))
    }

    /// The same for ranks that have shared an [id](NcclId::new) on their own. Collective; nothing
    /// is agreed on before.
    ///
    /// # Errors
    /// As [`new`](Self::new), but each rank's its own; a rank that does not come is waited for as
    /// long as the time limit says.
    #[doc(alias = "ncclCommInitRankConfig")]
    pub fn with_id(
        id: NcclId,
        rank: usize,
        size: usize,
        device: usize,
        options: &NcclOptions,
    ) -> Result<Self> {
        open_group::none_open(INIT)?;
        let place = RankOnDevice { rank, size, device };
        Means::find(device, options)?.join(INIT, place, |joining| joining.begin(id))
    }

    /// Makes all ranks of a communicator in this process, one for each of `devices`, in their
    /// order.
    ///
    /// Operations on them belong into one [`group`](crate::group()), or each to a thread of its
    /// own.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if `devices` is empty; else as [`new`](Self::new). No communicator
    /// is left behind.
    #[doc(alias = "ncclCommInitAll")]
    pub fn on_devices(devices: &[usize], options: &NcclOptions) -> Result<Vec<Self>> {
        open_group::none_open(INIT)?;
        let means: Vec<Means> = devices
            .iter()
            .map(|&device| Means::find(device, options))
            .collect::<Result<_>>()?;
        let Some(first) = means.first() else {
            let text = "there are no devices to make a communicator on";
            return Err(Error::new(ErrorKind::Argument, INIT, text));
        };
        let (nccl, size) = (first.nccl, devices.len());
        let id = NcclId::new(nccl)?;
        none_may_block(INIT)?;
        let mut joining: Vec<Joining> = Vec::with_capacity(size);
        open_group::start_in(nccl)?;
        let mut outcome = Ok(());
        for (rank, means) in means.into_iter().enumerate() {
            let device = means.device();
            let mut one = means.joining(RankOnDevice { rank, size, device });
            outcome = one.begin(id);
            // One that was begun lasts until the group is over, whatever becomes of it.
            joining.push(one);
            if outcome.is_err() {
                break;
            }
        }
        let ended = open_group::end_in(nccl)?;
        if outcome.is_err() {
            open_group::end_left_open(nccl);
        }
        outcome?;
        check(nccl, "ncclGroupEnd", ended, Caller::Nobody)?;
        let mut deadline = Deadline::after(options.time_limit);
        joining
            .into_iter()
            .map(|one| one.finish(INIT, &mut deadline))
            .collect()
    }
}

/// The version that a rank has told.
fn version_in(words: &[u8]) -> Option<String> {
    words
        .try_into()
        .ok()
        .map(i32::from_le_bytes)
        .map(version_text)
}

/// All that a rank needs to take part.
pub(crate) struct Means {
    pub(crate) nccl: &'static Nccl,
    pub(crate) context: Context,
    config: Config,
    time_limit: Option<Duration>,
    family: Family,
}

impl Means {
    pub(crate) fn find(device: usize, options: &NcclOptions) -> Result<Self> {
        tidy();
        let nccl = match options.nccl {
            Some(nccl) => nccl,
            None => Nccl::load().map_err(|error| {
                Error::new(ErrorKind::NotAvailable, INIT, &error).with_source(error)
            })?,
        };
        opened(&format!("NCCL {}", nccl.version_text()), nccl.path());
        let config = Config::of(options, nccl)?;
        let cuda = match options.cuda {
            Some(cuda) => cuda,
            None => Cuda::load().map_err(|error| of_driver(INIT, error))?,
        };
        if cuda
            .device_count()
            .map_err(|error| of_driver(INIT, error))?
            == 0
        {
            let text = "the CUDA driver finds no GPU here; CUDA_VISIBLE_DEVICES may hide it";
            return Err(Error::new(ErrorKind::NotAvailable, INIT, text));
        }
        let found = cuda.device(device).and_then(|device| device.context());
        Ok(Self {
            nccl,
            context: found.map_err(|error| of_driver(INIT, error))?,
            config,
            time_limit: options.time_limit,
            family: Family::new(options.sharing()),
        })
    }

    fn device(&self) -> usize {
        self.context.device().ordinal()
    }

    /// Makes a communicator, whose making `begin` begins.
    pub(crate) fn join(
        self,
        operation: &'static str,
        place: RankOnDevice,
        begin: impl FnOnce(&mut Joining) -> Result<()>,
    ) -> Result<NcclCommunicator> {
        let mut deadline = Deadline::after(self.time_limit);
        let nccl = self.nccl;
        let mut joining = self.joining(place);
        let join = || {
            begin(&mut joining).inspect_err(|_| open_group::end_left_open(nccl))?;
            joining.finish(operation, &mut deadline)
        };
        observed(&place.track(), || operation.into(), join)
    }

    /// A communicator that is about to be made.
    fn joining(self, place: RankOnDevice) -> Joining {
        Joining {
            nccl: self.nccl,
            slot: HandleSlot::empty(),
            context: self.context,
            place: Some(place),
            time_limit: self.time_limit,
            config: self.config.native,
            names: self.config.names,
            family: self.family,
        }
    }
}

/// A communicator that the library is making. If it is dropped before it is
/// [finished](Self::finish), it is aborted.
pub(crate) struct Joining {
    pub(crate) nccl: &'static Nccl,
    pub(crate) slot: HandleSlot,
    pub(crate) context: Context,
    /// Found out when it is made if it is not known.
    pub(crate) place: Option<RankOnDevice>,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) config: ncclConfig_t,
    pub(crate) names: Arc<[CString]>,
    pub(crate) family: Family,
}

impl Joining {
    fn begin(&mut self, id: NcclId) -> Result<()> {
        self.begin_by(INIT, |table, slot, (rank, size), config| {
            let init = table.ncclCommInitRankConfig?;
            // SAFETY: slot and configuration are those of `begin_by`.
            Some(unsafe { init(slot, size, id.native(), rank, config) })
        })
    }

    /// Begins to make it by a call that is given a slot, rank and size, and a configuration.
    ///
    /// The slot stays where it is until the communicator is made or aborted, and so do the names
    /// that the configuration points at; the configuration itself is read during the call.
    pub(crate) fn begin_by(
        &mut self,
        operation: &'static str,
        call: impl FnOnce(
            &Table,
            *mut ncclComm_t,
            (c_int, c_int),
            *mut ncclConfig_t,
        ) -> Option<ncclResult_t>,
    ) -> Result<()> {
        let (caller, numbers) = (self.caller(), self.numbers(operation)?);
        let current = self.context.enter();
        let _current = current.map_err(|error| of_driver(operation, error))?;
        let (slot, config) = (self.slot.address(), &raw mut self.config);
        let code = call(self.nccl.table(), slot, numbers, config);
        let code = code.ok_or_else(|| missing(self.nccl, operation))?;
        check(self.nccl, operation, code, caller)
    }

    /// Rank and size as the library counts.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] unless the rank is one of so many.
    fn numbers(&self, operation: &'static str) -> Result<(c_int, c_int)> {
        let (rank, size) = self.place.map_or((0, 0), |place| (place.rank, place.size));
        match (c_int::try_from(rank), c_int::try_from(size)) {
            (Ok(native), Ok(count)) if rank < size => Ok((native, count)),
            _ => {
                let text = format_args!("there is no rank {rank} among {}", Count(size, "rank"));
                Err(Error::new(ErrorKind::Rank, operation, text))
            }
        }
    }

    /// Waits until it is made.
    pub(crate) fn finish(
        mut self,
        operation: &'static str,
        deadline: &mut Deadline,
    ) -> Result<NcclCommunicator> {
        let comm = self.made(operation, deadline)?;
        none_may_block(operation)?;
        let place = match self.place {
            Some(place) => place,
            None => self.find_place(operation, comm)?,
        };
        // From here on it belongs to the communicator.
        self.slot = HandleSlot::empty();
        let context = self.context.clone();
        let (names, family) = (Arc::clone(&self.names), self.family.clone());
        let shared = Shared::new(
            self.nccl,
            comm,
            context,
            place,
            self.time_limit,
            names,
            family,
        );
        Ok(NcclCommunicator::of(shared))
    }

    fn made(&self, operation: &'static str, deadline: &mut Deadline) -> Result<Handle> {
        loop {
            if let Some(comm) = self.slot.handle() {
                let standing = standing_of(self.nccl, comm.as_ptr());
                if standing == ncclSuccess {
                    return Ok(Handle(comm));
                }
                if standing != ncclInProgress {
                    return Err(failure(self.nccl, operation, standing, self.caller()));
                }
            }
            if let Some(limit) = deadline.pause() {
                let text = format_args!(
                    "timed out after {limit:?}{}: not all ranks have come, and the communicator was given up",
                    self.caller()
                );
                return Err(Error::new(ErrorKind::TimedOut, operation, text));
            }
        }
    }

    /// Asks the library for what it has numbered itself.
    fn find_place(&self, operation: &'static str, comm: Handle) -> Result<RankOnDevice> {
        let (mut rank, mut size) = (0, 0);
        let table = self.nccl.table();
        let of_rank = table
            .ncclCommUserRank
            .ok_or_else(|| missing(self.nccl, operation))?;
        let of_size = table
            .ncclCommCount
            .ok_or_else(|| missing(self.nccl, operation))?;
        // SAFETY: the communicator is made, nobody else has it, and it writes one int to the
        // address of one.
        let code = unsafe { of_rank(comm.0.as_ptr(), &raw mut rank) };
        check(self.nccl, "ncclCommUserRank", code, Caller::Nobody)?;
        // SAFETY: as above.
        let code = unsafe { of_size(comm.0.as_ptr(), &raw mut size) };
        check(self.nccl, "ncclCommCount", code, Caller::Nobody)?;
        match (usize::try_from(rank), usize::try_from(size)) {
            (Ok(rank), Ok(size)) => Ok(RankOnDevice {
                rank,
                size,
                device: self.context.device().ordinal(),
            }),
            _ => {
                let text = format_args!("the library says rank {rank} of {size}");
                Err(Error::new(ErrorKind::Library, operation, text))
            }
        }
    }

    pub(crate) fn caller(&self) -> Caller {
        self.place.map_or(Caller::Nobody, Caller::Rank)
    }
}

impl Drop for Joining {
    fn drop(&mut self) {
        if let Some(comm) = self.slot.handle() {
            abort_handle(self.nccl, &self.context, Handle(comm));
        }
    }
}
