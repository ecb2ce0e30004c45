//! Initialization and finalization of a heap.

use std::cell::{Cell, RefCell};

use ranks_bootstrap::Bootstrap;
use ranks_bootstrap::backend::{all_succeed, same_version};
use ranks_comm::backend::{Track, checks, observed};
use ranks_comm::{Checks, Error, ErrorKind, Result};

use crate::backend::in_process::Heap;
use crate::backend::library;
use crate::backend::names::{FINALIZE, INIT};
use crate::backend::options::NvshmemOptions;
use crate::pe::Pe;
use crate::pe::handle::Nvshmem;

thread_local! {
    /// True if this thread has a PE, parked or not.
    static TAKEN: Cell<bool> = const { Cell::new(false) };
    /// The PE whose handle was dropped.
    static PARKED: RefCell<Option<Pe>> = const { RefCell::new(None) };
}

impl<'b> Nvshmem<'b> {
    /// Makes this PE of a symmetric heap of all ranks of `bootstrap`. Collective.
    ///
    /// The PEs tell each other first that each of them has the library, a driver and a GPU; nothing
    /// of NVSHMEM is called before, since it would wait for ever for one that does not come.
    ///
    /// A thread has one PE at a time. NVSHMEM itself can be started once in the life of a process.
    ///
    /// # Errors
    /// The same on all PEs if one of them cannot take part: [`ErrorKind::NotAvailable`] without
    /// NVSHMEM, CUDA or a GPU; [`ErrorKind::Argument`] for a GPU that is not there, where there is
    /// a heap already, and if `RANKS_BACKEND` or `RANKS_CHECK` says nothing that is known;
    /// [`ErrorKind::Mismatch`] if the PEs have different releases; [`ErrorKind::Finalized`] after
    /// the end of another. [`ErrorKind::Library`] if NVSHMEM could not be started, and from then
    /// on: then it can be neither used nor ended, and the process goes on without it.
    #[doc(alias = "nvshmem_init")]
    #[doc(alias = "nvshmemx_init_attr")]
    #[doc(alias = "nvshmemx_hostlib_init_attr")]
    pub fn init(bootstrap: &'b dyn Bootstrap, options: &NvshmemOptions) -> Result<Self> {
        let means =
            compares().and_then(|compares| Ok((Means::find(bootstrap, options)?, compares)));
        let name = match &means {
            Ok((means, _)) => Ok(means.name().into_bytes()),
            Err(error) => Err(Error::with_text(error.kind(), INIT, error.to_string())),
        };
        let said = all_succeed(bootstrap, INIT, name)?;
        let (means, compares) = means?;
        same_version(INIT, ("NVSHMEM", "RANKS_NVSHMEM"), &said, |name| {
            String::from_utf8(name.to_vec()).ok()
        })?;
        let join = || match means {
            Means::InProcess => Heap::join(bootstrap, options),
            Means::Library(prepared) => prepared.join(bootstrap),
        };
        let track = Track::new("nvshmem", "NVSHMEM", bootstrap.rank(), bootstrap.size());
        let backend = observed(&track, || INIT.into(), join)?;
        TAKEN.set(true);
        Ok(Self::of(
            bootstrap,
            Pe::new(backend, track, options.time_limit, compares),
        ))
    }

    /// Takes up the handle that this thread has dropped without [finalizing](Self::finalize), over
    /// the same bootstrap or another of the same ranks. Not collective.
    ///
    /// # Errors
    /// [`ErrorKind::NotAvailable`] if this thread has dropped none, [`ErrorKind::Argument`] for a
    /// bootstrap in which it is another rank.
    pub fn resume(bootstrap: &'b dyn Bootstrap) -> Result<Self> {
        const RESUME: &str = "Nvshmem::resume";
        let parked = PARKED.with(RefCell::take).ok_or_else(|| {
            let text = "this thread has dropped no handle of a PE";
            Error::new(ErrorKind::NotAvailable, RESUME, text)
        })?;
        let (rank, size) = (bootstrap.rank(), bootstrap.size());
        if (rank, size) == (parked.my_pe, parked.n_pes) {
            return Ok(Self::of(bootstrap, parked));
        }
        let text = format_args!(
            "the bootstrap has this as rank {rank} of {size}, and it is PE {} of {}",
            parked.my_pe, parked.n_pes
        );
        let error = Error::new(ErrorKind::Argument, RESUME, text);
        PARKED.with(|place| place.replace(Some(parked)));
        Err(error)
    }

    /// Waits until all is over that was enqueued, and ends the heap. Collective.
    ///
    /// Everything of it is gone before: what belongs to the heap borrows this.
    ///
    /// ```compile_fail,E0505
    /// # fn f(pe: ranks::nvshmem::Nvshmem<'_>) -> ranks::Result<()> {
    /// let vec = pe.alloc::<f32>(8)?;
    /// pe.finalize()?;
    /// vec.to_vec().map(drop)
    /// # }
    /// ```
    ///
    /// # Errors
    /// The same on all PEs: [`ErrorKind::Mismatch`] if they do not call the same,
    /// [`ErrorKind::TimedOut`] if what was enqueued is not over in time. The handle is then parked,
    /// as if it had been dropped. What the bootstrap or the library report.
    #[doc(alias = "nvshmem_finalize")]
    #[doc(alias = "nvshmemx_hostlib_finalize")]
    pub fn finalize(mut self) -> Result<()> {
        let settled = self.pe().settle(FINALIZE);
        self.meet(FINALIZE, &[], settled)?;
        let outcome = self.begin(FINALIZE)?.finalize();
        drop(self.take());
        TAKEN.set(false);
        outcome
    }
}

impl Drop for Nvshmem<'_> {
    fn drop(&mut self) {
        if let Some(pe) = self.take() {
            pe.backend().is_parked();
            // At the end of a thread there is no place any more, and then it is given up.
            let _ = PARKED.try_with(|place| place.replace(Some(pe)));
        }
    }
}

/// Returns whether calls on a team of all PEs are compared: as `RANKS_CHECK` says, or in builds
/// with debug assertions.
///
/// # Errors
/// [`ErrorKind::Argument`] if `RANKS_CHECK` says nothing that is known.
fn compares() -> Result<bool> {
    let checks = checks(None);
    checks
        .map(|checks| checks != Checks::Local)
        .map_err(|error| Error::with_text(error.kind(), INIT, error.to_string()))
}

/// The means by which a PE takes part.
enum Means {
    InProcess,
    Library(library::Prepared),
}

impl Means {
    fn find(bootstrap: &dyn Bootstrap, options: &NvshmemOptions) -> Result<Self> {
        if TAKEN.get() {
            let text = "this thread has a PE already; one that was dropped without `finalize` is taken up by `Nvshmem::resume`";
            return Err(Error::new(ErrorKind::Argument, INIT, text));
        }
        if options.in_process(INIT)? {
            return Ok(Self::InProcess);
        }
        library::Prepared::find(bootstrap, options).map(Self::Library)
    }

    fn name(&self) -> String {
        match self {
            Self::InProcess => "in process".to_owned(),
            Self::Library(prepared) => prepared.name(),
        }
    }
}
