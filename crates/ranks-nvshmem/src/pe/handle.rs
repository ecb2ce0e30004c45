//! The handle of a PE.

use std::fmt;

use ranks_bootstrap::Bootstrap;
use ranks_comm::Result;
use ranks_cuda::Context;

use crate::backend::Backend;
use crate::pe::Pe;
use crate::pe::deferred_free::Dropped;

/// This PE of a symmetric heap.
///
/// It stays on the thread that has made it: NVSHMEM lets one thread at a time call, and what
/// belongs to the heap borrows this.
///
/// ```compile_fail,E0277
/// fn is_send<T: Send>() {}
/// is_send::<ranks::nvshmem::Nvshmem<'_>>();
/// ```
///
/// ```compile_fail,E0277
/// fn is_sync<T: Sync>() {}
/// is_sync::<ranks::nvshmem::Nvshmem<'_>>();
/// ```
///
/// It ends by [`finalize`](Self::finalize), which is collective. A handle that is dropped without
/// it is parked, because no `drop` waits for others: [`resume`](Self::resume) takes it up again.
pub struct Nvshmem<'b> {
    bootstrap: &'b dyn Bootstrap,
    /// Taken when this ends.
    pe: Option<Pe>,
}

impl<'b> Nvshmem<'b> {
    pub(crate) fn of(bootstrap: &'b dyn Bootstrap, pe: Pe) -> Self {
        let pe = Some(pe);
        Self { bootstrap, pe }
    }

    /// This PE's number, from 0.
    #[doc(alias = "nvshmem_my_pe")]
    #[must_use]
    pub fn my_pe(&self) -> usize {
        self.pe().my_pe
    }

    /// The number of PEs.
    #[doc(alias = "nvshmem_n_pes")]
    #[must_use]
    pub fn n_pes(&self) -> usize {
        self.pe().n_pes
    }

    /// The name of the heap's backend: `NVSHMEM 3.8.0`, or `in process`.
    #[must_use]
    pub fn backend_name(&self) -> String {
        self.pe().backend().facts().name.clone()
    }

    /// Returns whether several PEs share a GPU without MPS. Teams, their operations, and waits of
    /// streams for signals are then an `Err`: NVSHMEM would end the process.
    #[doc(alias = "nvshmemx_init_status")]
    #[must_use]
    pub fn limited(&self) -> bool {
        self.pe().limited
    }

    /// That of this PE's device, to make streams and other memory in; none in process.
    #[must_use]
    pub fn context(&self) -> Option<&Context> {
        self.pe().backend().facts().context.as_ref()
    }

    pub(crate) fn pe(&self) -> &Pe {
        match &self.pe {
            Some(pe) => pe,
            None => unreachable!("the PE is taken by what ends the handle alone"),
        }
    }

    /// The backend that `operation` is called on: see [`Pe::begin`].
    #[inline]
    pub(crate) fn begin(&self, operation: &'static str) -> Result<&dyn Backend> {
        self.pe().begin(operation)
    }

    /// This ends the handle.
    pub(crate) fn take(&mut self) -> Option<Pe> {
        self.pe.take()
    }

    /// The bootstrap over which all PEs tell each other things.
    pub(crate) fn bootstrap(&self) -> &'b dyn Bootstrap {
        self.bootstrap
    }

    /// To be freed when all PEs have dropped it.
    pub(crate) fn put_aside(&self, dropped: Dropped) {
        self.pe().dropped.borrow_mut().push(dropped);
    }
}

impl fmt::Debug for Nvshmem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nvshmem")
            .field("my_pe", &self.my_pe())
            .field("n_pes", &self.n_pes())
            .field("backend", &self.backend_name())
            .finish_non_exhaustive()
    }
}
