//! Ordering and completion of puts, and barriers of all PEs.

use ranks_comm::Result;

use crate::backend::Order;
use crate::backend::names::{
    BARRIER_ALL, BARRIER_ALL_ON_STREAM, FENCE, FLUSH, FLUSH_ON_STREAM, QUIET, QUIET_ON_STREAM,
    SYNC_ALL, SYNC_ALL_ON_STREAM,
};
use crate::pe::handle::Nvshmem;
use crate::stream::queue::Queue;

impl Nvshmem<'_> {
    /// Orders puts: those of this PE to a PE from now on arrive there after its earlier ones.
    /// Operations of streams are not ordered by it.
    ///
    /// # Errors
    /// Errors that the library reports.
    #[doc(alias = "nvshmem_fence")]
    pub fn fence(&self) -> Result<()> {
        self.reach(FENCE)?.backend.fence()
    }

    /// Waits until all has arrived that this PE has put by calls that are done when they return,
    /// and until those with `nbi` are complete.
    ///
    /// Operations enqueued on streams are not waited for: [`Queue::quiet`] does that.
    ///
    /// # Errors
    /// Errors that the library reports.
    #[doc(alias = "nvshmem_quiet")]
    pub fn quiet(&self) -> Result<()> {
        let reach = self.reach(QUIET)?;
        reach.backend.quiet(Order::Now)?;
        reach.pe.own.begun.set(false);
        Ok(())
    }

    /// Waits until what was put from by calls with `nbi` may be used again. It may not have
    /// arrived.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`](ranks_comm::ErrorKind::NotInLibrary) before NVSHMEM 3.7:
    /// [`quiet`](Self::quiet) does more, and is in every release.
    #[doc(alias = "nvshmemx_flush")]
    pub fn flush(&self) -> Result<()> {
        self.reach(FLUSH)?.backend.flush(Order::Now)
    }

    /// Waits until all PEs have come, and all has arrived that they have put:
    /// [`quiet`](Self::quiet) and [`sync_all`](Self::sync_all). Collective.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`](ranks_comm::ErrorKind::TimedOut) after the heap's time limit, if it
    /// has one.
    #[doc(alias = "nvshmem_barrier_all")]
    pub fn barrier_all(&self) -> Result<()> {
        let reach = self.reach(BARRIER_ALL)?;
        let world = reach.pe.world();
        world.rest(&reach, BARRIER_ALL)?;
        let done = reach.together(BARRIER_ALL, |order| reach.backend.barrier_all(order));
        world.in_use.after(done)?;
        reach.pe.own.begun.set(false);
        Ok(())
    }

    /// Waits until all PEs have come. What was put may not have arrived. Collective.
    ///
    /// # Errors
    /// As [`barrier_all`](Self::barrier_all).
    #[doc(alias = "nvshmem_sync_all")]
    pub fn sync_all(&self) -> Result<()> {
        let reach = self.reach(SYNC_ALL)?;
        let world = reach.pe.world();
        world.rest(&reach, SYNC_ALL)?;
        let done = reach.together(SYNC_ALL, |order| reach.backend.sync_all(order));
        world.in_use.after(done)
    }
}

impl Queue<'_> {
    /// The stream goes on when all has arrived that was put on it before, and when operations with
    /// `nbi` are complete, those of the host included.
    ///
    /// # Errors
    /// Errors that the library reports.
    #[doc(alias = "nvshmemx_quiet_on_stream")]
    pub fn quiet(&self) -> Result<()> {
        self.enqueue(QUIET_ON_STREAM, None, || {
            self.reach.backend.quiet(self.order())
        })?;
        self.set_begun(false);
        Ok(())
    }

    /// The stream goes on when what was put from with `nbi` may be used again. It may not have
    /// arrived.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`](ranks_comm::ErrorKind::NotInLibrary) before NVSHMEM 3.7:
    /// [`quiet`](Self::quiet) does more, and is in every release.
    #[doc(alias = "nvshmemx_flush_on_stream")]
    pub fn flush(&self) -> Result<()> {
        self.enqueue(FLUSH_ON_STREAM, None, || {
            self.reach.backend.flush(self.order())
        })
    }

    /// The stream goes on when the streams of all PEs have come here, and all has arrived that was
    /// put on them before. Collective.
    ///
    /// # Errors
    /// Errors that the library reports.
    #[doc(alias = "nvshmemx_barrier_all_on_stream")]
    pub fn barrier_all(&self) -> Result<()> {
        self.enter(self.reach.pe.world(), BARRIER_ALL_ON_STREAM)?;
        self.enqueue_wait(BARRIER_ALL_ON_STREAM, None, || {
            self.reach.backend.barrier_all(self.order())
        })?;
        self.set_begun(false);
        Ok(())
    }

    /// The stream goes on when the streams of all PEs have come here. Collective.
    ///
    /// # Errors
    /// Errors that the library reports.
    #[doc(alias = "nvshmemx_sync_all_on_stream")]
    pub fn sync_all(&self) -> Result<()> {
        self.enter(self.reach.pe.world(), SYNC_ALL_ON_STREAM)?;
        self.enqueue_wait(SYNC_ALL_ON_STREAM, None, || {
            self.reach.backend.sync_all(self.order())
        })
    }
}
