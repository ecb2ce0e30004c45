//! Initialization of NVSHMEM: by an id that the first PE makes, and tells the others over the
//! bootstrap.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Mutex;

use ranks_bootstrap::Bootstrap;
use ranks_bootstrap::backend::all_succeed;
use ranks_comm::backend::opened;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{Context, Cuda};
use ranks_nvshmem_sys::{
    NVSHMEM_STATUS_IS_INITIALIZED, NVSHMEM_STATUS_LIMITED_MPG, NVSHMEMX_INIT_WITH_UNIQUEID,
    NvshmemLibrary, UNIQUEID_BYTES, nvshmemx_init_attr_t, nvshmemx_uniqueid_t,
};

use super::{LibraryHeap, refused};
use crate::backend::library::free_memory::Room;
use crate::backend::library::init_state::{self, InitState};
use crate::backend::names::INIT;
use crate::backend::options::NvshmemOptions;
use crate::backend::{Backend, Facts};
use crate::call::error::of_driver;

const GET_ID: &str = "nvshmemx_get_uniqueid";
/// The file whose content differs between hosts, and not between containers of one.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
const SET_ID: &str = "nvshmemx_set_attr_uniqueid_args";

/// Contexts that the library works in, for as long as the process lives: what it does at the end of
/// the process is done there.
static CONTEXTS: Mutex<Vec<Context>> = Mutex::new(Vec::new());

/// The state that a PE needs to take part. Nothing of NVSHMEM was called for it that is not a
/// question.
pub(crate) struct Prepared {
    library: &'static NvshmemLibrary,
    context: Context,
}

impl Prepared {
    pub(crate) fn find(bootstrap: &dyn Bootstrap, options: &NvshmemOptions) -> Result<Self> {
        init_state::check(INIT)?;
        let library = match options.library {
            Some(library) => library,
            None => NvshmemLibrary::load().map_err(|error| {
                Error::new(ErrorKind::NotAvailable, INIT, &error).with_source(error)
            })?,
        };
        opened(
            &format!("NVSHMEM {}", library.version_text()),
            library.path(),
        );
        let failed = |error| of_driver(INIT, error);
        let cuda = match options.cuda {
            Some(cuda) => cuda,
            None => Cuda::load().map_err(failed)?,
        };
        let count = cuda.device_count().map_err(failed)?;
        if count == 0 {
            let text = "the CUDA driver finds no GPU here; CUDA_VISIBLE_DEVICES may hide it";
            return Err(Error::new(ErrorKind::NotAvailable, INIT, text));
        }
        let ordinal = options.device.unwrap_or(bootstrap.rank() % count);
        let context = cuda.device(ordinal).and_then(|device| device.context());
        let context = context.map_err(failed)?;
        Ok(Self { library, context })
    }

    pub(crate) fn name(&self) -> String {
        self.library.version_text()
    }

    /// Begins it. Collective.
    ///
    /// # Errors
    /// The same on all PEs; from the call of the library on it is not tried again.
    pub(crate) fn join(self, bootstrap: &dyn Bootstrap) -> Result<Box<dyn Backend>> {
        let host = std::fs::read(BOOT).unwrap_or_default();
        let hosts = all_succeed(bootstrap, INIT, Ok(host.clone()))?;
        let beside = hosts.iter().filter(|other| **other == host).count();
        let id = if bootstrap.rank() == 0 {
            self.make_id()
        } else {
            Ok(Vec::new())
        };
        let said = all_succeed(bootstrap, GET_ID, id)?;
        let attr = self.attr(bootstrap, said.first().map_or(&[], Vec::as_slice));
        let claimed = attr.and_then(|attr| init_state::claim(INIT).map(|()| attr));
        let attr = told(bootstrap, claimed, |_| {
            init_state::becomes(InitState::Unused);
        })?;
        let begun = self.begin(attr, bootstrap, beside);
        told(bootstrap, begun, |_| ())
            .map(|heap| Box::new(heap) as Box<dyn Backend>)
            .inspect_err(|error| init_state::becomes(InitState::Failed(error.to_string())))
    }

    /// A new id. The process that makes it listens for the others from now on.
    fn make_id(&self) -> Result<Vec<u8>> {
        let get_id = self.function(GET_ID, self.library.table().nvshmemx_get_uniqueid)?;
        let mut id = nvshmemx_uniqueid_t::zeroed();
        // SAFETY: it may be called at any time, and writes one id to where the address says.
        let code = unsafe { get_id(&raw mut id) };
        self.check(GET_ID, code)?;
        Ok(id.to_bytes().to_vec())
    }

    /// Makes the attributes of the initialization. Both the attributes and the id, whose address
    /// the library keeps, stay for ever.
    fn attr(
        &self,
        bootstrap: &dyn Bootstrap,
        id: &[u8],
    ) -> Result<&'static mut nvshmemx_init_attr_t> {
        let table = self.library.table();
        let set_id = self.function(SET_ID, table.nvshmemx_set_attr_uniqueid_args)?;
        let bytes: [u8; UNIQUEID_BYTES] = id.try_into().map_err(|_| {
            let bytes = id.len();
            let text = format_args!("PE 0 sent {bytes} bytes, which are no id");
            Error::new(ErrorKind::Mismatch, SET_ID, text)
        })?;
        let number = |number: usize| {
            c_int::try_from(number).map_err(|_| {
                let text = format_args!("{number} is more than NVSHMEM can count");
                Error::new(ErrorKind::Rank, SET_ID, text)
            })
        };
        let (rank, size) = (number(bootstrap.rank())?, number(bootstrap.size())?);
        let device = number(self.context.device().ordinal())?;
        let id = Box::leak(Box::new(nvshmemx_uniqueid_t::from_bytes(bytes)));
        let attr = Box::leak(Box::new(self.library.attr()));
        // SAFETY: both stay for ever, and it writes to the attributes alone.
        let code = unsafe { set_id(rank, size, &raw mut *id, &raw mut *attr) };
        self.check(SET_ID, code)?;
        if self.library.attr_has_device() {
            attr.args.cuda_device_id = device;
        }
        Ok(attr)
    }

    /// Calls the library. So many PEs are on this host.
    fn begin(
        &self,
        attr: &'static mut nvshmemx_init_attr_t,
        bootstrap: &dyn Bootstrap,
        beside: usize,
    ) -> Result<LibraryHeap> {
        let table = self.library.table();
        let init = self.function(INIT, table.nvshmemx_hostlib_init_attr)?;
        let status = self.function("nvshmemx_init_status", table.nvshmemx_init_status)?;
        let my_pe = self.function("nvshmem_my_pe", table.nvshmem_my_pe)?;
        let n_pes = self.function("nvshmem_n_pes", table.nvshmem_n_pes)?;
        let entered = self.context.enter();
        let _entered = entered.map_err(|error| of_driver(INIT, error))?;
        let contexts = CONTEXTS.lock();
        contexts
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(self.context.clone());
        // SAFETY: the attributes and the id in them stay for ever; the device is bound, and all PEs
        // have said that they come.
        let code = unsafe { init(NVSHMEMX_INIT_WITH_UNIQUEID, &raw mut *attr) };
        // SAFETY: it may be called at any time.
        let status = unsafe { status() };
        if code != 0 {
            return Err(refused(self.library, INIT, code));
        }
        if status < NVSHMEM_STATUS_IS_INITIALIZED {
            let (version, path) = (self.library.version(), self.library.path().display());
            let text = format_args!(
                "NVSHMEM reports success, and is not initialised (status {status}): it finds no GPU that it can use (NVSHMEM {version}, {path}); \
                 set NVSHMEM_DEBUG=INFO to see more"
            );
            return Err(Error::new(ErrorKind::Library, INIT, text));
        }
        // SAFETY: the library is initialised.
        let (my_pe, n_pes) = (unsafe { my_pe() }, unsafe { n_pes() });
        let place = (usize::try_from(my_pe), usize::try_from(n_pes));
        let (rank, size) = (bootstrap.rank(), bootstrap.size());
        if place != (Ok(rank), Ok(size)) {
            let text = format_args!(
                "NVSHMEM says PE {my_pe} of {n_pes}, and the bootstrap rank {rank} of {size}"
            );
            return Err(Error::new(ErrorKind::Library, INIT, text));
        }
        Ok(LibraryHeap {
            library: self.library,
            context: self.context.clone(),
            facts: Facts {
                my_pe: rank,
                n_pes: size,
                name: format!("NVSHMEM {}", self.name()),
                limited: status == NVSHMEM_STATUS_LIMITED_MPG,
                context: Some(self.context.clone()),
            },
            // From this status on PEs share GPUs, and nobody says which of those on this host.
            room: Room::of(
                self.library.version(),
                if status >= NVSHMEM_STATUS_LIMITED_MPG {
                    beside
                } else {
                    1
                },
            ),
            all_near: Cell::new(None),
        })
    }

    fn function<F>(&self, name: &'static str, function: Option<F>) -> Result<F> {
        function.ok_or_else(|| {
            Error::with_text(ErrorKind::NotInLibrary, name, self.library.lacks(name))
        })
    }

    fn check(&self, name: &'static str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        Err(refused(self.library, name, code))
    }
}

/// Tells the others whether this PE has succeeded; what it has is given up by `undo` if another has
/// not. Collective.
fn told<T>(bootstrap: &dyn Bootstrap, mine: Result<T>, undo: impl FnOnce(T)) -> Result<T> {
    let said = match &mine {
        Ok(_) => Ok(Vec::new()),
        Err(error) => Err(Error::with_text(error.kind(), INIT, error.to_string())),
    };
    match (all_succeed(bootstrap, INIT, said), mine) {
        (Ok(_), mine) => mine,
        (Err(error), mine) => {
            if let Ok(mine) = mine {
                undo(mine);
            }
            Err(error)
        }
    }
}
